"""The LSTM: one step, and a whole sequence whose gradient needs one weight product only.

Hochreiter & Schmidhuber 1997 with the forget gate of Gers et al. 2000 and the zoneout of Krueger et al. 2016.
The gates lie in the order input, forget, candidate, output, as in PyTorch and Keras.
"""

from typing import NamedTuple

import tensorflow as tf


class LstmState(NamedTuple):
    """Carried from step to step: `hidden` and `cell`, both [batch, units]."""

    hidden: tf.Tensor
    cell: tf.Tensor


class Zoneout(NamedTuple):
    """How much of the old state each unit keeps: ones and zeros drawn in training, the probability itself afterwards.

    Both have the shape of the state (with time in front in a sequence) or one that broadcasts to it.
    """

    hidden: tf.Tensor
    cell: tf.Tensor


def lstm_step(preactivation: tf.Tensor, state: LstmState, zoneout: Zoneout) -> tuple[LstmState, tf.Tensor]:
    """The state after a step, and the activated gates.

    Args:
        preactivation: Input and hidden state through their kernels, plus the bias [batch, 4 * units].
        state: State before the step.
        zoneout: Krueger et al. 2016, section 3.2.

    Returns:
        The new state, and the gates after their nonlinearities [batch, 4 * units].
    """
    gates = _activate(preactivation)
    input_gate, forget_gate, candidate, output_gate = tf.split(gates, 4, axis=-1)
    cell = forget_gate * state.cell + input_gate * candidate
    hidden = output_gate * tf.tanh(cell)
    kept = LstmState(
        hidden=hidden + zoneout.hidden * (state.hidden - hidden),
        cell=cell + zoneout.cell * (state.cell - cell),
    )
    return kept, gates


def lstm_step_gradient(
    gates: tf.Tensor, cell_before: tf.Tensor, zoneout: Zoneout, d_hidden: tf.Tensor, d_cell: tf.Tensor
) -> tuple[tf.Tensor, LstmState]:
    """From the gradients of a step's new state, those of its pre-activation and of its old state.

    The old hidden state's gradient lacks what flows through the recurrent kernel, which is the caller's.
    """
    input_gate, forget_gate, candidate, output_gate = tf.split(gates, 4, axis=-1)
    squashed = tf.tanh(forget_gate * cell_before + input_gate * candidate)
    d_new_hidden = d_hidden * (1 - zoneout.hidden)
    d_new_cell = d_cell * (1 - zoneout.cell) + d_new_hidden * output_gate * (1 - squashed * squashed)
    d_preactivation = tf.concat(
        [
            d_new_cell * candidate * input_gate * (1 - input_gate),
            d_new_cell * cell_before * forget_gate * (1 - forget_gate),
            d_new_cell * input_gate * (1 - candidate * candidate),
            d_new_hidden * squashed * output_gate * (1 - output_gate),
        ],
        axis=-1,
    )
    return d_preactivation, LstmState(
        hidden=d_hidden * zoneout.hidden, cell=d_cell * zoneout.cell + d_new_cell * forget_gate
    )


def unroll_lstm(
    projected: tf.Tensor, recurrent_kernel: tf.Tensor, initial: LstmState, zoneout: Zoneout
) -> tuple[tf.Tensor, LstmState]:
    """Runs an LSTM over a sequence whose input projection is known beforehand.

    Several LSTMs run side by side with a further axis after time (`[time, lstms, batch, ...]`) and in front of the kernel.

    Args:
        projected: Inputs through the input kernel, plus the bias [time, batch, 4 * units].
        recurrent_kernel: [units, 4 * units].
        initial: State before the first step [batch, units].
        zoneout: [time, batch, units], or what broadcasts to it. It gets no gradient.

    Returns:
        The hidden states [time, batch, units] and the state after the last step.
    """
    shape = tf.concat([tf.shape(projected)[:1], tf.shape(initial.hidden)], axis=0)
    hidden, cell = _unrolled(
        projected,
        tf.convert_to_tensor(recurrent_kernel),
        *initial,
        tf.broadcast_to(zoneout.hidden, shape),
        tf.broadcast_to(zoneout.cell, shape),
    )
    return hidden, LstmState(hidden[-1], cell)


@tf.custom_gradient
def _unrolled(*inputs):
    projected, recurrent_kernel, initial_hidden, initial_cell, keep_hidden, keep_cell = map(tf.stop_gradient, inputs)
    hiddens, cells, gates = _forward(projected, recurrent_kernel, initial_hidden, initial_cell, keep_hidden, keep_cell)

    def gradient(d_hiddens, d_last_cell):
        transposed = tf.linalg.matrix_transpose(recurrent_kernel)
        d_projected, d_hidden, d_cell = _backward(
            d_hiddens, d_last_cell, gates, _before(initial_cell, cells), keep_hidden, keep_cell, transposed
        )
        d_kernel = weight_gradient(_before(initial_hidden, hiddens), d_projected)
        return d_projected, d_kernel, d_hidden, d_cell, None, None

    return (hiddens, cells[-1]), gradient


@tf.function(jit_compile=True, autograph=False)
def _forward(projected, recurrent_kernel, initial_hidden, initial_cell, keep_hidden, keep_cell):
    """Hidden states, cells and gates of all steps, each [time, batch, ...]."""
    steps = tf.shape(projected)[0]

    def body(time, state, hiddens, cells, gates):
        preactivation = projected[time] + tf.matmul(state.hidden, recurrent_kernel)
        state, activated = lstm_step(preactivation, state, Zoneout(keep_hidden[time], keep_cell[time]))
        return (
            time + 1,
            state,
            hiddens.write(time, state.hidden),
            cells.write(time, state.cell),
            gates.write(time, activated),
        )

    first = (
        tf.constant(0),
        LstmState(initial_hidden, initial_cell),
        *(_rows(steps, projected.dtype) for _ in range(3)),
    )
    _, _, hiddens, cells, gates = tf.while_loop(lambda time, *_: time < steps, body, first, maximum_iterations=steps)
    return hiddens.stack(), cells.stack(), gates.stack()


@tf.function(jit_compile=True, autograph=False)
def _backward(d_hiddens, d_last_cell, gates, cells_before, keep_hidden, keep_cell, transposed_kernel):
    """Gradients of all pre-activations [time, batch, 4 * units] and of the initial state."""
    steps = tf.shape(gates)[0]

    def body(time, d_state, d_projected):
        d_preactivation, d_before = lstm_step_gradient(
            gates[time],
            cells_before[time],
            Zoneout(keep_hidden[time], keep_cell[time]),
            d_state.hidden + d_hiddens[time],
            d_state.cell,
        )
        d_hidden = d_before.hidden + tf.matmul(d_preactivation, transposed_kernel)
        return time - 1, LstmState(d_hidden, d_before.cell), d_projected.write(time, d_preactivation)

    first = (steps - 1, LstmState(tf.zeros_like(d_last_cell), d_last_cell), _rows(steps, gates.dtype))
    _, d_initial, d_projected = tf.while_loop(lambda time, *_: time >= 0, body, first, maximum_iterations=steps)
    return d_projected.stack(), d_initial.hidden, d_initial.cell


def weight_gradient(inputs: tf.Tensor, d_outputs: tf.Tensor) -> tf.Tensor:
    """The gradient of a kernel used in every step, as one product over all steps.

    Args:
        inputs: What the kernel was multiplied with [time, batch, units], or [time, lstms, batch, units].
        d_outputs: Gradient of the products, of the same leading axes.
    """
    return tf.matmul(_all_steps(inputs), _all_steps(d_outputs), transpose_a=True)


def _all_steps(values: tf.Tensor) -> tf.Tensor:
    """[time, ..., batch, units] as [..., time * batch, units]."""
    if values.shape.rank == 4:
        shape = tf.shape(values)
        return tf.reshape(tf.transpose(values, [1, 0, 2, 3]), [shape[1], shape[0] * shape[2], shape[3]])
    return tf.reshape(values, [-1, tf.shape(values)[-1]])


def _before(initial: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """The values one step earlier."""
    return tf.concat([initial[None], values[:-1]], axis=0)


def _rows(steps: tf.Tensor, dtype: tf.DType) -> tf.TensorArray:
    return tf.TensorArray(dtype, size=steps)


def _activate(preactivation: tf.Tensor) -> tf.Tensor:
    units = preactivation.shape[-1] // 4
    in_and_forget, candidate, output = tf.split(preactivation, [2 * units, units, units], axis=-1)
    return tf.concat([tf.sigmoid(in_and_forget), tf.tanh(candidate), tf.sigmoid(output)], axis=-1)
