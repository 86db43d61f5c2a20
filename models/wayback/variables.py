"""Where the model's variables come from: stable names, a stable order, values drawn from a generator that was handed
over.
"""

import math

import numpy as np
import tensorflow as tf


class Variables:
    """Makes variables and remembers them.

    Attributes:
        trained: All of them by name, in order of creation.
        dtype: Their type.
    """

    def __init__(self, generator: np.random.Generator, dtype: tf.DType = tf.float32):
        self.trained: dict[str, tf.Variable] = {}
        self.dtype = dtype
        self._generator = generator

    def matrix(self, name: str, inputs: int, outputs: int) -> tf.Variable:
        """Drawn from a normal distribution of deviation sqrt(1 / outputs), redrawn beyond two deviations."""
        values = self._generator.standard_normal((inputs, outputs))
        while (far := np.abs(values) > 2.0).any():
            values[far] = self._generator.standard_normal(int(far.sum()))
        return self._new(name, values * math.sqrt(1.0 / outputs))

    def vector(self, name: str, size: int, value: float) -> tf.Variable:
        """The same value everywhere."""
        return self._new(name, np.full(size, value))

    def _new(self, name: str, value: np.ndarray) -> tf.Variable:
        variable = tf.Variable(tf.constant(value, self.dtype), name=name)
        self.trained[name] = variable
        return variable
