"""The building block of every layer: several inputs, each through a matrix, summed and shifted.

A block is bound once before a loop: its matrices are read there, and what comes of it is plain functions of tensors.
All take `[..., size]` with the batch on the axis before the last.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import tensorflow as tf

from models.wayback.variables import Variables

Projection = Callable[[tf.Tensor], tf.Tensor]

VARIANCE_EPSILON = 1e-5
INITIAL_SCALE = 0.1


class BoundTerms(NamedTuple):
    """What the sum is made of: one projection an input, and the shift of the sum."""

    inputs: list[Projection]
    shift: tf.Tensor

    def __call__(self, *values: tf.Tensor) -> tf.Tensor:
        return tf.add_n([project(value) for project, value in zip(self.inputs, values, strict=True)]) + self.shift


class Terms:
    """One matrix for the inputs laid side by side, and a shift."""

    def __init__(self, scope: str, input_sizes: Sequence[int], units: int, variables: Variables):
        self._sizes = list(input_sizes)
        self._matrix = variables.matrix(f"{scope}/project/w", sum(input_sizes), units)
        self._shift = variables.vector(f"{scope}/beta", units, 0.0)

    def bind(self) -> BoundTerms:
        matrices, shift = self.parts()
        return BoundTerms([_times(matrix) for matrix in matrices], shift)

    def parts(self) -> tuple[list[tf.Tensor], tf.Tensor]:
        """The rows of the matrix that belong to each input, and the shift."""
        matrix, shift = self.whole()
        return tf.split(matrix, self._sizes), shift

    def whole(self) -> tuple[tf.Tensor, tf.Tensor]:
        """The matrix and the shift."""
        return tf.convert_to_tensor(self._matrix), tf.convert_to_tensor(self._shift)

    def bind_one(self) -> tuple[tf.Tensor, Projection]:
        """For a single input: its matrix, and what is done with the product."""
        matrix, shift = self.whole()
        return matrix, lambda product: product + shift


class NormalisedTerms:
    """One matrix an input, each product normalised over the batch on its own before the sum, and one shift."""

    def __init__(self, scope: str, input_sizes: Sequence[int], units: int, variables: Variables):
        self._matrices = [variables.matrix(f"{scope}/{k}/w", size, units) for k, size in enumerate(input_sizes)]
        self._scales = [variables.vector(f"{scope}/{k}/gamma", units, INITIAL_SCALE) for k in range(len(input_sizes))]
        self._shift = variables.vector(f"{scope}/beta", units, 0.0)

    def bind(self) -> BoundTerms:
        matrices, scales = map(tf.convert_to_tensor, self._matrices), map(tf.convert_to_tensor, self._scales)
        inputs = [_normalised_times(matrix, scale) for matrix, scale in zip(matrices, scales, strict=True)]
        return BoundTerms(inputs, tf.convert_to_tensor(self._shift))

    def bind_one(self) -> tuple[tf.Tensor, Projection]:
        """For a single input: its matrix, and what is done with the product."""
        matrix, scale, shift = map(tf.convert_to_tensor, (self._matrices[0], self._scales[0], self._shift))
        return matrix, lambda product: normalise(product, scale) + shift


class BatchNorm:
    """Normalisation of a state by its batch, with scale and shift."""

    def __init__(self, scope: str, units: int, variables: Variables):
        self._scale = variables.vector(f"{scope}/gamma", units, INITIAL_SCALE)
        self._shift = variables.vector(f"{scope}/beta", units, 0.0)

    def bind(self) -> Projection:
        scale, shift = tf.convert_to_tensor(self._scale), tf.convert_to_tensor(self._shift)
        return lambda values: normalise(values, scale) + shift


def normalise(values: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    """The values less their mean over the batch axis [..., batch, units], by their deviation, times the scale.

    There are no population statistics: evaluation and sampling use those of their batch, too.
    """
    mean, variance = tf.nn.moments(values, axes=[-2], keepdims=True)
    return (values - mean) * tf.math.rsqrt(variance + VARIANCE_EPSILON) * scale


def _times(matrix: tf.Tensor) -> Projection:
    return lambda values: multiply(values, matrix)


def _normalised_times(matrix: tf.Tensor, scale: tf.Tensor) -> Projection:
    return lambda values: normalise(multiply(values, matrix), scale)


def multiply(values: tf.Tensor, matrix: tf.Tensor) -> tf.Tensor:
    """`values @ matrix` [..., inputs] x [inputs, outputs], as one product whatever the leading axes are."""
    if values.shape.rank == 2:
        return tf.matmul(values, matrix)
    flat = tf.matmul(tf.reshape(values, [-1, matrix.shape[0]]), matrix)
    return tf.reshape(flat, tf.concat([tf.shape(values)[:-1], [matrix.shape[1]]], axis=0))
