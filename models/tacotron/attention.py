"""Location-sensitive attention and the LSTM that drives it: the part of the decoder that feeds back.

Shen et al. 2018, 2.2, with the location features of Chorowski et al. 2015 taken from the previous and the summed alignment.
"""

from typing import NamedTuple

import tensorflow as tf

from models.recurrence.lstm import LstmState, Zoneout, lstm_step, lstm_step_gradient, weight_gradient


class AttentionWeights(NamedTuple):
    """What is used in every step.

    Attributes:
        recurrent_kernel: Of the LSTM, for [context, hidden] [encoder + units, 4 * units].
        query_kernel: [units, attention].
        location_kernel: Convolution and dense layer in one: [width, 2, attention], channels previous and summed alignment.
        score_kernel: [attention].
    """

    recurrent_kernel: tf.Tensor
    query_kernel: tf.Tensor
    location_kernel: tf.Tensor
    score_kernel: tf.Tensor


class Memory(NamedTuple):
    """What is attended to: encoder outputs, their keys [batch, symbols, attention], and which symbols are real [batch, symbols]."""

    values: tf.Tensor
    keys: tf.Tensor
    mask: tf.Tensor


class AttentionState(NamedTuple):
    """Carried from step to step: the LSTM's state, the context [batch, encoder], the alignment and the sum of all so far [batch, symbols]."""

    lstm: LstmState
    context: tf.Tensor
    alignment: tf.Tensor
    summed: tf.Tensor


class _Residues(NamedTuple):
    """What a step keeps for its gradient."""

    gates: tf.Tensor
    squashed: tf.Tensor


def initial_attention(memory: Memory, units: int) -> AttentionState:
    """Nothing heard, nothing attended to."""
    batch = tf.shape(memory.values)[0]
    dtype = memory.values.dtype
    hidden = tf.zeros([batch, units], dtype)
    alignment = tf.zeros(tf.shape(memory.mask), dtype)
    context = tf.zeros([batch, tf.shape(memory.values)[2]], dtype)
    return AttentionState(LstmState(hidden, hidden), context, alignment, alignment)


def attention_step(
    weights: AttentionWeights, memory: Memory, state: AttentionState, projected: tf.Tensor, zoneout: Zoneout
) -> tuple[AttentionState, _Residues]:
    """One decoder step up to the context.

    Args:
        weights: Of the attention.
        memory: What is attended to.
        state: State before the step.
        projected: Pre-net outputs through the LSTM's input kernel, plus the bias [batch, 4 * units].
        zoneout: Of the LSTM.
    """
    feedback = tf.concat([state.context, state.lstm.hidden], axis=-1)
    lstm, gates = lstm_step(projected + tf.matmul(feedback, weights.recurrent_kernel), state.lstm, zoneout)
    query = tf.matmul(lstm.hidden, weights.query_kernel)
    location = _location_features(state.alignment, state.summed, weights.location_kernel)
    squashed = tf.tanh(query[:, None] + location + memory.keys)
    energies = tf.linalg.matvec(squashed, weights.score_kernel)
    alignment = tf.nn.softmax(tf.where(memory.mask, energies, energies.dtype.min))
    context = _weighted(alignment, memory.values)
    return AttentionState(lstm, context, alignment, state.summed + alignment), _Residues(gates, squashed)


class Unrolled(NamedTuple):
    """Attention over all steps: hidden states [time, batch, units], contexts [time, batch, encoder], alignments [time, batch, symbols]."""

    hidden: tf.Tensor
    context: tf.Tensor
    alignment: tf.Tensor


def unroll_attention(weights: AttentionWeights, memory: Memory, projected: tf.Tensor, zoneout: Zoneout) -> Unrolled:
    """Runs all steps from the initial state, where the input projection is known beforehand (teacher forcing).

    Args:
        weights: Of the attention.
        memory: What is attended to.
        projected: [time, batch, 4 * units].
        zoneout: [time, batch, units], or what broadcasts to it. It gets no gradient.
    """
    shape = tf.concat([tf.shape(projected)[:2], tf.shape(weights.query_kernel)[:1]], axis=0)
    keep = (tf.broadcast_to(zoneout.hidden, shape), tf.broadcast_to(zoneout.cell, shape))
    return Unrolled(*_unrolled(projected, *map(tf.convert_to_tensor, weights), *memory, *keep))


@tf.custom_gradient
def _unrolled(*inputs):
    projected, *rest = map(tf.stop_gradient, inputs)
    weights, memory, zoneout = AttentionWeights(*rest[:4]), Memory(*rest[4:7]), Zoneout(*rest[7:])
    hidden, cell, context, alignment, gates, squashed = _forward(weights, memory, projected, zoneout)

    def gradient(*d_outputs):
        summed = tf.cumsum(alignment, axis=0, exclusive=True)
        transposed = AttentionWeights(
            tf.transpose(weights.recurrent_kernel),
            tf.transpose(weights.query_kernel),
            tf.transpose(weights.location_kernel, [2, 0, 1]),
            weights.score_kernel,
        )
        d_projected, d_query, d_context, d_energies, d_keys, d_location = _backward(
            transposed, memory, Unrolled(*d_outputs), alignment, summed, gates, _before(cell), squashed, zoneout
        )
        feedback = tf.concat([_before(context), _before(hidden)], axis=-1)
        d_weights = AttentionWeights(
            weight_gradient(feedback, d_projected),
            weight_gradient(hidden, d_query),
            d_location,
            tf.linalg.matvec(
                tf.reshape(squashed, [-1, tf.shape(squashed)[-1]]), tf.reshape(d_energies, [-1]), transpose_a=True
            ),
        )
        d_values = tf.matmul(tf.transpose(alignment, [1, 2, 0]), tf.transpose(d_context, [1, 0, 2]))
        return d_projected, *d_weights, d_values, d_keys, None, None, None

    return (hidden, context, alignment), gradient


@tf.function(jit_compile=True, autograph=False)
def _forward(weights, memory, projected, zoneout):
    """Hidden states, cells, contexts, alignments, gates and squashed energies of all steps, time first."""
    steps = tf.shape(projected)[0]

    def body(time, state, rows):
        state, kept = attention_step(
            weights, memory, state, projected[time], Zoneout(*(keep[time] for keep in zoneout))
        )
        values = (*state.lstm, state.context, state.alignment, *kept)
        return time + 1, state, tuple(row.write(time, value) for row, value in zip(rows, values, strict=True))

    rows = tuple(tf.TensorArray(projected.dtype, size=steps) for _ in range(6))
    first = (tf.constant(0), initial_attention(memory, weights.query_kernel.shape[0]), rows)
    _, _, rows = tf.while_loop(lambda time, *_: time < steps, body, first, maximum_iterations=steps)
    return tuple(row.stack() for row in rows)


class _Gradients(NamedTuple):
    """Carried from a step to the one before it."""

    lstm: LstmState
    context: tf.Tensor
    alignment: tf.Tensor
    summed: tf.Tensor
    keys: tf.Tensor
    location_kernel: tf.Tensor


@tf.function(jit_compile=True, autograph=False)
def _backward(transposed, memory, d_outputs, alignment, summed, gates, cell_before, squashed, zoneout):
    """Gradients of pre-activations, queries, contexts and energies, time first, and of the keys and the location kernel."""
    steps = tf.shape(gates)[0]
    symbols, encoder_units = tf.shape(memory.values)[1], memory.values.shape[-1]
    width = transposed.location_kernel.shape[1]
    location_transposed = tf.reshape(transposed.location_kernel, [-1, 2 * width])
    alignment_before = _before(alignment)

    def body(time, later, rows):
        d_context = later.context + d_outputs.context[time]
        d_alignment = later.alignment + later.summed + d_outputs.alignment[time]
        d_alignment += tf.linalg.matvec(memory.values, d_context)
        weighted = alignment[time] * d_alignment
        d_energies = weighted - alignment[time] * tf.reduce_sum(weighted, axis=-1, keepdims=True)
        d_squashed = d_energies[..., None] * transposed.score_kernel * (1 - squashed[time] * squashed[time])
        d_query = tf.reduce_sum(d_squashed, axis=1)
        patches = _patches(alignment_before[time], summed[time], width)
        d_location = tf.matmul(_flat(patches), _flat(d_squashed), transpose_a=True)
        d_previous, d_summed = _from_patches(tf.matmul(_flat(d_squashed), location_transposed), symbols, width)
        d_preactivation, d_lstm = lstm_step_gradient(
            gates[time],
            cell_before[time],
            Zoneout(*(keep[time] for keep in zoneout)),
            later.lstm.hidden + d_outputs.hidden[time] + tf.matmul(d_query, transposed.query_kernel),
            later.lstm.cell,
        )
        d_feedback = tf.matmul(d_preactivation, transposed.recurrent_kernel)
        earlier = _Gradients(
            LstmState(d_lstm.hidden + d_feedback[:, encoder_units:], d_lstm.cell),
            d_feedback[:, :encoder_units],
            d_previous,
            later.summed + d_summed,
            later.keys + d_squashed,
            later.location_kernel + d_location,
        )
        earlier = tf.nest.map_structure(lambda new, old: tf.ensure_shape(new, old.shape), earlier, later)
        values = (d_preactivation, d_query, d_context, d_energies)
        return time - 1, earlier, tuple(row.write(time, value) for row, value in zip(rows, values, strict=True))

    nothing = tf.zeros_like(cell_before[0])
    last = _Gradients(
        LstmState(nothing, nothing),
        tf.zeros_like(memory.values[:, 0]),
        tf.zeros_like(alignment[0]),
        tf.zeros_like(alignment[0]),
        tf.zeros_like(memory.keys),
        tf.zeros_like(tf.transpose(location_transposed)),
    )
    rows = tuple(tf.TensorArray(gates.dtype, size=steps) for _ in range(4))
    _, first, rows = tf.while_loop(lambda time, *_: time >= 0, body, (steps - 1, last, rows), maximum_iterations=steps)
    d_location = tf.reshape(first.location_kernel, [width, 2, -1])
    return (*(row.stack() for row in rows), first.keys, d_location)


def _weighted(alignment: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Sum of the values, weighted by the alignment [batch, encoder]."""
    return tf.squeeze(tf.matmul(alignment[:, None], values), axis=1)


def _location_features(previous: tf.Tensor, summed: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """Both alignments through the location convolution [batch, symbols, attention]."""
    return tf.matmul(_patches(previous, summed, kernel.shape[0]), tf.reshape(kernel, [-1, kernel.shape[2]]))


def _patches(previous: tf.Tensor, summed: tf.Tensor, width: int) -> tf.Tensor:
    """Each symbol's surroundings, zeros outside [batch, symbols, width * 2]."""
    symbols = tf.shape(previous)[1]
    before = (width - 1) // 2
    padded = tf.pad(tf.stack([previous, summed], axis=-1), [[0, 0], [before, width - 1 - before], [0, 0]])
    positions = tf.range(symbols)[:, None] + tf.range(width)
    return tf.reshape(tf.gather(padded, positions, axis=1), [tf.shape(previous)[0], symbols, 2 * width])


def _from_patches(patches: tf.Tensor, symbols: tf.Tensor, width: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Adds what belongs to one symbol from all patches [batch * symbols, width * 2]; the transpose of `_patches`.

    Rows that are one longer than the distance between them put equal symbols under each other.
    """
    columns = tf.transpose(tf.reshape(patches, [-1, symbols, width, 2]), [0, 3, 2, 1])
    longer = tf.pad(columns, [[0, 0], [0, 0], [0, 0], [0, width]])
    flat = tf.reshape(longer, [-1, 2, width * (symbols + width)])[..., : width * (symbols + width - 1)]
    added = tf.reduce_sum(tf.reshape(flat, [-1, 2, width, symbols + width - 1]), axis=2)
    before = (width - 1) // 2
    middle = added[..., before : before + symbols]
    return middle[:, 0], middle[:, 1]


def _flat(values: tf.Tensor) -> tf.Tensor:
    return tf.reshape(values, [-1, values.shape[-1]])


def _before(values: tf.Tensor) -> tf.Tensor:
    """The values one step earlier, zeros at first."""
    return tf.concat([tf.zeros_like(values[:1]), values[:-1]], axis=0)
