"""LSTM layers at their own paces over a span of a segment, with the gradient written by hand.

See lstm.py for what makes it fast. Besides: what the output of a layer above adds to the pre-activations is computed
once where that layer is updated and held until its next update, and its gradient is a sum over that time before it is
multiplied.

A span is a chain of blocks, and what is stored, is stored for each block. In the last span of a segment, where layer 0
is live, a block is a run between two updates of layer 1, and layer 0's steps in it are stored, too. In earlier spans a
block lasts from one update of the lowest live layer to the next (or, where that does not fit the span, of a layer
below), and what is below goes forward and keeps nothing.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import tensorflow as tf

from models.wayback.cells import Activation
from models.wayback.lstm import Weights, before, outer_sum, rows, step_gradient
from models.wayback.schedule import Schedule, Span
from models.wayback.turns import Embedding, Flow, State, Turns, held_by


class Stored(NamedTuple):
    """What a layer's gradient needs, block by block [blocks, batch, ...]; for layer 0 step by step.

    Attributes:
        gates: The gates' values.
        cells: c after the block's turn.
        outputs: h after the block's turn.
    """

    gates: tf.Tensor
    cells: tf.Tensor
    outputs: tf.Tensor


class Blocks(NamedTuple):
    """How a span falls into blocks.

    Attributes:
        span: The steps.
        length: Steps of a block.
        count: Number of blocks.
        lowest: The lowest layer that has its turn at the beginning of a block.
        schedule: Whose layers they are.
    """

    span: Span
    length: int
    count: int
    lowest: int
    schedule: Schedule

    @classmethod
    def of(cls, schedule: Schedule, span: Span) -> "Blocks":
        fitting = [layer for layer in range(1, span.live + 1) if _fits(schedule.intervals[layer], span)]
        lowest = max(fitting, default=1)
        length = schedule.intervals[lowest]
        return cls(span, length, (span.stop - span.start) // length, lowest, schedule)

    @property
    def stored(self) -> range:
        """The layers that are stored block by block."""
        return range(max(self.span.live, 1), self.schedule.layer_count)

    @property
    def turning(self) -> range:
        """The layers that have their turn at the beginning of a block."""
        return range(self.lowest, self.schedule.layer_count)

    def always_due(self, layer: int) -> bool:
        return self.length % self.schedule.intervals[layer] == 0

    def due(self, layer: int) -> list[int]:
        """The blocks at whose beginning the layer is updated."""
        interval = self.schedule.intervals[layer]
        return [block for block in range(self.count) if (self.span.start + block * self.length) % interval == 0]


def _fits(interval: int, span: Span) -> bool:
    return span.start % interval == 0 and span.stop % interval == 0


def run_span(
    blocks: Blocks,
    weights: Sequence[Weights],
    activation: Activation,
    embedding: Embedding | tf.Tensor,
    cells: Flow,
    outputs: Flow,
) -> tuple[Flow, Flow, Flow]:
    """All layers over a span; the live ones get a gradient.

    Args:
        blocks: The span, of two layers or more.
        weights: Of all layers.
        activation: In the cells.
        embedding: Where layer 0 is live, its projections at all steps of the span, without the shift [steps, batch, 4 *
            units]; elsewhere a function that gives them at a time.
        cells: c of all layers before the span.
        outputs: h of all layers before the span.

    Returns:
        Where layer 0 is live, the outputs of all layers (layer 0's for each step, the others' for each block), else
        nothing; then c and h of all layers after the span.
    """
    live, layers = blocks.span.live, len(weights)
    shown = layers if live == 0 else 0
    differentiated = [_parts(weights[live:]), cells[live:], outputs[live:], [embedding] if live == 0 else []]

    @tf.custom_gradient
    def spanned(*flat):
        parts, live_cells, live_outputs, projected = tf.nest.pack_sequence_as(differentiated, flat)
        now = [*weights[:live], *_joined(parts)]
        c, h = [*cells[:live], *live_cells], [*outputs[:live], *live_outputs]
        steps = embedding if live else lambda time: projected[0][time - blocks.span.start]
        stored, below, last = compiled(lambda: _forward(blocks, now, activation, steps, c, h))

        def gradient(*d_results):
            d_shown, d_c, d_h = d_results[:shown], d_results[shown : shown + layers], d_results[shown + layers :]
            backward = partial(_backward, blocks, now, activation, stored, live_cells)
            d_gates, d_c, d_h = compiled(lambda: backward(d_shown, d_c[live:], d_h[live:]))
            d_weights = _weight_gradients(blocks, stored, below, live_outputs, d_gates)
            return tf.nest.flatten([_parts(d_weights), d_c, d_h, d_gates[:1] if live == 0 else []])

        return (*(layer.outputs for layer in stored[:shown]), *last.c, *last.h), gradient

    results = list(spanned(*tf.nest.flatten(differentiated)))
    return results[:shown], results[shown : shown + layers], results[shown + layers :]


def _parts(weights: Sequence[Weights]) -> list[Flow]:
    """All near, all above (the top layer has none), all shifts."""
    return [
        [weight.near for weight in weights],
        [weight.above for weight in weights[:-1]],
        [weight.shift for weight in weights],
    ]


def _joined(parts: list[Flow]) -> list[Weights]:
    near, above, shift = parts
    return [Weights(*each) for each in zip(near, [*above, None], shift, strict=True)]


def compiled(work: Callable[[], Any]) -> Any:
    """The result of `work`, compiled as a whole."""
    return tf.function(work, jit_compile=True, autograph=False)()


def _forward(
    blocks: Blocks, weights: Sequence[Weights], activation: Activation, embedding: Embedding, cells: Flow, outputs: Flow
) -> tuple[list[Stored], tf.Tensor, State]:
    """What the live layers store; before each block, the output of the layer below those stored by block; the last
    state.
    """
    live, count = blocks.span.live, blocks.count
    turns = Turns(blocks.schedule, weights, activation)

    def body(block, state, stored, bottom, below):
        below = below.write(block, state.h[blocks.stored[0] - 1])
        time = blocks.span.start + block * blocks.length
        for layer in reversed(blocks.turning):
            gates, state = turns.take_if_due(layer, blocks.length, time, state)
            if layer in blocks.stored:
                place = layer - blocks.stored[0]
                stored[place] = _write(stored[place], block, gates, state, layer)
        if live == 0:
            state, bottom = _stored_run(blocks, turns, embedding, time, state, bottom)
        else:
            state = turns.advance(blocks.lowest - 1, embedding, time, state)
        return block + 1, state, stored, bottom, below

    stored = [_room(count, cells[layer]) for layer in blocks.stored]
    bottom = _room(count * blocks.length, cells[0]) if live == 0 else ()
    state = State(cells, outputs, held_by(weights, outputs))
    first = (tf.constant(0), state, stored, bottom, rows(count, outputs[blocks.stored[0] - 1]))
    _, state, stored, bottom, below = tf.while_loop(
        lambda block, *_: block < count, body, first, maximum_iterations=count
    )
    kept = [bottom, *stored] if live == 0 else stored
    return [Stored(*(array.stack() for array in arrays)) for arrays in kept], below.stack(), state


def _stored_run(
    blocks: Blocks, turns: Turns, embedding: Embedding, time: tf.Tensor, state: State, arrays: Any
) -> tuple[State, Any]:
    """Layer 0's steps of a block, stored."""
    first = time - blocks.span.start

    def body(place, c, h, arrays):
        now = State([c, *state.c[1:]], [h, *state.h[1:]], state.held)
        gates, now = turns.take_bottom(embedding(time + place), now)
        return place + 1, now.c[0], now.h[0], _write(arrays, first + place, gates, now, 0)

    start = (tf.constant(0), state.c[0], state.h[0], arrays)
    _, c, h, arrays = tf.while_loop(
        lambda place, *_: place < blocks.length, body, start, maximum_iterations=blocks.length
    )
    return State([c, *state.c[1:]], [h, *state.h[1:]], state.held), arrays


def _room(count: int, cell: tf.Tensor) -> Any:
    return rows(count, cell, 4 * cell.shape[1]), rows(count, cell), rows(count, cell)


def _write(arrays: Any, place: tf.Tensor, gates: tf.Tensor, state: State, layer: int) -> Any:
    return tuple(
        array.write(place, value) for array, value in zip(arrays, (gates, state.c[layer], state.h[layer]), strict=True)
    )


class Gradients(NamedTuple):
    """On the way back, for the live layers: gradients of c, of h, and of what is held (none is held by the top
    layer).
    """

    c: Flow
    h: Flow
    held: Flow


def _backward(
    blocks: Blocks,
    weights: Sequence[Weights],
    activation: Activation,
    stored: list[Stored],
    cells: Flow,
    d_shown: Flow,
    d_c: Flow,
    d_h: Flow,
) -> tuple[Flow, Flow, Flow]:
    """Gradients of all pre-activations of the live layers, as they are stored, and of their c and h before the span."""
    live = blocks.span.live
    near = [tf.transpose(weight.near) for weight in weights[live:]]
    above = [tf.transpose(weight.above) for weight in weights[live:-1]]
    cells_before = [before(cell, layer.cells) for cell, layer in zip(cells, stored, strict=True)]
    back = Returns(blocks, near, above, activation, stored, cells_before)

    def body(number, gradients, d_bottom, d_upper):
        block = blocks.count - 1 - number
        if live == 0:
            later = [d + shown[block] for d, shown in zip(gradients.h[1:], d_shown[1:], strict=True)]
            gradients = gradients._replace(h=[gradients.h[0], *later])
            gradients, d_bottom = back.stored_run(block, gradients, d_shown[0], d_bottom)
        for place, layer in enumerate(blocks.stored):
            d_gates, gradients = back.take_if_due(layer, block, gradients)
            d_upper[place] = d_upper[place].write(block, d_gates)
        return number + 1, back.recut(block, gradients), d_bottom, d_upper

    held = [tf.zeros_like(layer.gates[0]) for layer in stored[:-1]]
    d_upper = [rows(blocks.count, cells[layer - live], stored[layer - live].gates.shape[2]) for layer in blocks.stored]
    d_bottom = [rows(blocks.count * blocks.length, cells[0], stored[0].gates.shape[2])] if live == 0 else []
    first = (tf.constant(0), Gradients(list(d_c), list(d_h), held), d_bottom, d_upper)
    _, gradients, d_bottom, d_upper = tf.while_loop(
        lambda number, *_: number < blocks.count, body, first, maximum_iterations=blocks.count
    )
    for place, matrix in enumerate(above):
        gradients.h[place + 1] += tf.matmul(gradients.held[place], matrix)
    return [array.stack() for array in [*d_bottom, *d_upper]], gradients.c, gradients.h


class Returns:
    """The layers' turns on the way back."""

    def __init__(
        self, blocks: Blocks, near: Flow, above: Flow, activation: Activation, stored: list[Stored], cells_before: Flow
    ):
        self._blocks, self._near, self._above, self._activation = blocks, near, above, activation
        self._stored, self._cells_before = stored, cells_before

    def take(self, layer: int, place: tf.Tensor, gradients: Gradients) -> tuple[tf.Tensor, Gradients]:
        """The gradient of the pre-activations of the layer's update, and the gradients before that update."""
        at = layer - self._blocks.span.live
        c, h, held = (list(flow) for flow in gradients)
        if at > 0:
            h[at] += tf.matmul(held[at - 1], self._above[at - 1])
            held[at - 1] = tf.zeros_like(held[at - 1])
        d_gates, c[at] = step_gradient(
            self._stored[at].gates[place], self._cells_before[at][place], c[at], h[at], self._activation
        )
        d_near = tf.matmul(d_gates, self._near[at])
        units = h[at].shape[1]
        h[at] = d_near[:, :units]
        if at > 0:
            h[at - 1] += d_near[:, units:]
        if at < len(held):
            held[at] += d_gates
        return d_gates, Gradients(c, h, held)

    def take_if_due(self, layer: int, block: tf.Tensor, gradients: Gradients) -> tuple[tf.Tensor, Gradients]:
        if self._blocks.always_due(layer):
            return self.take(layer, block, gradients)
        idle = tf.zeros_like(self._stored[layer - self._blocks.span.live].gates[0])
        due = self._time(block) % self._blocks.schedule.intervals[layer] == 0
        return tf.cond(due, lambda: self.take(layer, block, gradients), lambda: (idle, gradients))

    def stored_run(
        self, block: tf.Tensor, gradients: Gradients, d_shown: tf.Tensor, arrays: list[tf.TensorArray]
    ) -> tuple[Gradients, list[tf.TensorArray]]:
        """Layer 0's steps of a block, the last one first."""
        length = self._blocks.length

        def body(number, c, h, held, array):
            place = block * length + length - 1 - number
            before_step = Gradients(
                [c, *gradients.c[1:]], [h + d_shown[place], *gradients.h[1:]], [held, *gradients.held[1:]]
            )
            d_gates, after = self.take(0, place, before_step)
            return number + 1, after.c[0], after.h[0], after.held[0], array.write(place, d_gates)

        start = (tf.constant(0), gradients.c[0], gradients.h[0], gradients.held[0], arrays[0])
        _, c, h, held, array = tf.while_loop(lambda number, *_: number < length, body, start, maximum_iterations=length)
        return Gradients([c, *gradients.c[1:]], [h, *gradients.h[1:]], [held, *gradients.held[1:]]), [array]

    def recut(self, block: tf.Tensor, gradients: Gradients) -> Gradients:
        """Nothing passes a run start that is too early for a layer; see schedule.py."""
        schedule, time = self._blocks.schedule, self._time(block)
        if self._blocks.span.live > 0 or self._blocks.span != schedule.spans[-1]:
            return gradients
        c, h = list(gradients.c), list(gradients.h)
        for layer in filter(schedule.recut, range(schedule.layer_count)):
            stop = (time % schedule.run_length == 0) & (time <= schedule.boundary_steps[layer])
            c[layer], h[layer] = (tf.where(stop, tf.zeros_like(value), value) for value in (c[layer], h[layer]))
        return gradients._replace(c=c, h=h)

    def _time(self, block: tf.Tensor) -> tf.Tensor:
        return self._blocks.span.start + block * self._blocks.length


def _weight_gradients(
    blocks: Blocks, stored: list[Stored], below: tf.Tensor, outputs: Flow, d_gates: Flow
) -> list[Weights]:
    """Each matrix's gradient as one product over all turns of its layer."""
    live = blocks.span.live
    gradients = []
    for at, (layer, d_layer) in enumerate(zip(stored, d_gates, strict=True)):
        earlier, above = before(outputs[at], layer.outputs), stored[at + 1].outputs if at + 1 < len(stored) else None
        if at + live == 0:
            by_run = tf.reduce_sum(tf.reshape(d_layer, [blocks.count, blocks.length, *d_layer.shape[1:]]), axis=1)
            gradients.append(
                Weights(outer_sum(earlier, d_layer), outer_sum(above, by_run), tf.reduce_sum(by_run, [0, 1]))
            )
            continue
        under = below if at + live == blocks.stored[0] else before(outputs[at - 1], stored[at - 1].outputs)
        due = blocks.due(at + live)
        d_due, near = _only(d_layer, due), _only(tf.concat([earlier, under], axis=-1), due)
        d_above = None if above is None else outer_sum(_only(above, due), d_due)
        gradients.append(Weights(outer_sum(near, d_due), d_above, tf.reduce_sum(d_due, [0, 1])))
    return gradients


def _only(values: tf.Tensor, places: list[int]) -> tf.Tensor:
    return values if len(places) == values.shape[0] else tf.gather(values, tf.constant(places, tf.int32))
