"""The recurrent layers by two roads: NumPy, pieces for a whole, and automatic differentiation for hand-written
gradients.
"""

import numpy as np
import pytest
import tensorflow as tf

from models.wayback.sequence import State

CLOSE = {"rtol": 0, "atol": 1e-12}


@pytest.mark.parametrize("cell", ["rnn", "lstm"])
def test_with_all_periods_one_every_layer_is_updated_at_every_step_top_to_bottom(build, equations, symbols, cell):
    model = build(cell=cell, periods=[1, 1, 1], boundaries=[12, 12, 12])
    by_hand = equations(model)
    layers = [layer_state(model, 2, layer) for layer in range(3)]
    expected = []
    for time in range(12):
        shown = [state[-1] for state in layers]
        layers[2] = by_hand.update(2, layers[2], shown[1])
        layers[1] = by_hand.update(1, layers[1], shown[0], layers[2][-1])
        layers[0] = by_hand.update(0, layers[0], by_hand.embed(symbols[:, time]), layers[1][-1])
        expected.append(by_hand.logits([state[-1] for state in layers]))
    logits, _ = model.predict_cycles(tf.constant(symbols[:, :12]), model.initial_state(2))
    np.testing.assert_allclose(logits, np.stack(expected, axis=1), **CLOSE)


@pytest.mark.parametrize("cell", ["rnn", "lstm"])
def test_a_stack_updates_every_layer_at_every_step_bottom_to_top(build, equations, symbols, cell):
    model = build(cell=cell, layout="stack", boundaries=[12, 12, 12])
    by_hand = equations(model)
    layers = [layer_state(model, 2, layer) for layer in range(3)]
    expected = []
    for time in range(12):
        below = by_hand.embed(symbols[:, time])
        for layer in range(3):
            layers[layer] = by_hand.update(layer, layers[layer], below)
            below = layers[layer][-1]
        expected.append(by_hand.logits([state[-1] for state in layers]))
    logits, _ = model.predict_cycles(tf.constant(symbols[:, :12]), model.initial_state(2))
    np.testing.assert_allclose(logits, np.stack(expected, axis=1), **CLOSE)


@pytest.mark.parametrize(
    "changes", [{"cell": "lstm"}, {"cell": "gru", "carry": False}, {"cell": "rrnn", "vskip": True}]
)
def test_two_segments_with_carried_state_are_one_long_one(build, symbols, changes):
    model = build(**changes)
    whole, last = model.predict_cycles(tf.constant(symbols[:, :12]), model.initial_state(2))
    first, between = model.predict(tf.constant(symbols[:, :5]), model.initial_state(2))
    second, end = model.predict(tf.constant(symbols[:, 5:12]), between)
    np.testing.assert_allclose(tf.concat([first, second], axis=1), whole, **CLOSE)
    assert_same_state(end, last)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("outer", [1, 2])
def test_inputs_before_the_boundary_matter_and_get_no_gradient(build, symbols, cell, outer):
    model = build(cell=cell, boundaries=[4, 2, 3], unroll_layer_count=outer)
    first_counted = model.schedule.first_counted
    assert first_counted == 8
    embedding = model.embed(tf.one_hot(symbols[:, :12].T, 5, dtype=tf.float64))

    @tf.function(autograph=False)
    def loss_and_gradient(embedding):
        with tf.GradientTape() as tape:
            tape.watch(embedding)
            loss = tf.reduce_mean(model.train_embedded(embedding, symbols[:, 1:], model.initial_state(2))[0].nats)
        return loss, tape.gradient(loss, embedding)

    loss, gradient = loss_and_gradient(embedding)
    gradient = np.asarray(gradient)
    assert not gradient[:first_counted].any()
    assert (np.abs(gradient[first_counted:]).max(axis=(1, 2)) > 1e-6).all()
    nudged = embedding.numpy()
    nudged[:first_counted] += 0.5
    assert abs(float(loss_and_gradient(tf.constant(nudged))[0] - loss)) > 1e-6


@pytest.mark.parametrize(
    "boundaries", [[5, 3, 3], *(pytest.param(each, marks=pytest.mark.long) for each in ([12, 6, 3], [4, 2, 3]))]
)
def test_the_gradient_written_by_hand_is_that_of_automatic_differentiation(build, symbols, boundaries):
    """A context of zeros changes nothing, and takes the way of all other cells."""
    outer = 0 if boundaries[0] == 12 else 2
    fast = build(cell="lstm", boundaries=boundaries, unroll_layer_count=outer)
    general = build(cell="lstm", boundaries=boundaries, unroll_layer_count=outer, context_size=1)
    top = "cell2/ijfo/project/w"
    for name, variable in general.variables.items():
        value = fast.variables[name].numpy()
        variable.assign(np.insert(value, 2, 0.0, axis=0) if name == top else value)

    expected = trained(general, symbols, tf.zeros([2, 1], tf.float64))
    expected[1][top] = np.delete(expected[1][top], 2, axis=0)
    loss, gradients = trained(fast, symbols, None)
    assert loss == pytest.approx(expected[0], abs=1e-12)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, expected[1][name], err_msg=name, **CLOSE)


def trained(model, symbols, context):
    @tf.function(autograph=False)
    def loss_and_gradients():
        with tf.GradientTape() as tape:
            scores, _ = model.train(tf.constant(symbols), model.initial_state(2), context)
            loss = tf.reduce_mean(scores.nats)
        gradients = tape.gradient(loss, model.variables)
        return loss, {name: tf.convert_to_tensor(gradient) for name, gradient in gradients.items()}

    loss, gradients = loss_and_gradients()
    return float(loss), {name: gradient.numpy() for name, gradient in gradients.items()}


def layer_state(model, batch: int, layer: int) -> tuple[np.ndarray, ...]:
    return tuple(value.numpy() for value in model.initial_state(batch).layers[layer])


def assert_same_state(one: State, other: State) -> None:
    assert int(one.time) == int(other.time)
    for ours, theirs in zip(tf.nest.flatten(one.layers), tf.nest.flatten(other.layers), strict=True):
        np.testing.assert_allclose(ours, theirs, **CLOSE)
