"""The feed-forward networks around the recurrent layers: symbols to embeddings, and the layers' outputs to logits."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import tensorflow as tf

from models.wayback.connections import Hidden
from models.wayback.terms import NormalisedTerms, Projection, Terms, multiply
from models.wayback.variables import Variables


class Network:
    """Layers of ELU units, one on the other; ELU whatever the cells' activation is."""

    def __init__(self, scope: str, input_size: int, sizes: Sequence[int], use_bn: bool, variables: Variables):
        kind = NormalisedTerms if use_bn else Terms
        widths = [input_size, *sizes]
        self._layers = [
            kind(f"{scope}/{n}/project_terms", [width], units, variables)
            for n, (width, units) in enumerate(pairwise(widths))
        ]
        self.output_size = widths[-1]

    def matrices(self) -> list[tuple[tf.Tensor, Projection]]:
        """For each layer the matrix, and what is done with the product."""
        bound = [layer.bind_one() for layer in self._layers]
        return [(matrix, _elu_after(finish)) for matrix, finish in bound]

    def __call__(self, values: tf.Tensor) -> tf.Tensor:
        for matrix, finish in self.matrices():
            values = finish(multiply(values, matrix))
        return values


class Logits:
    """The output network and an affine map, from the outputs of all recurrent layers to a logit for each symbol."""

    def __init__(
        self, layer_sizes: Sequence[int], sizes: Sequence[int], use_bn: bool, data_dim: int, variables: Variables
    ):
        self._layer_sizes = list(layer_sizes)
        self._network = Network("xhat/layers", sum(layer_sizes), sizes, use_bn, variables)
        self._matrix = variables.matrix("xhat/project/w", self._network.output_size, data_dim)
        self._shift = variables.vector("xhat/project/beta", data_dim, 0.0)

    def bind(self) -> "BoundLogits":
        shift = tf.convert_to_tensor(self._shift)
        chain = [*self._network.matrices(), (tf.convert_to_tensor(self._matrix), lambda product: product + shift)]
        (first, finish), *rest = chain
        return BoundLogits(tf.split(first, self._layer_sizes), finish, rest)

    def __call__(self, hidden: Hidden) -> tf.Tensor:
        """Logits [steps, batch, symbols]."""
        bound = self.bind()
        return bound.finish(bound.product(hidden))


class BoundLogits(NamedTuple):
    """The output network whose matrices were read.

    Attributes:
        rows: The first matrix, in the parts that belong to each recurrent layer.
        after_first: What is done with the sum of their products.
        rest: For each further layer its matrix, and what is done with the product.
    """

    rows: list[tf.Tensor]
    after_first: Projection
    rest: list[tuple[tf.Tensor, Projection]]

    def product(self, hidden: Hidden) -> tf.Tensor:
        """All layers side by side through the first matrix; what holds for several steps is multiplied once."""
        products: dict[int, tf.Tensor] = {}
        for output, hold, part in zip(hidden.outputs, hidden.holds, self.rows, strict=True):
            product = multiply(output, part)
            products[hold] = products[hold] + product if hold in products else product
        spread = (product if hold == 1 else tf.repeat(product, hold, axis=0) for hold, product in products.items())
        return tf.add_n(list(spread))

    def finish(self, product: tf.Tensor) -> tf.Tensor:
        """The logits, from what `product` gives."""
        values = self.after_first(product)
        for matrix, finish in self.rest:
            values = finish(multiply(values, matrix))
        return values


def _elu_after(finish: Projection) -> Projection:
    return lambda product: tf.nn.elu(finish(product))
