"""LSTM layers at their own paces on the way forward: one turn of a layer, and of all below it.

What the output of a layer above adds to the pre-activations is computed once, where that layer is updated, and held.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import tensorflow as tf

from models.wayback.cells import Activation
from models.wayback.lstm import Weights, step
from models.wayback.schedule import Schedule

Flow = list[tf.Tensor]
"""Tensors of all layers, bottom to top."""

Embedding = Callable[[tf.Tensor], tf.Tensor]
"""Layer 0's projection of the embedding of a step, without the shift [batch, 4 * units]."""


class State(NamedTuple):
    """For all layers: c, h, and the shift with what the layer above adds to it, held until that one's
    next turn.
    """

    c: Flow
    h: Flow
    held: Flow


def held_by(weights: Sequence[Weights], outputs: Flow) -> Flow:
    """For each layer the shift and what the layer above adds to it."""
    return [
        weight.shift if weight.above is None else weight.shift + tf.matmul(outputs[layer + 1], weight.above)
        for layer, weight in enumerate(weights)
    ]


class Turns:
    """The layers' turns on the way forward."""

    def __init__(self, schedule: Schedule, weights: Sequence[Weights], activation: Activation):
        self._schedule, self._weights, self._activation = schedule, weights, activation

    def take_bottom(self, embedding: tf.Tensor, state: State) -> tuple[tf.Tensor, State]:
        """The gates' values and the state after layer 0's update with the projection of an embedding."""
        preactivation = embedding + state.held[0] + tf.matmul(state.h[0], self._weights[0].near)
        gates, c, h = step(preactivation, state.c[0], self._activation)
        return gates, State([c, *state.c[1:]], [h, *state.h[1:]], state.held)

    def take(self, layer: int, state: State) -> tuple[tf.Tensor, State]:
        """The gates' values and the state after the update of a layer above the bottom."""
        c, h, held = (list(flow) for flow in state)
        near = tf.concat([h[layer], h[layer - 1]], axis=-1)
        preactivation = held[layer] + tf.matmul(near, self._weights[layer].near)
        gates, c[layer], h[layer] = step(preactivation, c[layer], self._activation)
        below = self._weights[layer - 1]
        held[layer - 1] = below.shift + tf.matmul(h[layer], below.above)
        return gates, State(c, h, held)

    def take_if_due(self, layer: int, multiple: int, time: tf.Tensor, state: State) -> tuple[tf.Tensor, State]:
        """As `take` at a time known to be a multiple of a number; without a turn, the gates are zero and the state
        stays.
        """
        interval = self._schedule.intervals[layer]
        if multiple % interval == 0:
            return self.take(layer, state)
        cell = state.c[layer]
        idle = tf.zeros([cell.shape[0], 4 * cell.shape[1]], cell.dtype)
        return tf.cond(time % interval == 0, lambda: self.take(layer, state), lambda: (idle, state))

    def advance(self, layer: int, embedding: Embedding, time: tf.Tensor, state: State) -> State:
        """The layer and those below it until the next turn of the layer above, nothing stored."""
        intervals = self._schedule.intervals
        length = intervals[layer] if layer > 0 else 1
        count = intervals[layer + 1] // length

        def body(number, state):
            now = time + number * length
            if layer == 0:
                return number + 1, self.take_bottom(embedding(now), state)[1]
            return number + 1, self.advance(layer - 1, embedding, now, self.take(layer, state)[1])

        start = (tf.constant(0), state)
        return tf.while_loop(lambda number, _: number < count, body, start, maximum_iterations=count)[1]
