"""Layout `wayback`: each layer at its own pace, updated top to bottom, with gradients truncated layer by layer.

In a step, the layers that are due are updated from the top down: each sees the new outputs of those above and the old
outputs of those below. With `carry` false, a layer starts anew from the layer above (the top one from the context, if
any) in each step in which that one was updated; its own inputs, and those of the layers above, are from before that.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import tensorflow as tf

from models.wayback import lstm
from models.wayback.cells import CellState
from models.wayback.connections import (
    CONTEXT,
    EMBEDDING,
    BoundLayer,
    Driver,
    Hidden,
    Layers,
    LayerSettings,
    Ready,
    RecurrentLayers,
    outputs_of,
)
from models.wayback.generation import Generation, generate_by_steps
from models.wayback.schedule import Schedule, Span
from models.wayback.spans import Blocks, run_span
from models.wayback.terms import BoundTerms, NormalisedTerms, Projection, Terms
from models.wayback.turns import State, Turns, held_by
from models.wayback.variables import Variables


class Bound(NamedTuple):
    """Layers whose matrices were read, and for each the maps that start it anew (none where its state is carried)."""

    layers: list[BoundLayer]
    restarts: list[list[BoundTerms]]


class Wayback:
    """Recurrent layers at their own paces."""

    def __init__(self, settings: LayerSettings, schedule: Schedule, carry: bool, variables: Variables):
        self.schedule = schedule
        self.layers = RecurrentLayers(settings, sees_above=True, variables=variables)
        self._restarts = [
            [] if carry else self._restart_terms(layer, settings, variables) for layer in range(schedule.layer_count)
        ]

    def _restart_terms(
        self, layer: int, settings: LayerSettings, variables: Variables
    ) -> list[Terms] | list[NormalisedTerms]:
        is_top = layer == self.schedule.layer_count - 1
        source_size = settings.context_size if is_top else self.layers.sizes[layer + 1]
        if not source_size:
            return []
        kind = NormalisedTerms if settings.use_bn else Terms
        components = self.layers.cells[layer].components
        return [
            kind(f"reinit_{layer}_{k}", [source_size], self.layers.sizes[layer], variables) for k in range(components)
        ]

    def bind(self) -> Bound:
        return Bound(self.layers.bind(), [[terms.bind() for terms in restart] for restart in self._restarts])

    def embedding_projection(self, bound: Bound) -> Projection:
        """Layer 0's projection of embeddings."""
        return bound.layers[0].inputs[EMBEDDING]

    def step(self, bound: Bound, time: tf.Tensor, driver: Driver, layers: Layers) -> Layers:
        """The state after one step at any time."""
        moment = Moment(time, 1, driver)
        for index in reversed(range(len(layers))):
            layers = self._updated(bound, index, moment, layers)
        return layers

    def _updated(self, bound: Bound, index: int, moment: "Moment", layers: Layers) -> Layers:
        """The state after layer `index` had its turn: updated if it is due, started anew if that is due."""
        restarted = self._restarted(bound, index, moment, layers)

        def update() -> CellState:
            values = outputs_of(layers)
            if CONTEXT in bound.layers[index].inputs:
                values[CONTEXT] = moment.driver.context(moment.time)
            projected = {EMBEDDING: moment.driver.embedding.at(moment.time)} if index == 0 else {}
            return bound.layers[index].step(values, projected, restarted)

        interval = self.schedule.intervals[index] if index > 0 else 1
        return (*layers[:index], moment.where_due(interval, update, restarted), *layers[index + 1 :])

    def _restarted(self, bound: Bound, index: int, moment: "Moment", layers: Layers) -> CellState:
        if not bound.restarts[index]:
            return layers[index]
        is_top = index == len(layers) - 1

        def restart() -> CellState:
            source = moment.driver.context(moment.time) if is_top else layers[index + 1][-1]
            return tuple(tf.nn.elu(terms(source)) for terms in bound.restarts[index])

        return moment.where_due(self.schedule.intervals[index if is_top else index + 1], restart, layers[index])

    def unroll(self, bound: Bound, driver: Driver, layers: Layers, steps: int) -> tuple[Hidden, Layers]:
        """The outputs of all layers at steps 0 to `steps` - 1 from time 0, and the state after them.

        Args:
            steps: A whole number of cycles.
        """
        return self._live_span(bound, driver, layers, Span(0, steps, 0, 0))

    def truncated(self, bound: Bound, driver: Driver, layers: Layers) -> tuple[Hidden, Layers]:
        """A training segment: the outputs at the steps that count, and the state after it.

        The values are those of `unroll`; the gradient is cut as the schedule says. What goes forward only keeps
        nothing.
        """
        *dead, counted = self.schedule.spans
        for span in dead:
            layers = self._dead_span(bound, driver, _stopped(layers, span.cut), span)
        return self._live_span(bound, driver, _stopped(layers, counted.cut), counted)

    def generate(
        self, bound: Bound, loop: Generation, first: tf.Tensor, time: tf.Tensor, layers: Layers
    ) -> tuple[tf.Tensor, Layers]:
        """The symbols drawn [steps, batch] from a time on, and the state that has seen all of them but the last."""
        return generate_by_steps(partial(self.step, bound), loop, first, time, layers)

    def _live_span(self, bound: Bound, driver: Driver, layers: Layers, span: Span) -> tuple[Hidden, Layers]:
        embedding = driver.embedding.between(span.start, span.stop)
        inside = Driver(Ready(embedding, span.start), driver.context)
        run = self._loop_length(span)

        def body(index, state, arrays):
            time = span.start + index * run
            state = self._recut(time, state) if span == self.schedule.spans[-1] else state
            bottom, state = self._run(bound, Moment(time, run, inside), state, span)
            outputs = [bottom, *(upper[-1] for upper in state[1:])]
            return index + 1, state, [array.write(index, output) for array, output in zip(arrays, outputs, strict=True)]

        runs = (span.stop - span.start) // run
        arrays = [tf.TensorArray(embedding.dtype, size=runs) for _ in layers]
        _, layers, arrays = tf.while_loop(
            lambda index, *_: index < runs, body, (tf.constant(0), layers, arrays), maximum_iterations=runs
        )
        bottom, *upper = [array.stack() for array in arrays]
        bottom = tf.reshape(bottom, tf.concat([[runs * run], tf.shape(bottom)[2:]], axis=0))
        return Hidden([bottom, *upper], [1, *([run] * len(upper))]), layers

    def _dead_span(self, bound: Bound, driver: Driver, layers: Layers, span: Span) -> Layers:
        run = self._loop_length(span)

        def body(index, state):
            time = span.start + index * run
            _, state = self._run(bound, Moment(time, run, driver), state, span)
            return index + 1, state

        runs = (span.stop - span.start) // run
        return tf.while_loop(lambda index, _: index < runs, body, (tf.constant(0), layers), maximum_iterations=runs)[1]

    def _loop_length(self, span: Span) -> int:
        """Steps of layer 0 in which no other layer changes."""
        if self.schedule.layer_count > 1:
            return self.schedule.intervals[1]
        return self.schedule.intervals[0] if self._restarts[0] else span.stop - span.start

    def _run(self, bound: Bound, moment: "Moment", layers: Layers, span: Span) -> tuple[tf.Tensor, Layers]:
        """The upper layers' turn, then layer 0's steps until their next one; what is not live in the span gets no
        gradient.
        """
        for index in reversed(range(1, len(layers))):
            layers = _stopped(self._updated(bound, index, moment, layers), span.live)
        bottom, layers = self._bottom_run(bound, moment, layers)
        return bottom, _stopped(layers, span.live)

    def _recut(self, time: tf.Tensor, layers: Layers) -> Layers:
        """Cuts inner layers that reach back less far than to the first counted step, at each run start that is too
        early for them.
        """
        at_run_start = time % self.schedule.run_length == 0
        return tuple(
            tuple(_stop_where(at_run_start & (time <= self.schedule.boundary_steps[index]), value) for value in state)
            if self.schedule.recut(index)
            else state
            for index, state in enumerate(layers)
        )

    def _bottom_run(self, bound: Bound, moment: "Moment", layers: Layers) -> tuple[tf.Tensor, Layers]:
        """Layer 0's outputs over steps in which no other layer changes, and the state after them."""
        bottom = bound.layers[0]
        held = {
            source: bottom.inputs[source](value)
            for source, value in outputs_of(layers).items()
            if source in bottom.inputs
        }
        restarted = self._restarted(bound, 0, moment, layers)

        def body(step, state, array):
            time = moment.time + step
            projected = {EMBEDDING: moment.driver.embedding.at(time), **held}
            if CONTEXT in bottom.inputs:
                projected[CONTEXT] = bottom.inputs[CONTEXT](moment.driver.context(time))
            state = bottom.step({}, projected, state)
            return step + 1, state, array.write(step, state[-1])

        array = tf.TensorArray(restarted[-1].dtype, size=moment.multiple, element_shape=restarted[-1].shape)
        _, state, array = tf.while_loop(
            lambda step, *_: step < moment.multiple,
            body,
            (tf.constant(0), restarted, array),
            maximum_iterations=moment.multiple,
        )
        return array.stack(), (state, *layers[1:])


class LstmWayback(Wayback):
    """The same for plain LSTMs that carry their state, with a gradient of its own, which gives the same numbers
    faster.
    """

    def unroll(self, bound: Bound, driver: Driver, layers: Layers, steps: int) -> tuple[Hidden, Layers]:
        return self._lstm_span(driver, layers, Span(0, steps, 0, 0), self._weights())

    def truncated(self, bound: Bound, driver: Driver, layers: Layers) -> tuple[Hidden, Layers]:
        weights = self._weights()
        for span in self.schedule.spans:
            hidden, layers = self._lstm_span(driver, _stopped(layers, span.cut), span, weights)
        return hidden, layers

    def generate(
        self, bound: Bound, loop: Generation, first: tf.Tensor, time: tf.Tensor, layers: Layers
    ) -> tuple[tf.Tensor, Layers]:
        weights, cells, outputs = self._weights(), [c for c, _ in layers], [h for _, h in layers]
        turns = Turns(self.schedule, weights, self.layers.cells[0].activation)
        rows = loop.logits.rows

        def upper_turns(now, state):
            for layer in reversed(range(1, len(weights))):
                _, state = turns.take_if_due(layer, self.schedule.intervals[1], now, state)
            return state, _shown(state.h, rows)

        def advance(step, embedding, carried):
            if len(weights) > 1:
                due = (time + step) % self.schedule.intervals[1] == 0
                carried = tf.cond(due, lambda: upper_turns(time + step, carried[0]), lambda: carried)
            state, shown = carried
            _, state = turns.take_bottom(embedding, state)
            return tf.matmul(state.h[0], rows[0]) + shown, (state, shown)

        state = State(cells, outputs, held_by(weights, outputs))
        drawn, (state, _) = loop.run(advance, first, (state, _shown(outputs, rows)))
        return drawn, tuple(zip(state.c, state.h, strict=True))

    def _lstm_span(
        self, driver: Driver, layers: Layers, span: Span, weights: list[lstm.Weights]
    ) -> tuple[Hidden, Layers]:
        """A span; the outputs are those of a live one."""
        cells, outputs = [c for c, _ in layers], [h for _, h in layers]
        activation = self.layers.cells[0].activation
        embedding = driver.embedding.at if span.live else driver.embedding.between(span.start, span.stop)
        if len(layers) == 1:
            output, c = lstm.unroll(embedding + weights[0].shift, weights[0].near, cells[0], outputs[0], activation)
            return Hidden([output], [1]), ((c, output[-1]),)
        blocks = Blocks.of(self.schedule, span)
        shown, cells, outputs = run_span(blocks, weights, activation, embedding, cells, outputs)
        holds = [1, *([blocks.length] * (len(layers) - 1))]
        return Hidden(shown, holds[: len(shown)]), tuple(zip(cells, outputs, strict=True))

    def _weights(self) -> list[lstm.Weights]:
        weights = []
        for layer, cell in enumerate(self.layers.cells):
            matrix, shift = cell.gates.whole()
            above = self.layers.sizes[layer + 1] if layer + 1 < len(self.layers.cells) else 0
            inputs = self.layers.settings.embedding_size if layer == 0 else 0
            own_and_below, _, from_above = tf.split(matrix, [matrix.shape[0] - inputs - above, inputs, above])
            weights.append(lstm.Weights(own_and_below, from_above if above else None, lstm.forget_more(shift)))
        return weights


class Moment(NamedTuple):
    """A time that is known to be a multiple of `multiple`, and what drives the layers then."""

    time: tf.Tensor
    multiple: int
    driver: Driver

    def where_due(self, interval: int, new: Callable[[], CellState], old: CellState) -> CellState:
        """`new()` if the time is a multiple of the interval, else `old`."""
        if self.multiple % interval == 0:
            return new()
        return tf.cond(self.time % interval == 0, new, lambda: old)


def _shown(outputs: list[tf.Tensor], rows: list[tf.Tensor]) -> tf.Tensor:
    """What the layers above the bottom one add to the output network's first product."""
    nothing = tf.zeros([outputs[0].shape[0], rows[0].shape[1]], rows[0].dtype)
    return tf.add_n([nothing, *(tf.matmul(output, part) for output, part in zip(outputs[1:], rows[1:], strict=True))])


def _stopped(layers: Layers, below: int) -> Layers:
    return tuple(
        tuple(tf.stop_gradient(value) for value in state) if index < below else state
        for index, state in enumerate(layers)
    )


@tf.custom_gradient
def _stop_where(stop: tf.Tensor, value: tf.Tensor):
    return tf.identity(value), lambda gradient: (None, tf.where(stop, tf.zeros_like(gradient), gradient))
