"""What was heard so far -> the next frames (Shen et al. 2018, 2.2). One step, and its pieces over all steps at once."""

from typing import NamedTuple

import tensorflow as tf

from models.recurrence.lstm import LstmState, Zoneout, lstm_step, unroll_lstm
from models.tacotron.attention import (
    AttentionState,
    AttentionWeights,
    Memory,
    attention_step,
    initial_attention,
    unroll_attention,
)
from models.tacotron.encoder import RELU_GAIN
from models.tacotron.noise import drop, seeds, zoneout_expectation, zoneout_masks
from models.tacotron.postnet import TANH_GAIN
from models.tacotron.settings import Settings
from models.tacotron.variables import Variables


class DecoderState(NamedTuple):
    """Carried from step to step."""

    attention: AttentionState
    lstm: LstmState


class Zoneouts(NamedTuple):
    """Of the attention's and of the decoder's LSTM."""

    attention: Zoneout
    decoder: Zoneout


class StepWeights(NamedTuple):
    """What is used in every step.

    Attributes:
        attention: Of the attention.
        lstm_kernel: Of the decoder's LSTM, for [attention's hidden, context, hidden] [units + encoder + lower, 4 * lower].
        output_kernel: To frames and stop [lower + encoder, reduction_factor * n_mels + 1].
    """

    attention: AttentionWeights
    lstm_kernel: tf.Tensor
    output_kernel: tf.Tensor


class Emitted(NamedTuple):
    """Of one step, or of all with time in front: frames [batch, reduction_factor * n_mels], stop logits [batch], alignment [batch, symbols]."""

    frames: tf.Tensor
    stop_logits: tf.Tensor
    alignment: tf.Tensor


class Spoken(NamedTuple):
    """What free running gave.

    Attributes:
        emitted: Of all steps up to the cap, time first; zero after the last row has stopped.
        step_counts: Steps of each row, with the one that said stop [batch].
        stopped: Whether a row stopped by itself; else it hit the cap [batch].
    """

    emitted: Emitted
    step_counts: tf.Tensor
    stopped: tf.Tensor


PrenetNoise = tuple[tf.Tensor, tf.Tensor]


class Decoder:
    """Pre-net, attention, two LSTMs, and the projections to frames and stop."""

    def __init__(self, settings: Settings, variables: Variables):
        self._settings = settings
        attention, units = settings.attention_units, settings.attention_lstm_units
        prenet, encoder, lower = settings.prenet_units, settings.encoder_units, settings.decoder_lstm_units
        self._prenet = [
            variables.glorot("decoder/prenet_0/kernel", (settings.n_mels, prenet), RELU_GAIN),
            variables.glorot("decoder/prenet_1/kernel", (prenet, prenet), RELU_GAIN),
        ]
        name, limit = "decoder/attention_lstm", units**-0.5
        self._input_kernel = variables.uniform(f"{name}/input_kernel", (prenet, 4 * units), limit)
        self._feedback_kernel = variables.uniform(f"{name}/recurrent_kernel", (encoder + units, 4 * units), limit)
        self._input_bias = variables.uniform(f"{name}/bias", (4 * units,), limit)
        name = "decoder/attention"
        self._query_kernel = variables.glorot(f"{name}/query_kernel", (units, attention), TANH_GAIN)
        self._memory_kernel = variables.glorot(f"{name}/memory_kernel", (encoder, attention), TANH_GAIN)
        location = (settings.location_width, 2, settings.location_filters)
        self._location_convolution = variables.glorot(f"{name}/location_convolution", location)
        self._location_kernel = variables.glorot(
            f"{name}/location_kernel", (settings.location_filters, attention), TANH_GAIN
        )
        self._score_kernel = variables.uniform(f"{name}/score_kernel", (attention,), (6.0 / (attention + 1)) ** 0.5)
        name, limit = "decoder/lstm", lower**-0.5
        self._lower_kernel = variables.uniform(f"{name}/input_kernel", (units + encoder, 4 * lower), limit)
        self._recurrent_kernel = variables.uniform(f"{name}/recurrent_kernel", (lower, 4 * lower), limit)
        self._lower_bias = variables.uniform(f"{name}/bias", (4 * lower,), limit)
        outputs = settings.reduction_factor * settings.n_mels
        self._frame_kernel = variables.glorot("decoder/frame/kernel", (lower + encoder, outputs))
        self._frame_bias = variables.constant("decoder/frame/bias", (outputs,), 0.0)
        self._stop_kernel = variables.glorot("decoder/stop/kernel", (lower + encoder, 1))
        self._stop_bias = variables.constant("decoder/stop/bias", (1,), 0.0)

    def memory(self, encoded: tf.Tensor, mask: tf.Tensor) -> Memory:
        """What is attended to, from encoder outputs [batch, symbols, encoder] and which of them are real [batch, symbols]."""
        return Memory(encoded, _dense(encoded, self._memory_kernel), mask)

    def initial(self, memory: Memory) -> DecoderState:
        """State before the first step."""
        nothing = tf.zeros([tf.shape(memory.values)[0], self._settings.decoder_lstm_units], memory.values.dtype)
        attention = initial_attention(memory, self._settings.attention_lstm_units)
        return DecoderState(attention, LstmState(nothing, nothing))

    def step(
        self,
        weights: StepWeights,
        memory: Memory,
        state: DecoderState,
        frame: tf.Tensor,
        noise: PrenetNoise,
        zoneouts: Zoneouts,
    ) -> tuple[DecoderState, Emitted]:
        """One step.

        Args:
            weights: What `step_weights` gives, made once before the loop.
            memory: What is attended to.
            state: State before the step.
            frame: The frame before [batch, n_mels], zero at first.
            noise: Factors of dropout for the two layers of the pre-net [batch, prenet].
            zoneouts: Of both LSTMs.
        """
        heard = self._hear(frame, noise)
        attention, _ = attention_step(weights.attention, memory, state.attention, heard, zoneouts.attention)
        inputs = tf.concat([attention.lstm.hidden, attention.context, state.lstm.hidden], axis=-1)
        lstm, _ = lstm_step(tf.matmul(inputs, weights.lstm_kernel) + self._lower_bias, state.lstm, zoneouts.decoder)
        frames, stop_logits = self._emit(lstm.hidden, attention.context, weights.output_kernel)
        return DecoderState(attention, lstm), Emitted(frames, stop_logits, attention.alignment)

    def follow(self, memory: Memory, frames: tf.Tensor, noise: PrenetNoise, zoneouts: Zoneouts) -> Emitted:
        """All steps where the frames before each are known (teacher forcing): only what feeds back runs in a loop.

        Args:
            memory: What is attended to.
            frames: The frame before each step [time, batch, n_mels], zero at first.
            noise: [time, batch, prenet] each.
            zoneouts: [time, batch, units], or what broadcasts to it.
        """
        unrolled = unroll_attention(self._attention_weights(), memory, self._hear(frames, noise), zoneouts.attention)
        descending = tf.concat([unrolled.hidden, unrolled.context], axis=-1)
        projected = _dense(descending, self._lower_kernel) + self._lower_bias
        hidden, _ = unroll_lstm(projected, self._recurrent_kernel, self.initial(memory).lstm, zoneouts.decoder)
        return Emitted(*self._emit(hidden, unrolled.context, self._output_kernel()), unrolled.alignment)

    @tf.function(jit_compile=True, autograph=False)
    def run(self, memory: Memory, noise: PrenetNoise, stop_threshold: tf.Tensor) -> Spoken:
        """Steps fed with their own frames until every row has said stop, at most as many as there is noise for.

        Args:
            memory: What is attended to.
            noise: [cap, batch, prenet] each.
            stop_threshold: A row stops after the first step whose stop probability exceeds it.
        """
        cap, batch = tf.shape(noise[0])[0], tf.shape(memory.values)[0]
        weights, zoneouts = self.step_weights(), self.expected_zoneouts()

        def body(time, state, frame, rows, step_counts, stopped):
            state, emitted = self.step(weights, memory, state, frame, (noise[0][time], noise[1][time]), zoneouts)
            rows = Emitted(*(row.write(time, value) for row, value in zip(rows, emitted, strict=True)))
            step_counts += tf.cast(~stopped, tf.int32)
            stopped |= tf.sigmoid(emitted.stop_logits) > stop_threshold
            return time + 1, state, self._last_frame(emitted.frames), rows, step_counts, stopped

        dtype = memory.values.dtype
        first = (
            tf.constant(0),
            self.initial(memory),
            tf.zeros([batch, self._settings.n_mels], dtype),
            Emitted(*(tf.TensorArray(dtype, size=cap) for _ in range(3))),
            tf.zeros([batch], tf.int32),
            tf.zeros([batch], tf.bool),
        )
        *_, rows, step_counts, stopped = tf.while_loop(
            lambda time, *rest: (time < cap) & ~tf.reduce_all(rest[-1]), body, first, maximum_iterations=cap
        )
        return Spoken(Emitted(*(row.stack() for row in rows)), step_counts, stopped)

    def frames_before(self, frames: tf.Tensor) -> tf.Tensor:
        """What each step hears under teacher forcing: the last frame of the step before, zero at first [time, batch, n_mels].

        Args:
            frames: [batch, frames, n_mels], a multiple of the reduction factor in length.
        """
        last = tf.transpose(
            frames[:, self._settings.reduction_factor - 1 :: self._settings.reduction_factor], [1, 0, 2]
        )
        return tf.concat([tf.zeros_like(last[:1]), last[:-1]], axis=0)

    def prenet_noise(self, steps: tf.Tensor, batch: tf.Tensor, rate: tf.Tensor | float, seed: tf.Tensor) -> PrenetNoise:
        """Factors of dropout for all steps [steps, batch, prenet] each."""
        shape = [steps, batch, self._settings.prenet_units]
        lower, upper = seeds(seed, 2)
        return drop(shape, rate, lower, self._frame_bias.dtype), drop(shape, rate, upper, self._frame_bias.dtype)

    def drawn_zoneouts(self, steps: tf.Tensor, batch: tf.Tensor, seed: tf.Tensor) -> Zoneouts:
        """Masks of zoneout for all steps of training."""
        rate, dtype = self._settings.zoneout, self._frame_bias.dtype
        attention, decoder = seeds(seed, 2)
        return Zoneouts(
            zoneout_masks([steps, batch, self._settings.attention_lstm_units], rate, attention, dtype),
            zoneout_masks([steps, batch, self._settings.decoder_lstm_units], rate, decoder, dtype),
        )

    def expected_zoneouts(self) -> Zoneouts:
        """Zoneout after training."""
        expectation = zoneout_expectation(self._settings.zoneout, self._frame_bias.dtype)
        return Zoneouts(expectation, expectation)

    def step_weights(self) -> StepWeights:
        """The weights of a step, with kernels side by side where one product does the work of two."""
        lstm_kernel = tf.concat([self._lower_kernel, self._recurrent_kernel], axis=0)
        return StepWeights(self._attention_weights(), lstm_kernel, self._output_kernel())

    def _attention_weights(self) -> AttentionWeights:
        """The location convolution and the dense layer after it are folded into one kernel."""
        location = tf.einsum("wcf,fa->wca", self._location_convolution, self._location_kernel)
        return AttentionWeights(self._feedback_kernel, self._query_kernel, location, self._score_kernel)

    def _hear(self, frames: tf.Tensor, noise: PrenetNoise) -> tf.Tensor:
        """Frames through the pre-net and the attention LSTM's input kernel [..., 4 * units]."""
        for kernel, factors in zip(self._prenet, noise, strict=True):
            frames = tf.nn.relu(_dense(frames, kernel)) * factors
        return _dense(frames, self._input_kernel) + self._input_bias

    def _output_kernel(self) -> tf.Tensor:
        return tf.concat([self._frame_kernel, self._stop_kernel], axis=1)

    def _emit(self, hidden: tf.Tensor, context: tf.Tensor, kernel: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        bias = tf.concat([self._frame_bias, self._stop_bias], axis=0)
        outputs = _dense(tf.concat([hidden, context], axis=-1), kernel) + bias
        frames, stop_logits = tf.split(outputs, [kernel.shape[1] - 1, 1], axis=-1)
        return frames, tf.squeeze(stop_logits, axis=-1)

    def _last_frame(self, frames: tf.Tensor) -> tf.Tensor:
        return frames[:, -self._settings.n_mels :]


def _dense(values: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return tf.tensordot(values, kernel, 1)
