"""The LSTM with its gradient written by hand: one step, and one layer over a whole sequence.

What costs time in an LSTM's gradient is the weights: the loop backwards carries only the gradient of the
pre-activations, and each matrix gets its own as one product over all steps, after the loop. Transposed matrices are
made once, before it. The gates lie in the order i, j, f, o (j is the candidate), and the one that is added to f is part
of the shift.
"""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from models.wayback.cells import Activation


class Weights(NamedTuple):
    """A layer's matrices, by what they are multiplied with, and its shift [4 * units].

    Attributes:
        near: The layer's own output and the one below, side by side [units + units below, 4 * units].
        above: The output of the layer above [units above, 4 * units]; None for the top layer.
        shift: With one added to the forget gate's part.
    """

    near: tf.Tensor
    above: tf.Tensor | None
    shift: tf.Tensor


def forget_more(shift: tf.Tensor) -> tf.Tensor:
    """The shift [4 * units] with one added to the forget gate's part."""
    units = shift.shape[0] // 4
    ones = tf.concat(
        [tf.zeros([2 * units], shift.dtype), tf.ones([units], shift.dtype), tf.zeros([units], shift.dtype)], 0
    )
    return shift + ones


def step(preactivation: tf.Tensor, c: tf.Tensor, activation: Activation) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """One step: pre-activations [batch, 4 * units] and the old c -> the gates' values, the new c, the new h."""
    gates = _gates(preactivation, activation)
    i, j, f, o = tf.split(gates, 4, axis=-1)
    c = f * c + i * j
    return gates, c, o * activation.value(c)


def _gates(preactivation: tf.Tensor, activation: Activation) -> tf.Tensor:
    """The candidate through the activation, the others through the logistic function, which is a hyperbolic tangent,
    scaled: so written, all are one pass over one array, a third of the step's time less than with `tf.sigmoid`.
    """
    units, dtype = preactivation.shape[-1] // 4, preactivation.dtype
    half, one, zero = (tf.constant([value] * units, dtype) for value in (0.5, 1.0, 0.0))
    scale, shift = tf.concat([half, one, half, half], 0), tf.concat([half, zero, half, half], 0)
    gates = scale * tf.tanh(scale * preactivation) + shift
    if activation.value is tf.tanh:
        return gates
    i, _, f_and_o = tf.split(gates, [units, units, 2 * units], axis=-1)
    return tf.concat([i, activation.value(preactivation[..., units : 2 * units]), f_and_o], axis=-1)


def step_gradient(
    gates: tf.Tensor, c_before: tf.Tensor, d_c: tf.Tensor, d_h: tf.Tensor, activation: Activation
) -> tuple[tf.Tensor, tf.Tensor]:
    """From the gradients of a step's new c and h, those of its pre-activations and of the old c."""
    i, j, f, o = tf.split(gates, 4, axis=-1)
    shown = activation.value(f * c_before + i * j)
    d_c = d_c + d_h * o * activation.slope(shown)
    units = c_before.shape[-1]
    is_candidate = tf.constant([False] * units + [True] * units + [False] * 2 * units)
    slope = tf.where(is_candidate, activation.slope(gates), gates * (1 - gates))
    return slope * tf.concat([d_c * j, d_c * i, d_c * c_before, d_h * shown], axis=-1), d_c * f


def unroll(
    projected: tf.Tensor, shift: tf.Tensor, own: tf.Tensor, c: tf.Tensor, h: tf.Tensor, activation: Activation
) -> tuple[tf.Tensor, tf.Tensor]:
    """One layer over a sequence.

    Args:
        projected: What is below, through its matrix, time first [steps, batch, 4 * units].
        shift: What else is added to h's part of the pre-activations [4 * units].
        own: The matrix of h [units, 4 * units].
        c: The state before [batch, units].
        h: The state before [batch, units].

    Returns:
        The outputs [steps, batch, units], and the last c.
    """

    @tf.custom_gradient
    def unrolled(projected, shift, own, c, h):
        gates, cells, outputs = _forward(activation)(projected, shift, own, c, h)

        def gradient(d_outputs, d_last):
            d_projected, d_c, d_h = _backward(activation)(gates, before(c, cells), d_outputs, d_last, tf.transpose(own))
            return d_projected, row_sum(d_projected), outer_sum(before(h, outputs), d_projected), d_c, d_h

        return (outputs, cells[-1]), gradient

    return unrolled(projected, shift, own, c, h)


def before(initial: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """The values one step earlier."""
    return tf.concat([initial[None], values[:-1]], axis=0)


def outer_sum(inputs: tf.Tensor, d_products: tf.Tensor) -> tf.Tensor:
    """The gradient of a matrix that is used in every step, as one product: [..., inputs] and [..., outputs] -> [inputs,
    outputs].

    It is made the other way round and then transposed: for matrices from 256 inputs on that takes half of the time.
    """
    flat_inputs, flat_products = (tf.reshape(values, [-1, values.shape[-1]]) for values in (inputs, d_products))
    return tf.transpose(tf.matmul(flat_products, flat_inputs, transpose_a=True))


def row_sum(values: tf.Tensor) -> tf.Tensor:
    """The sum over all axes but the last, as a product, which takes a third of the time that `tf.reduce_sum` takes."""
    flat = tf.reshape(values, [-1, values.shape[-1]])
    return tf.squeeze(tf.matmul(tf.ones([1, flat.shape[0]], values.dtype), flat), axis=0)


def rows(count: int, like: tf.Tensor, width: int | None = None) -> tf.TensorArray:
    """Room for `count` tensors of the shape of `like` [batch, units], or of another width."""
    return tf.TensorArray(like.dtype, size=count, element_shape=[like.shape[0], width or like.shape[1]])


def _forward(activation: Activation) -> Callable[..., tuple[tf.Tensor, tf.Tensor, tf.Tensor]]:
    @tf.function(jit_compile=True, autograph=False)
    def forward(projected, shift, own, c, h):
        steps = projected.shape[0]

        def body(time, c, h, gates, cells, outputs):
            values, c, h = step(projected[time] + shift + tf.matmul(h, own), c, activation)
            return time + 1, c, h, gates.write(time, values), cells.write(time, c), outputs.write(time, h)

        first = (tf.constant(0), c, h, rows(steps, c, 4 * c.shape[1]), rows(steps, c), rows(steps, c))
        *_, gates, cells, outputs = tf.while_loop(lambda time, *_: time < steps, body, first, maximum_iterations=steps)
        return gates.stack(), cells.stack(), outputs.stack()

    return forward


def _backward(activation: Activation) -> Callable[..., tuple[tf.Tensor, tf.Tensor, tf.Tensor]]:
    @tf.function(jit_compile=True, autograph=False)
    def backward(gates, c_before, d_outputs, d_last, transposed):
        steps = gates.shape[0]

        def body(time, d_c, d_h, d_projected):
            d_preactivation, d_c = step_gradient(gates[time], c_before[time], d_c, d_h + d_outputs[time], activation)
            return time - 1, d_c, tf.matmul(d_preactivation, transposed), d_projected.write(time, d_preactivation)

        first = (steps - 1, d_last, tf.zeros_like(d_last), rows(steps, d_last, gates.shape[2]))
        _, d_c, d_h, d_projected = tf.while_loop(lambda time, *_: time >= 0, body, first, maximum_iterations=steps)
        return d_projected.stack(), d_c, d_h

    return backward
