"""Sampling: a loop in which each symbol that was drawn is the input of the next step."""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from models.wayback.connections import Driver, Hidden, Layers, Present
from models.wayback.networks import BoundLogits


class Generation(NamedTuple):
    """What a sampling loop does besides the recurrent layers.

    Attributes:
        embed: Symbols [batch] -> layer 0's projections of their embeddings [batch, width].
        logits: From the layers' outputs to logits.
        choose: `(step, logits [batch, symbols])` -> the symbols drawn [batch].
        steps: Symbols to draw.
    """

    embed: Callable[[tf.Tensor], tf.Tensor]
    logits: BoundLogits
    choose: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
    steps: int

    def run(
        self, advance: Callable[..., tuple[tf.Tensor, tuple]], first: tf.Tensor, carried: tuple
    ) -> tuple[tf.Tensor, tuple]:
        """Draws symbol after symbol.

        Args:
            advance: `(step, projected embedding, carried)` -> what `BoundLogits.product` gives [batch, width], and what
                is carried.
            first: The first input [batch].
            carried: Nested tensors.

        Returns:
            The symbols [steps, batch], and what is carried after the last step.
        """

        def body(step, symbols, carried, drawn):
            product, carried = advance(step, self.embed(symbols), carried)
            symbols = self.choose(step, self.logits.finish(product))
            return step + 1, symbols, carried, drawn.write(step, symbols)

        drawn = tf.TensorArray(tf.int32, size=self.steps, element_shape=first.shape)
        _, _, carried, drawn = tf.while_loop(
            lambda step, *_: step < self.steps,
            body,
            (tf.constant(0), first, carried, drawn),
            maximum_iterations=self.steps,
        )
        return drawn.stack(), carried


def generate_by_steps(
    take_step: Callable[[tf.Tensor, Driver, Layers], Layers],
    loop: Generation,
    first: tf.Tensor,
    time: tf.Tensor,
    layers: Layers,
) -> tuple[tf.Tensor, Layers]:
    """Samples with any layers, step by step from a time on; `take_step(time, driver, layers)` gives their new state."""

    def advance(step, embedding, layers):
        layers = take_step(time + step, Driver(Present(embedding), None), layers)
        outputs = [layer[-1][None] for layer in layers]
        return loop.logits.product(Hidden(outputs, [1] * len(outputs)))[0], layers

    return loop.run(advance, first, layers)
