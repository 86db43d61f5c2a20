"""The context: an extra input of the top layer, and what that layer starts anew from where nothing is carried."""

import numpy as np
import pytest
import tensorflow as tf

CONTEXT = np.array([[0.3, -1.0], [2.0, 0.5]])


def test_the_context_enters_the_top_layer_after_the_embedding_and_before_the_layers(build, equations, symbols):
    model = build(layer_sizes=[3, 2], periods=[1, 1], boundaries=[12, 12], context_size=2)
    by_hand = equations(model)
    bottom, top = np.zeros((2, 3)), np.zeros((2, 2))
    expected = []
    for time in range(4):
        (top,) = by_hand.update(1, (top,), CONTEXT, bottom)
        (bottom,) = by_hand.update(0, (bottom,), by_hand.embed(symbols[:, time]), top)
        expected.append(by_hand.logits([bottom, top]))
    logits, _ = model.predict(tf.constant(symbols[:, :4]), model.initial_state(2), tf.constant(CONTEXT))
    np.testing.assert_allclose(logits, np.stack(expected, axis=1), rtol=0, atol=1e-12)


def test_a_single_layer_sees_the_embedding_first(build, equations, symbols):
    model = build(layer_sizes=[3], periods=[1], boundaries=[12], context_size=2)
    by_hand = equations(model)
    (state,) = by_hand.update(0, (np.zeros((2, 3)),), by_hand.embed(symbols[:, 0]), CONTEXT)
    logits, _ = model.predict(tf.constant(symbols[:, :1]), model.initial_state(2), tf.constant(CONTEXT))
    np.testing.assert_allclose(logits[:, 0], by_hand.logits([state]), rtol=0, atol=1e-12)


def test_without_carry_the_top_layer_starts_from_the_context_whenever_it_is_due(build, equations, symbols):
    model = build(layer_sizes=[3], periods=[2], boundaries=[6], context_size=2, carry=False)
    by_hand = equations(model)
    state, expected = None, []
    for time in range(6):
        if time % 2 == 0:
            restart = CONTEXT @ by_hand.values["reinit_0_0/project/w"] + by_hand.values["reinit_0_0/beta"]
            state = np.where(restart > 0, restart, np.expm1(restart))
        (state,) = by_hand.update(0, (state,), by_hand.embed(symbols[:, time]), CONTEXT)
        expected.append(by_hand.logits([state]))
    logits, _ = model.predict(tf.constant(symbols[:, :6]), model.initial_state(2), tf.constant(CONTEXT))
    np.testing.assert_allclose(logits, np.stack(expected, axis=1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("changes", [{}, {"layout": "stack"}, {"carry": False}])
def test_a_context_by_step_that_does_not_change_is_a_constant_one(build, symbols, changes):
    model = build(context_size=2, **changes)
    constant, by_step = tf.constant(CONTEXT), tf.repeat(tf.constant(CONTEXT)[:, None], 12, axis=1)
    results = [
        model.train(tf.constant(symbols), model.initial_state(2), context)[0].nats for context in (constant, by_step)
    ]
    np.testing.assert_allclose(results[0], results[1], rtol=0, atol=1e-12)
    other = model.train(tf.constant(symbols), model.initial_state(2), constant + 1.0)[0].nats
    assert (np.abs(other - results[0])[:, -1] > 1e-6).all()
