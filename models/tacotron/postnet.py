"""Refines the decoder's frames by a residual (Shen et al. 2018, 2.2)."""

import tensorflow as tf

from models.tacotron.convolution import Convolution
from models.tacotron.noise import seeds
from models.tacotron.settings import Settings
from models.tacotron.variables import Variables

TANH_GAIN = 5.0 / 3.0


class Postnet:
    """Convolutions with tanh after all but the last."""

    def __init__(self, settings: Settings, variables: Variables):
        inner = [settings.postnet_units] * (settings.postnet_layers - 1)
        channels = [settings.n_mels, *inner, settings.n_mels]
        last = settings.postnet_layers - 1
        self._convolutions = [
            Convolution(
                variables,
                f"postnet/convolution_{layer}",
                channels[layer],
                channels[layer + 1],
                settings.postnet_width,
                tf.identity if layer == last else tf.tanh,
                1.0 if layer == last else TANH_GAIN,
                settings.convolution_dropout,
            )
            for layer in range(settings.postnet_layers)
        ]

    def infer(self, frames: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Refined frames [batch, frames, n_mels], with stored statistics and without dropout."""
        residual = frames
        for convolution in self._convolutions:
            residual = convolution.infer(residual, mask)
        return frames + residual

    def train(self, frames: tf.Tensor, mask: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        """The same with dropout and the batch's own statistics, and the new moving averages."""
        residual, statistics = frames, {}
        for convolution, part in zip(self._convolutions, seeds(seed, len(self._convolutions)), strict=True):
            residual, new = convolution.train(residual, mask, part)
            statistics |= new
        return frames + residual, statistics
