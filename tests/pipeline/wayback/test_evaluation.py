"""Evaluation: every symbol of a split once, each counting the same."""

import math

import numpy as np
import pytest
import tensorflow as tf

from pipeline.wayback.baselines import Baseline
from pipeline.wayback.evaluation import Dump, evaluate, summary

LENGTHS = [300, 40, 1, 7, 513]


@pytest.fixture(scope="module")
def evaluated(tiny_model, write_split, tmp_path_factory):
    model, split, folder = tiny_model(), write_split(LENGTHS), tmp_path_factory.mktemp("dump")
    return model, split, folder, evaluate(model, split, 2, Dump(folder, 2))


def test_figures_are_those_of_each_sequence_alone(evaluated):
    model, split, _, rows = evaluated
    assert list(rows["id"]) == [f"sequence-{number}" for number in (0, 1, 3, 4)]
    assert list(rows["symbols"]) == [299, 39, 6, 512]
    row = rows[rows["id"] == "sequence-1"].iloc[0]
    predicted = log_probabilities(model, split[1])
    targets = np.asarray(split[1][1:])
    nats = -predicted[np.arange(39), targets].mean()
    assert row["loss"] == pytest.approx(nats, abs=1e-5)
    assert row["bits_per_symbol"] == pytest.approx(nats / math.log(2), abs=1e-5)
    assert row["error"] == pytest.approx((predicted.argmax(axis=1) != targets).mean())


def test_the_whole_split_is_weighted_by_symbols(evaluated):
    rows = evaluated[-1]
    figures = summary(rows, {"uniform": Baseline(math.log(8), 0.5)})
    assert figures["test_loss"] == pytest.approx(np.average(rows["loss"], weights=[299, 39, 6, 512]))
    assert figures["test_error"] == pytest.approx(np.average(rows["error"], weights=[299, 39, 6, 512]))
    assert figures["test_bits_per_symbol"] == pytest.approx(figures["test_loss"] / math.log(2))
    assert (figures["test_symbols"], figures["test_sequences"]) == (856, 4)
    assert figures["baseline_uniform_bits_per_symbol"] == pytest.approx(3.0)


def test_dumped_predictions_are_the_log_probabilities_of_every_symbol(evaluated):
    model, split, folder, _ = evaluated
    assert sorted(path.name for path in folder.iterdir()) == ["00000.npy", "00001.npy"]
    dumped = np.load(folder / "00000.npy")
    np.testing.assert_allclose(np.exp(dumped).sum(axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(dumped[:40], log_probabilities(model, split[0][:41]), atol=1e-5)


def log_probabilities(model, sequence):
    logits, _ = model.predict(tf.constant(np.asarray(sequence[:-1], np.int32)[None]), model.initial_state(1))
    return tf.nn.log_softmax(logits[0]).numpy()
