"""A convolution along time with batch norm, as the encoder and the post-net stack them. Padding changes nothing."""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from models.tacotron.noise import drop
from models.tacotron.variables import Variables

EPSILON = 1e-5
MOMENTUM = 0.9


class Moments(NamedTuple):
    """Mean and variance of each channel."""

    mean: tf.Tensor
    variance: tf.Tensor


class Convolution:
    """Convolution, batch norm over real positions, nonlinearity, dropout.

    Args:
        variables: Where the variables are made.
        name: Prefix of their names.
        inputs, outputs: Channels.
        width: Positions that the kernel sees.
        activation: Nonlinearity after the norm.
        gain: Of the initial kernel, which suits the nonlinearity.
        dropout: Probability in training.
    """

    def __init__(
        self,
        variables: Variables,
        name: str,
        inputs: int,
        outputs: int,
        width: int,
        activation: Callable[[tf.Tensor], tf.Tensor],
        gain: float,
        dropout: float,
    ):
        self._kernel = variables.glorot(f"{name}/kernel", (width, inputs, outputs), gain)
        self._bias = variables.constant(f"{name}/bias", (outputs,), 0.0)
        self._scale = variables.constant(f"{name}/norm/scale", (outputs,), 1.0)
        self._offset = variables.constant(f"{name}/norm/offset", (outputs,), 0.0)
        self._mean = variables.statistic(f"{name}/norm/mean", (outputs,), 0.0)
        self._variance = variables.statistic(f"{name}/norm/variance", (outputs,), 1.0)
        self._activation = activation
        self._dropout = dropout
        self._name = name

    def infer(self, inputs: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """With the stored statistics and without dropout.

        Args:
            inputs: [batch, positions, inputs]. What padded positions hold is not looked at.
            mask: One at real positions, zero at padded ones [batch, positions, 1].
        """
        convolved = self._convolve(inputs, mask)
        return self._activation(self._normalise(convolved, Moments(self._mean, self._variance)))

    def train(self, inputs: tf.Tensor, mask: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        """With the batch's own statistics and dropout; also gives the new moving averages by name."""
        convolved = self._convolve(inputs, mask)
        count = tf.reduce_sum(mask)
        moments = masked_moments(convolved, mask, count)
        outputs = self._activation(self._normalise(convolved, moments))
        outputs *= drop(tf.shape(outputs), self._dropout, seed, outputs.dtype)
        unbiased = moments.variance * count / tf.maximum(count - 1, 1)
        statistics = {
            f"{self._name}/norm/mean": _moved(self._mean, moments.mean),
            f"{self._name}/norm/variance": _moved(self._variance, unbiased),
        }
        return outputs, statistics

    def _convolve(self, inputs: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        return tf.nn.conv1d(inputs * mask, self._kernel, stride=1, padding="SAME") + self._bias

    def _normalise(self, values: tf.Tensor, moments: Moments) -> tf.Tensor:
        factor = self._scale * tf.math.rsqrt(moments.variance + EPSILON)
        return values * factor + (self._offset - moments.mean * factor)


def masked_moments(values: tf.Tensor, mask: tf.Tensor, count: tf.Tensor) -> Moments:
    """Mean and biased variance over the real positions."""
    mean = tf.reduce_sum(values * mask, axis=[0, 1]) / count
    return Moments(mean, tf.reduce_sum(tf.square(values - mean) * mask, axis=[0, 1]) / count)


def _moved(average: tf.Tensor, new: tf.Tensor) -> tf.Tensor:
    return tf.stop_gradient(MOMENTUM * average + (1.0 - MOMENTUM) * new)
