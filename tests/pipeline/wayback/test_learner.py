"""Wayback as the training loop sees it."""

from itertools import islice

import numpy as np
import pytest
import tensorflow as tf

from models.wayback.sequence import SequenceModel, score
from pipeline.training.adam import Adam
from pipeline.training.fit import make_step
from pipeline.wayback.learner import WaybackLearner

LENGTHS = [30, 21, 9, 44]


@pytest.fixture
def make_learner(tiny_model, tiny_params, write_split):
    def make_learner(**changes):
        split = write_split(LENGTHS)
        return WaybackLearner(tiny_model(**changes), split, split, tiny_params(**changes), 0)

    return make_learner


class Counted(SequenceModel):
    """Counts how often Python runs through it, which in a compiled function it does when that is traced."""

    traces = 0

    def train(self, *arguments):
        self.traces += 1
        return super().train(*arguments)

    def predict_cycles(self, *arguments):
        self.traces += 1
        return super().predict_cycles(*arguments)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_many_steps_and_validations_trace_once_each(tiny_params, tiny_model, write_split, cell):
    model = Counted(tiny_model(cell=cell).settings, np.random.default_rng(0))
    split = write_split(LENGTHS)
    learner = WaybackLearner(model, split, split, tiny_params(cell=cell), 0)
    step = make_step(learner, Adam(learner.variables, 0.9, 0.999, 1e-8), 1.0)
    state = learner.initial_state
    for number, batch in enumerate(islice(learner.batches(None), 6)):
        state = step(batch.arrays, state, number, tf.constant(1e-3, tf.float64), number % 2 == 0).state
    assert learner.validate() == learner.validate()
    assert model.traces == 2


def test_the_loss_is_the_mean_over_counted_symbols_that_have_a_target(make_learner):
    learner = make_learner(boundaries=[4, 2], unroll_layer_count=0)
    batch = next(learner.batches(None))
    mask = batch.arrays["mask"].copy()
    mask[0, 1:] = False
    mask[1, :] = False
    result = learner.loss({**batch.arrays, "mask": tf.constant(mask)}, learner.initial_state, tf.constant(0))
    symbols = tf.constant(batch.arrays["symbols"])
    logits, _ = learner._model.predict(symbols[:, :-1], learner.initial_state)
    scores = score(logits, symbols[:, 1:])
    assert float(result.loss) == pytest.approx(float(np.asarray(scores.nats)[mask].mean()), abs=1e-5)
    assert float(result.figures["error"]) == pytest.approx(np.asarray(scores.errors)[mask].mean())


def test_a_row_that_begins_a_sequence_forgets_and_the_others_do_not(make_learner):
    learner = make_learner()
    arrays = dict(next(learner.batches(None)).arrays)
    used = tf.nest.map_structure(lambda value: value + tf.cast(value == 0, value.dtype), learner.initial_state)
    used = used._replace(time=learner.initial_state.time)
    losses = {}
    for name, reset in (("all", [True] * 3), ("one", [True, False, False]), ("none", [False] * 3)):
        arrays["reset"] = tf.constant(reset)
        losses[name] = learner.loss(arrays, used, tf.constant(0)).state.layers[0][0].numpy()
    np.testing.assert_array_equal(losses["one"][0], losses["all"][0])
    np.testing.assert_array_equal(losses["one"][1:], losses["none"][1:])
    assert not np.array_equal(losses["all"][1:], losses["none"][1:])


def test_weight_decay_is_the_sum_of_the_matrices_norms(make_learner):
    learner = make_learner(weight_decay=0.5)
    norms = [np.linalg.norm(variable) for variable in learner.variables.values() if len(variable.shape) == 2]
    assert float(learner.penalty()) == pytest.approx(0.5 * sum(norms), rel=1e-5)


def test_validation_looks_at_so_many_segments_of_so_many_examples(make_learner):
    """Three rows, two segments of 8 steps, of the sequences of 30, 21 and 9 symbols: 16 + 16 + 8 targets."""
    learner = make_learner(max_examples=3)
    figures = learner.validate()
    nats = []
    for place, count in ((0, 16), (1, 16), (2, 8)):
        symbols = np.asarray(learner._validation[place][: count + 1], np.int32)[None]
        logits, _ = learner._model.predict(tf.constant(symbols[:, :-1]), learner._model.initial_state(1))
        nats.extend(score(logits, tf.constant(symbols[:, 1:])).nats[0].numpy())
    assert figures["loss"] == pytest.approx(np.mean(nats), abs=1e-5)
    walked = {name for batch in islice(learner.batches(None), 9) for name in batch.items}
    assert walked == {"sequence-0", "sequence-1", "sequence-2"}
