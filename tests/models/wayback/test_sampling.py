"""Sampling: the symbols that the full forward pass would have chosen, in any chunks."""

import numpy as np
import pytest
import tensorflow as tf

STEPS = 11
SETTINGS = [
    {"cell": "lstm"},
    {"cell": "lstm", "layout": "stack", "boundaries": [12, 12, 12]},
    {"cell": "gru", "carry": False},
]


@pytest.fixture(params=SETTINGS, ids=lambda changes: "-".join(map(str, changes.values())))
def model(request, build):
    return build(seed=3, **request.param)


@pytest.fixture
def noise():
    return -np.log(-np.log(np.random.default_rng(1).uniform(size=(STEPS, 2, 5))))


FIRST, TEMPERATURES = tf.constant([1, 4]), np.array([0.0, 1.7])


def test_each_symbol_is_drawn_from_what_the_full_forward_pass_predicts(model, noise):
    drawn, _ = model.sample(FIRST, model.initial_state(2), tf.constant(noise), tf.constant(TEMPERATURES))
    inputs = np.concatenate([FIRST[:, None], drawn[:, :-1]], axis=1)
    logits, _ = model.predict(tf.constant(inputs), model.initial_state(2))
    np.testing.assert_array_equal(drawn[0], np.argmax(logits[0], axis=-1))
    with_noise = logits[1] / TEMPERATURES[1] + noise[:, 1]
    np.testing.assert_array_equal(drawn[1], np.argmax(with_noise, axis=-1))


def test_chunks_that_carry_the_state_on_make_one_sample(model, noise):
    start, temperatures = model.initial_state(2), tf.constant(TEMPERATURES)
    whole, end = model.sample(FIRST, start, tf.constant(noise), temperatures)
    first, between = model.sample(FIRST, start, tf.constant(noise[:5]), temperatures)
    second, last = model.sample(first[:, -1], between, tf.constant(noise[5:]), temperatures)
    np.testing.assert_array_equal(tf.concat([first, second], axis=1), whole)
    assert int(last.time) == int(end.time)
    for ours, theirs in zip(tf.nest.flatten(last.layers), tf.nest.flatten(end.layers), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
