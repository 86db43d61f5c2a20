"""Adam (Kingma & Ba 2015), in the form with "epsilon hat" at the end of their section 2."""

from collections.abc import Mapping, Sequence

import tensorflow as tf


class Adam(tf.Module):
    """The moments of every variable, and the update.

    Attributes:
        slots: First and second moments, by "first/<name>" and "second/<name>".
    """

    def __init__(self, variables: Mapping[str, tf.Variable], beta1: float, beta2: float, epsilon: float):
        super().__init__("adam")
        self._variables = list(variables.values())
        self._first = [tf.Variable(tf.zeros_like(variable), trainable=False) for variable in self._variables]
        self._second = [tf.Variable(tf.zeros_like(variable), trainable=False) for variable in self._variables]
        self._beta1, self._beta2, self._epsilon = beta1, beta2, epsilon
        self.slots = {f"first/{name}": slot for name, slot in zip(variables, self._first, strict=True)}
        self.slots |= {f"second/{name}": slot for name, slot in zip(variables, self._second, strict=True)}

    def apply(self, gradients: Sequence[tf.Tensor], learning_rate: tf.Tensor, step: tf.Tensor) -> None:
        """Updates the variables; `step` counts the updates before this one, `learning_rate` is a float64 scalar."""
        count = tf.cast(step + 1, tf.float64)
        correction = tf.sqrt(1.0 - tf.pow(tf.constant(self._beta2, tf.float64), count))
        correction /= 1.0 - tf.pow(tf.constant(self._beta1, tf.float64), count)
        rate = learning_rate * correction
        for variable, first, second, gradient in zip(
            self._variables, self._first, self._second, gradients, strict=True
        ):
            dtype = variable.dtype
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=first.handle,
                v=second.handle,
                beta1_power=tf.zeros([], dtype),  # the bias correction is in `rate`, in double precision
                beta2_power=tf.zeros([], dtype),
                lr=tf.cast(rate, dtype),
                beta1=tf.constant(self._beta1, dtype),
                beta2=tf.constant(self._beta2, dtype),
                epsilon=tf.constant(self._epsilon, dtype),
                grad=gradient,
            )
