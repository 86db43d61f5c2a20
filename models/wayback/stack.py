"""Layout `stack`: every layer at every step, bottom to top."""

from functools import partial

import tensorflow as tf

from models.wayback import lstm
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
from models.wayback.schedule import Schedule
from models.wayback.terms import Projection, multiply
from models.wayback.variables import Variables


class Stack:
    """Recurrent layers on top of each other. The time plays no part; a segment is never truncated inside."""

    def __init__(self, settings: LayerSettings, schedule: Schedule, variables: Variables):
        self.schedule = schedule
        self.layers = RecurrentLayers(settings, sees_above=False, variables=variables)

    def bind(self) -> list[BoundLayer]:
        return self.layers.bind()

    def embedding_projection(self, bound: list[BoundLayer]) -> Projection:
        """Layer 0's projection of embeddings."""
        return bound[0].inputs[EMBEDDING]

    def step(self, bound: list[BoundLayer], time: tf.Tensor, driver: Driver, layers: Layers) -> Layers:
        """The state after one step; layers below show their new outputs, with vskip those above their old ones."""
        updated = list(layers)
        for index, layer in enumerate(bound):
            values = outputs_of(tuple(updated))
            if CONTEXT in layer.inputs:
                values[CONTEXT] = driver.context(time)
            projected = {EMBEDDING: driver.embedding.at(time)} if index == 0 else {}
            updated[index] = layer.step(values, projected, updated[index])
        return tuple(updated)

    def unroll(self, bound: list[BoundLayer], driver: Driver, layers: Layers, steps: int) -> tuple[Hidden, Layers]:
        """The outputs of all layers at steps 0 to `steps` - 1, and the state after them."""
        embedding = driver.embedding.between(0, steps)
        inside = Driver(Ready(embedding), driver.context)

        def body(time, state, arrays):
            state = self.step(bound, time, inside, state)
            return time + 1, state, [array.write(time, output[-1]) for array, output in zip(arrays, state, strict=True)]

        arrays = [tf.TensorArray(embedding.dtype, size=steps, element_shape=state[-1].shape) for state in layers]
        _, layers, arrays = tf.while_loop(
            lambda time, *_: time < steps, body, (tf.constant(0), layers, arrays), maximum_iterations=steps
        )
        return Hidden([array.stack() for array in arrays], [1] * len(bound)), layers

    def truncated(self, bound: list[BoundLayer], driver: Driver, layers: Layers) -> tuple[Hidden, Layers]:
        """A training segment: the outputs at the steps that count, which are all, and the state after it."""
        return self.unroll(bound, driver, layers, self.schedule.step_count)

    def generate(
        self, bound: list[BoundLayer], loop: Generation, first: tf.Tensor, time: tf.Tensor, layers: Layers
    ) -> tuple[tf.Tensor, Layers]:
        """The symbols drawn [steps, batch], and the state that has seen all of them but the last."""
        return generate_by_steps(partial(self.step, bound), loop, first, time, layers)


class LstmStack(Stack):
    """The same for plain LSTMs, layer after layer over the whole segment, which gives the same numbers faster."""

    def unroll(self, bound: list[BoundLayer], driver: Driver, layers: Layers, steps: int) -> tuple[Hidden, Layers]:
        projected = driver.embedding.between(0, steps)
        outputs, last = [], []
        for cell, (c, h) in zip(self.layers.cells, layers, strict=True):
            (own, *below), shift = cell.gates.parts()
            if outputs:
                projected = multiply(outputs[-1], below[0])
            output, c = lstm.unroll(projected, lstm.forget_more(shift), own, c, h, cell.activation)
            outputs.append(output)
            last.append((c, output[-1]))
        return Hidden(outputs, [1] * len(outputs)), tuple(last)
