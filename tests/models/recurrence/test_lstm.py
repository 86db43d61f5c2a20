"""The LSTM's step is the textbook's, and the unroll's own gradient is that of automatic differentiation."""

import numpy as np
import pytest
import tensorflow as tf

from models.recurrence.lstm import LstmState, Zoneout, lstm_step, unroll_lstm

TIME, BATCH, UNITS = 5, 3, 4
TOLERANCE = {tf.float64: 1e-9, tf.float32: 1e-5}


def test_a_step_is_the_textbook_s():
    draw = np.random.default_rng(0).normal
    preactivation, hidden, cell = draw(size=(BATCH, 4 * UNITS)), draw(size=(BATCH, UNITS)), draw(size=(BATCH, UNITS))
    entering, forgetting, candidate, leaving = np.split(preactivation, 4, axis=1)
    expected_cell = sigmoid(forgetting) * cell + sigmoid(entering) * np.tanh(candidate)
    expected_hidden = sigmoid(leaving) * np.tanh(expected_cell)

    state, _ = lstm_step(tf.constant(preactivation), LstmState(tf.constant(hidden), tf.constant(cell)), nothing_kept())

    np.testing.assert_allclose(state.cell, expected_cell, rtol=1e-12)
    np.testing.assert_allclose(state.hidden, expected_hidden, rtol=1e-12)


def test_zoneout_keeps_the_old_state_where_its_mask_is_one():
    preactivation, state = (
        tf.ones([1, 8], tf.float64),
        LstmState(tf.constant([[0.5, 0.6]], tf.float64), *[tf.constant([[0.7, 0.8]], tf.float64)]),
    )
    new, _ = lstm_step(preactivation, state, nothing_kept())
    masks = Zoneout(hidden=tf.constant([[1.0, 0.0]], tf.float64), cell=tf.constant([[0.0, 1.0]], tf.float64))

    kept, _ = lstm_step(preactivation, state, masks)

    np.testing.assert_allclose(kept.hidden, [[0.5, new.hidden[0, 1]]], rtol=1e-12)
    np.testing.assert_allclose(kept.cell, [[new.cell[0, 0], 0.8]], rtol=1e-12)


def test_zoneout_s_expectation_is_the_mean_over_its_masks():
    preactivation = tf.constant([[0.3, -0.2, 0.9, 0.1]], tf.float64)
    state = LstmState(tf.constant([[0.5]], tf.float64), tf.constant([[-0.7]], tf.float64))
    new, _ = lstm_step(preactivation, state, nothing_kept())
    old_and_new = {1.0: state, 0.0: new}

    expected, _ = lstm_step(preactivation, state, Zoneout(tf.constant(0.25, tf.float64), tf.constant(0.25, tf.float64)))

    for field in LstmState._fields:
        mean = sum(share * getattr(old_and_new[mask], field) for mask, share in ((1.0, 0.25), (0.0, 0.75)))
        np.testing.assert_allclose(getattr(expected, field), mean, rtol=1e-12)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=["float64", "float32"])
@pytest.mark.parametrize("lstms", [(), (2,)], ids=["one LSTM", "two side by side"])
def test_the_gradient_by_hand_is_that_of_automatic_differentiation(dtype, lstms):
    draw = np.random.default_rng(1)
    inputs = {
        "projected": tf.constant(draw.normal(size=(TIME, *lstms, BATCH, 4 * UNITS)), dtype),
        "kernel": tf.constant(draw.normal(size=(*lstms, UNITS, 4 * UNITS)), dtype),
        "hidden": tf.constant(draw.normal(size=(*lstms, BATCH, UNITS)), dtype),
        "cell": tf.constant(draw.normal(size=(*lstms, BATCH, UNITS)), dtype),
    }
    zoneout = Zoneout(*(tf.constant(draw.random((2, TIME, *lstms, BATCH, UNITS)) < 0.3, dtype)))
    weights = tf.constant(draw.normal(size=(TIME, *lstms, BATCH, UNITS)), dtype)

    def objective(unroll):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            initial = LstmState(inputs["hidden"], inputs["cell"])
            hidden, last = unroll(inputs["projected"], inputs["kernel"], initial, zoneout)
            value = tf.reduce_sum(weights * hidden) + tf.reduce_sum(last.cell * tf.sin(last.hidden))
        return [hidden, *last, *tape.gradient(value, inputs).values()]

    for ours, automatic in zip(objective(unroll_lstm), objective(step_by_step), strict=True):
        np.testing.assert_allclose(
            ours, automatic, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * np.abs(automatic).max()
        )


def test_lstms_side_by_side_do_what_each_does_alone():
    draw = np.random.default_rng(2).normal
    projected, kernel = (
        tf.constant(draw(size=(TIME, 2, BATCH, 4 * UNITS))),
        tf.constant(draw(size=(2, UNITS, 4 * UNITS))),
    )
    nothing = tf.zeros([2, BATCH, UNITS], tf.float64)

    together, _ = unroll_lstm(projected, kernel, LstmState(nothing, nothing), nothing_kept())

    for place in range(2):
        alone, _ = unroll_lstm(
            projected[:, place], kernel[place], LstmState(nothing[place], nothing[place]), nothing_kept()
        )
        np.testing.assert_allclose(together[:, place], alone, rtol=1e-12)


def test_two_segments_with_carried_state_are_one_long_segment():
    draw = np.random.default_rng(3).normal
    projected, kernel = tf.constant(draw(size=(TIME, BATCH, 4 * UNITS))), tf.constant(draw(size=(UNITS, 4 * UNITS)))
    nothing = tf.zeros([BATCH, UNITS], tf.float64)
    whole, last = unroll_lstm(projected, kernel, LstmState(nothing, nothing), nothing_kept())

    first, carried = unroll_lstm(projected[:2], kernel, LstmState(nothing, nothing), nothing_kept())
    second, ended = unroll_lstm(projected[2:], kernel, carried, nothing_kept())

    np.testing.assert_allclose(tf.concat([first, second], axis=0), whole, rtol=1e-12)
    np.testing.assert_allclose(ended.cell, last.cell, rtol=1e-12)


def step_by_step(projected, kernel, state, zoneout):
    hidden = []
    for time in range(projected.shape[0]):
        preactivation = projected[time] + tf.matmul(state.hidden, kernel)
        state, _ = lstm_step(preactivation, state, Zoneout(zoneout.hidden[time], zoneout.cell[time]))
        hidden.append(state.hidden)
    return tf.stack(hidden), state


def nothing_kept() -> Zoneout:
    return Zoneout(tf.zeros([], tf.float64), tf.zeros([], tf.float64))


def sigmoid(values: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-values))
