"""Symbols -> what the decoder attends to (Shen et al. 2018, 2.2)."""

import tensorflow as tf

from models.recurrence.lstm import LstmState, Zoneout, unroll_lstm
from models.tacotron.convolution import Convolution
from models.tacotron.noise import seeds, zoneout_expectation, zoneout_masks
from models.tacotron.settings import Settings
from models.tacotron.variables import Variables

RELU_GAIN = 2.0**0.5


class Encoder:
    """Embedding, convolutions, and an LSTM in either direction whose outputs stand side by side."""

    def __init__(self, settings: Settings, variables: Variables):
        self._zoneout = settings.zoneout
        self._units = units = settings.encoder_units // 2
        channels = settings.embedding_units
        self._embedding = variables.uniform(
            "encoder/embedding", (settings.symbol_count, channels), (3.0 / channels) ** 0.5
        )
        self._convolutions = [
            Convolution(
                variables,
                f"encoder/convolution_{layer}",
                channels,
                channels,
                settings.encoder_width,
                tf.nn.relu,
                RELU_GAIN,
                settings.convolution_dropout,
            )
            for layer in range(settings.encoder_layers)
        ]
        limit = units**-0.5
        self._input_kernel = variables.uniform("encoder/lstm/input_kernel", (2, channels, 4 * units), limit)
        self._recurrent_kernel = variables.uniform("encoder/lstm/recurrent_kernel", (2, units, 4 * units), limit)
        self._bias = variables.uniform("encoder/lstm/bias", (2, 4 * units), limit)

    def embed(self, symbol_ids: tf.Tensor) -> tf.Tensor:
        """[batch, symbols] -> [batch, symbols, embedding]. A product with one-hot rows, so that the gradient is dense."""
        rows = tf.one_hot(symbol_ids, self._embedding.shape[0], dtype=self._embedding.dtype)
        return _dense(rows, self._embedding)

    def infer(self, symbol_ids: tf.Tensor, symbol_counts: tf.Tensor) -> tf.Tensor:
        """Encoder outputs [batch, symbols, encoder], zero beyond each row's count, without noise."""
        outputs = self.convolve(self.embed(symbol_ids), _mask(symbol_ids, symbol_counts, self._bias.dtype))
        return self.recur(outputs, symbol_counts, zoneout_expectation(self._zoneout, outputs.dtype))

    def train(
        self, symbol_ids: tf.Tensor, symbol_counts: tf.Tensor, seed: tf.Tensor
    ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        """The same with dropout, zoneout and the batch's own statistics, and the new moving averages."""
        convolution_seed, zoneout_seed = seeds(seed, 2)
        mask = _mask(symbol_ids, symbol_counts, self._bias.dtype)
        outputs, statistics = self.convolve_in_training(self.embed(symbol_ids), mask, convolution_seed)
        shape = tf.shape(symbol_ids)
        masks = zoneout_masks([shape[1], 2, shape[0], self._units], self._zoneout, zoneout_seed, outputs.dtype)
        return self.recur(outputs, symbol_counts, masks), statistics

    def convolve(self, embedded: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """All convolutions, with stored statistics [batch, symbols, embedding]."""
        for convolution in self._convolutions:
            embedded = convolution.infer(embedded, mask)
        return embedded

    def convolve_in_training(
        self, embedded: tf.Tensor, mask: tf.Tensor, seed: tf.Tensor
    ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        """All convolutions, with the batch's statistics and dropout."""
        statistics = {}
        for convolution, part in zip(self._convolutions, seeds(seed, len(self._convolutions)), strict=True):
            embedded, new = convolution.train(embedded, mask, part)
            statistics |= new
        return embedded, statistics

    def recur(self, inputs: tf.Tensor, symbol_counts: tf.Tensor, zoneout: Zoneout) -> tf.Tensor:
        """Both directions; the backward one starts at each row's last real symbol. Zero beyond each row's count."""
        forward = tf.transpose(inputs, [1, 0, 2])
        backward = _reverse(forward, symbol_counts)
        kernels = tf.unstack(self._input_kernel)
        both = tf.stack([_dense(forward, kernels[0]), _dense(backward, kernels[1])], axis=1)
        nothing = tf.zeros([2, tf.shape(inputs)[0], self._units], inputs.dtype)
        hidden, _ = unroll_lstm(
            both + self._bias[:, None], self._recurrent_kernel, LstmState(nothing, nothing), zoneout
        )
        ahead, back = tf.unstack(hidden, num=2, axis=1)
        outputs = tf.transpose(tf.concat([ahead, _reverse(back, symbol_counts)], axis=-1), [1, 0, 2])
        return outputs * tf.sequence_mask(symbol_counts, tf.shape(inputs)[1], inputs.dtype)[..., None]


def _reverse(values: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
    """Each row's real positions backwards, time first."""
    return tf.reverse_sequence(values, counts, seq_axis=0, batch_axis=1)


def _dense(values: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return tf.tensordot(values, kernel, 1)


def _mask(symbol_ids: tf.Tensor, counts: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    return tf.sequence_mask(counts, tf.shape(symbol_ids)[1], dtype)[..., None]
