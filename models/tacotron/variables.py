"""Where a model's variables come from: stable names, a stable order, values drawn from a generator that was handed over."""

import math

import numpy as np
import tensorflow as tf


class Variables:
    """Makes variables and remembers them.

    Attributes:
        trained: What gradients change, by name, in order of creation.
        statistics: What is kept beside them (moving averages), by name.
    """

    def __init__(self, generator: np.random.Generator, dtype: tf.DType = tf.float32):
        self.trained: dict[str, tf.Variable] = {}
        self.statistics: dict[str, tf.Variable] = {}
        self.dtype = dtype
        self._generator = generator

    def uniform(self, name: str, shape: tuple[int, ...], limit: float) -> tf.Variable:
        """Drawn between `-limit` and `limit`."""
        return self._new(name, self._generator.uniform(-limit, limit, shape))

    def glorot(self, name: str, shape: tuple[int, ...], gain: float = 1.0) -> tf.Variable:
        """A kernel whose last two axes are inputs and outputs (Glorot & Bengio 2010), times the gain of the nonlinearity after it."""
        width = math.prod(shape[:-2])
        return self.uniform(name, shape, gain * math.sqrt(6.0 / (width * (shape[-2] + shape[-1]))))

    def constant(self, name: str, shape: tuple[int, ...], value: float) -> tf.Variable:
        """The same value everywhere."""
        return self._new(name, np.full(shape, value))

    def statistic(self, name: str, shape: tuple[int, ...], value: float) -> tf.Variable:
        """Kept beside the weights, not trained."""
        variable = tf.Variable(tf.constant(np.full(shape, value), self.dtype), trainable=False, name=name)
        self.statistics[name] = variable
        return variable

    def _new(self, name: str, value: np.ndarray) -> tf.Variable:
        variable = tf.Variable(tf.constant(value, self.dtype), name=name)
        self.trained[name] = variable
        return variable
