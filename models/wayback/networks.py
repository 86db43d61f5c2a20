"""The feed-forward networks around the recurrent layers: symbols to embeddings, and the layers' outputs to logits."""

from collections.abc import Sequence
from itertools import pairwise

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

    def __call__(self, hidden: Hidden) -> tf.Tensor:
        """Logits [steps, batch, symbols]."""
        shift = tf.convert_to_tensor(self._shift)
        chain = [*self._network.matrices(), (tf.convert_to_tensor(self._matrix), lambda product: product + shift)]
        (first, finish), *rest = chain
        values = finish(self._product(hidden, first))
        for matrix, finish in rest:
            values = finish(multiply(values, matrix))
        return values

    def _product(self, hidden: Hidden, matrix: tf.Tensor) -> tf.Tensor:
        """All layers side by side through the matrix; what holds for several steps is multiplied once."""
        rows = tf.split(matrix, self._layer_sizes)
        products: dict[int, tf.Tensor] = {}
        for output, hold, part in zip(hidden.outputs, hidden.holds, rows, strict=True):
            product = multiply(output, part)
            products[hold] = products[hold] + product if hold in products else product
        return tf.add_n(
            [product if hold == 1 else tf.repeat(product, hold, axis=0) for hold, product in products.items()]
        )


def _elu_after(finish: Projection) -> Projection:
    return lambda product: tf.nn.elu(finish(product))
