"""Padding and neighbours change nothing: not an utterance's output, not its loss, not its gradient."""

import numpy as np
import pytest
import tensorflow as tf

from models.tacotron import loss
from models.tacotron.loss import Objective
from tests.models.tacotron.conftest import SETTINGS, Rig

OBJECTIVE = Objective(squared_weight=1.0, absolute_weight=0.5, stop_weight=0.7, stop_frames=4, guide_width=0.2)
SEED = tf.constant([0, 0], tf.int64)
DEVIATION = tf.ones([SETTINGS.n_mels], tf.float64)


class Utterances:
    """Random utterances, padded to a shape; what stands in the padding is nonsense."""

    def __init__(self, symbol_counts, frame_counts, symbols, frames, nonsense=7.0):
        draw = np.random.default_rng(5)
        self.symbol_counts, self.frame_counts = tf.constant(symbol_counts), tf.constant(frame_counts)
        ids = np.full((len(symbol_counts), symbols), 8, np.int32)
        mels = np.full((len(frame_counts), frames, SETTINGS.n_mels), nonsense)
        for row, (symbol_count, frame_count) in enumerate(zip(symbol_counts, frame_counts, strict=True)):
            ids[row, :symbol_count] = draw.integers(1, 8, symbol_count)
            mels[row, :frame_count] = draw.normal(size=(frame_count, SETTINGS.n_mels))
        self.symbol_ids, self.frames = tf.constant(ids), tf.constant(mels)

    def arrays(self):
        return self.symbol_ids, self.symbol_counts, self.frames, self.frame_counts


ALONE = Utterances([3], [5], 3, 10)
BESIDE = Utterances([3, 9], [5, 15], 9, 20)


def losses(rig: Rig, batch: Utterances) -> tf.Tensor:
    """Of each utterance [batch]."""
    outputs = rig.model.follow(*batch.arrays(), prenet_dropout=0.0, seed=SEED)
    parts = loss.sums(outputs, batch.frames, batch.frame_counts, batch.symbol_counts, DEVIATION, OBJECTIVE)
    return loss.total(parts, OBJECTIVE, 2.0)


def test_an_utterance_alone_has_the_loss_and_gradient_that_it_has_beside_a_three_times_longer_one(quiet):
    results = []
    for batch in (ALONE, BESIDE):
        with tf.GradientTape() as tape:
            value = losses(quiet, batch)[0]
        results.append({"loss": value, **tape.gradient(value, quiet.trained)})

    for name, alone in results[0].items():
        np.testing.assert_allclose(results[1][name], alone, rtol=1e-9, atol=1e-12, err_msg=name)


def test_an_utterance_alone_has_the_output_that_it_has_beside_a_three_times_longer_one(quiet):
    alone, beside = (quiet.model.follow(*batch.arrays(), prenet_dropout=0.0, seed=SEED) for batch in (ALONE, BESIDE))

    np.testing.assert_allclose(beside.frames[:1, :5], alone.frames[:, :5], rtol=1e-9)
    np.testing.assert_allclose(beside.refined[:1, :5], alone.refined[:, :5], rtol=1e-9)
    np.testing.assert_allclose(beside.alignments[:1, :5, :3], alone.alignments, rtol=1e-9)


def test_speech_alone_is_speech_beside_a_longer_text(quiet):
    alone = quiet.model.speak(ALONE.symbol_ids, ALONE.symbol_counts, 6, 1.0, 0.0, SEED)
    beside = quiet.model.speak(BESIDE.symbol_ids, BESIDE.symbol_counts, 6, 1.0, 0.0, SEED)

    np.testing.assert_allclose(beside.outputs.refined[:1], alone.outputs.refined, rtol=1e-9)


def test_more_padding_changes_no_loss_gradient_or_statistic_of_training(quiet):
    results = []
    for symbols, frames in ((9, 20), (13, 32)):
        batch = Utterances([3, 9], [5, 15], symbols, frames)
        with tf.GradientTape() as tape:
            outputs, statistics = quiet.model.train(*batch.arrays(), seed=SEED)
            parts = loss.sums(outputs, batch.frames, batch.frame_counts, batch.symbol_counts, DEVIATION, OBJECTIVE)
            value = loss.total(loss.added(parts), OBJECTIVE, 2.0)
        results.append({"loss": value, **tape.gradient(value, quiet.trained), **statistics})

    for name, value in results[0].items():
        np.testing.assert_allclose(results[1][name], value, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("nonsense", [np.nan, 1e20, -np.inf])
def test_nonsense_in_the_padding_of_the_frames_reaches_neither_loss_nor_gradient(quiet, nonsense):
    batch = Utterances([3, 9], [5, 15], 9, 20, nonsense)

    with tf.GradientTape() as tape:
        value = losses(quiet, batch)
    gradients = tape.gradient(value, quiet.trained)

    np.testing.assert_allclose(value, losses(quiet, BESIDE), rtol=1e-12)
    assert all(np.isfinite(gradient).all() for gradient in gradients.values())
