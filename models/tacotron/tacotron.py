"""The whole model: encoder, decoder and post-net, as the figure in Shen et al. 2018 has them."""

from typing import NamedTuple

import tensorflow as tf

from models.tacotron.attention import Memory
from models.tacotron.decoder import Decoder, Emitted
from models.tacotron.encoder import Encoder
from models.tacotron.noise import seeds
from models.tacotron.postnet import Postnet
from models.tacotron.settings import Settings
from models.tacotron.variables import Variables


class Outputs(NamedTuple):
    """Of a batch, batch first.

    Attributes:
        frames: From the decoder [batch, frames, n_mels].
        refined: After the post-net [batch, frames, n_mels].
        stop_logits: One a decoder step [batch, steps].
        alignments: [batch, steps, symbols].
    """

    frames: tf.Tensor
    refined: tf.Tensor
    stop_logits: tf.Tensor
    alignments: tf.Tensor


class Speech(NamedTuple):
    """Of free running: `outputs` up to the cap, and for each row its frames [batch] and whether it stopped by itself [batch]."""

    outputs: Outputs
    frame_counts: tf.Tensor
    stopped: tf.Tensor


class Tacotron:
    """Text to log-mel frames. All inputs may be padded; what stands in the padding is not looked at."""

    def __init__(self, settings: Settings, variables: Variables):
        self.settings = settings
        self.encoder = Encoder(settings, variables)
        self.decoder = Decoder(settings, variables)
        self.postnet = Postnet(settings, variables)

    def train(
        self,
        symbol_ids: tf.Tensor,
        symbol_counts: tf.Tensor,
        frames: tf.Tensor,
        frame_counts: tf.Tensor,
        seed: tf.Tensor,
    ) -> tuple[Outputs, dict[str, tf.Tensor]]:
        """Teacher forcing with all noise on, and the new moving averages of batch norm by name.

        Args:
            symbol_ids: [batch, symbols].
            symbol_counts: [batch].
            frames: Targets [batch, frames, n_mels], a multiple of the reduction factor in length.
            frame_counts: [batch].
            seed: Of the noise [2].
        """
        encoder_seed, prenet_seed, zoneout_seed, postnet_seed = seeds(seed, 4)
        encoded, statistics = self.encoder.train(symbol_ids, symbol_counts, encoder_seed)
        heard = self.decoder.frames_before(_select(frames, frame_counts))
        steps, batch = tf.unstack(tf.shape(heard)[:2])
        noise = self.decoder.prenet_noise(steps, batch, self.settings.prenet_dropout, prenet_seed)
        zoneouts = self.decoder.drawn_zoneouts(steps, batch, zoneout_seed)
        emitted = self.decoder.follow(self._memory(encoded, symbol_counts), heard, noise, zoneouts)
        decoded = self._frames(emitted)
        refined, refined_statistics = self.postnet.train(decoded, _mask(decoded, frame_counts), postnet_seed)
        return _batch_first(emitted, decoded, refined), statistics | refined_statistics

    def follow(
        self,
        symbol_ids: tf.Tensor,
        symbol_counts: tf.Tensor,
        frames: tf.Tensor,
        frame_counts: tf.Tensor,
        prenet_dropout: tf.Tensor | float,
        seed: tf.Tensor,
    ) -> Outputs:
        """Teacher forcing with stored statistics and expected zoneout; the pre-net's dropout stays on, at its own rate."""
        memory = self.remember(symbol_ids, symbol_counts)
        heard = self.decoder.frames_before(_select(frames, frame_counts))
        steps, batch = tf.unstack(tf.shape(heard)[:2])
        noise = self.decoder.prenet_noise(steps, batch, prenet_dropout, seed)
        emitted = self.decoder.follow(memory, heard, noise, self.decoder.expected_zoneouts())
        decoded = self._frames(emitted)
        return _batch_first(emitted, decoded, self.postnet.infer(decoded, _mask(decoded, frame_counts)))

    def speak(
        self,
        symbol_ids: tf.Tensor,
        symbol_counts: tf.Tensor,
        max_steps: tf.Tensor | int,
        stop_threshold: tf.Tensor | float,
        prenet_dropout: tf.Tensor | float,
        seed: tf.Tensor,
    ) -> Speech:
        """Free running until each row says stop, or for `max_steps` decoder steps."""
        memory = self.remember(symbol_ids, symbol_counts)
        noise = self.decoder.prenet_noise(max_steps, tf.shape(symbol_ids)[0], prenet_dropout, seed)
        spoken = self.decoder.run(memory, noise, tf.cast(stop_threshold, memory.values.dtype))
        longest = tf.reduce_max(spoken.step_counts)
        emitted = Emitted(*(values[:longest] for values in spoken.emitted))
        frame_counts = spoken.step_counts * self.settings.reduction_factor
        decoded = self._frames(emitted)
        refined = self.postnet.infer(decoded, _mask(decoded, frame_counts))
        return Speech(_batch_first(emitted, decoded, refined), frame_counts, spoken.stopped)

    def remember(self, symbol_ids: tf.Tensor, symbol_counts: tf.Tensor) -> Memory:
        """What the decoder attends to, without noise."""
        return self._memory(self.encoder.infer(symbol_ids, symbol_counts), symbol_counts)

    def _memory(self, encoded: tf.Tensor, symbol_counts: tf.Tensor) -> Memory:
        return self.decoder.memory(encoded, tf.sequence_mask(symbol_counts, tf.shape(encoded)[1]))

    def _frames(self, emitted: Emitted) -> tf.Tensor:
        """[steps, batch, reduction_factor * n_mels] as [batch, frames, n_mels]."""
        steps, batch = tf.unstack(tf.shape(emitted.frames)[:2])
        frames = tf.transpose(emitted.frames, [1, 0, 2])
        return tf.reshape(frames, [batch, steps * self.settings.reduction_factor, self.settings.n_mels])


def _batch_first(emitted: Emitted, frames: tf.Tensor, refined: tf.Tensor) -> Outputs:
    return Outputs(frames, refined, tf.transpose(emitted.stop_logits), tf.transpose(emitted.alignment, [1, 0, 2]))


def _mask(frames: tf.Tensor, frame_counts: tf.Tensor) -> tf.Tensor:
    return tf.sequence_mask(frame_counts, tf.shape(frames)[1], frames.dtype)[..., None]


def _select(frames: tf.Tensor, frame_counts: tf.Tensor) -> tf.Tensor:
    """Zeros in the padding, whatever stood there (also NaN)."""
    return tf.where(tf.sequence_mask(frame_counts, tf.shape(frames)[1])[..., None], frames, tf.zeros([], frames.dtype))
