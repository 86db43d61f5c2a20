"""What training minimises. Sums of one utterance over its real frames, so that neither padding nor neighbours change them."""

from typing import NamedTuple

import tensorflow as tf

from models.tacotron.tacotron import Outputs


class Objective(NamedTuple):
    """What training minimises.

    Attributes:
        squared_weight, absolute_weight: Of the squared and the absolute difference of frames, before and after the
            post-net (Shen et al. 2018 has the squared alone).
        stop_weight: Of the stop token's cross entropy.
        stop_frames: Frames after the last real one in which stop is taught; they must fit into the padding.
        guide_width: Deviation of the diagonal to which attention is guided, as a share of the length.
    """

    squared_weight: float
    absolute_weight: float
    stop_weight: float
    stop_frames: int
    guide_width: float


class Sums(NamedTuple):
    """For each utterance [batch]: sums over its real frames (means over bands) or steps, and what they are sums over.

    Attributes:
        squared_before, squared_after: Squared difference of the frames before and after the post-net.
        absolute_before, absolute_after: Absolute difference.
        error: Absolute difference after the post-net in the units of the recordings' frames.
        stop: Cross entropy of the stop token.
        guide: Attention far from the diagonal.
        frames, steps, stop_steps: Numbers of frames, of decoder steps, and of steps in which stop is taught.
    """

    squared_before: tf.Tensor
    squared_after: tf.Tensor
    absolute_before: tf.Tensor
    absolute_after: tf.Tensor
    error: tf.Tensor
    stop: tf.Tensor
    guide: tf.Tensor
    frames: tf.Tensor
    steps: tf.Tensor
    stop_steps: tf.Tensor


def sums(
    outputs: Outputs,
    frames: tf.Tensor,
    frame_counts: tf.Tensor,
    symbol_counts: tf.Tensor,
    deviation: tf.Tensor,
    objective: Objective,
) -> Sums:
    """All sums of a batch.

    Args:
        outputs: Of the model.
        frames: Targets [batch, frames, n_mels], normalised.
        deviation: What they were divided by [n_mels].
        frame_counts, symbol_counts: [batch].
        objective: What is minimised.
    """
    dtype = frames.dtype
    factor = tf.shape(frames)[1] // tf.shape(outputs.stop_logits)[1]
    step_counts = _steps(frame_counts, factor)
    stop_counts = _steps(frame_counts + objective.stop_frames, factor)
    real = tf.sequence_mask(frame_counts, tf.shape(frames)[1])
    before, after = (_difference(frames, predicted, real) for predicted in (outputs.frames, outputs.refined))
    return Sums(
        squared_before=_frame_sums(tf.square(before)),
        squared_after=_frame_sums(tf.square(after)),
        absolute_before=_frame_sums(tf.abs(before)),
        absolute_after=_frame_sums(tf.abs(after)),
        error=_frame_sums(tf.abs(after) * deviation),
        stop=stop_sums(outputs.stop_logits, step_counts, stop_counts),
        guide=guide_sums(outputs.alignments, step_counts, symbol_counts, objective.guide_width),
        frames=tf.cast(frame_counts, dtype),
        steps=tf.cast(step_counts, dtype),
        stop_steps=tf.cast(stop_counts, dtype),
    )


def total(parts: Sums, objective: Objective, guide_weight: tf.Tensor | float) -> tf.Tensor:
    """The loss: of each utterance where the sums are [batch], of all together where they were added up."""
    squared = parts.squared_before + parts.squared_after
    absolute = parts.absolute_before + parts.absolute_after
    return (
        (objective.squared_weight * squared + objective.absolute_weight * absolute) / parts.frames
        + objective.stop_weight * parts.stop / parts.stop_steps
        + guide_weight * parts.guide / parts.steps
    )


def added(parts: Sums) -> Sums:
    """The sums of all utterances together."""
    return Sums(*(tf.reduce_sum(values) for values in parts))


def stop_sums(stop_logits: tf.Tensor, step_counts: tf.Tensor, stop_counts: tf.Tensor) -> tf.Tensor:
    """Cross entropy of the stop token, whose target is one from the last real step on [batch]."""
    size = tf.shape(stop_logits)[1]
    targets = 1 - tf.sequence_mask(step_counts - 1, size, stop_logits.dtype)
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(targets, stop_logits)
    return tf.reduce_sum(entropy * tf.sequence_mask(stop_counts, size, entropy.dtype), axis=1)


def guide_sums(alignments: tf.Tensor, step_counts: tf.Tensor, symbol_counts: tf.Tensor, width: float) -> tf.Tensor:
    """Attention weighted by its distance from the diagonal (Tachibana et al. 2017, 4.1), summed over real steps [batch].

    A step adds 0 where all its attention is on the diagonal, and at most 1.
    """
    dtype = alignments.dtype
    steps, symbols = tf.unstack(tf.shape(alignments)[1:])
    time = tf.range(steps, dtype=dtype)[None, :, None] / tf.cast(step_counts, dtype)[:, None, None]
    place = tf.range(symbols, dtype=dtype)[None, None, :] / tf.cast(symbol_counts, dtype)[:, None, None]
    distance = 1 - tf.exp(-tf.square(place - time) / (2 * width**2))
    real = tf.sequence_mask(step_counts, steps, dtype)[..., None]
    return tf.reduce_sum(alignments * distance * real, axis=[1, 2])


def _steps(frame_counts: tf.Tensor, factor: tf.Tensor) -> tf.Tensor:
    return -(-frame_counts // factor)


def _difference(frames: tf.Tensor, predicted: tf.Tensor, real: tf.Tensor) -> tf.Tensor:
    return tf.where(real[..., None], predicted - frames, tf.zeros([], frames.dtype))


def _frame_sums(values: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.reduce_mean(values, axis=-1), axis=1)
