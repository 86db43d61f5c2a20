"""What feeds what: the inputs of every layer, and the layers bound for use in loops."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import tensorflow as tf

from models.wayback.cells import CELLS, CellSettings, CellState
from models.wayback.terms import Projection
from models.wayback.variables import Variables

EMBEDDING = "embedding"
CONTEXT = "context"
Source = str | int
Layers = tuple[CellState, ...]


class Embeddings(Protocol):
    """Layer 0's projections of the embeddings of a segment's steps."""

    def at(self, time: tf.Tensor) -> tf.Tensor:
        """Of one step [batch, width]."""

    def between(self, start: int, stop: int) -> tf.Tensor:
        """Of the steps start <= t < stop [steps, batch, width]."""


class Ready(NamedTuple):
    """Embeddings of which the projections are known, from step `start` on: `values` [steps, batch, width]."""

    values: tf.Tensor
    start: int = 0

    def at(self, time: tf.Tensor) -> tf.Tensor:
        return self.values[time - self.start]

    def between(self, start: int, stop: int) -> tf.Tensor:
        return self.values[start - self.start : stop - self.start]


class Present(NamedTuple):
    """The embedding of the one step that is taken, whatever its time: its projection [batch, width]."""

    value: tf.Tensor

    def at(self, time: tf.Tensor) -> tf.Tensor:
        return self.value

    def between(self, start: int, stop: int) -> tf.Tensor:
        return self.value[None]


class Driver(NamedTuple):
    """What drives the layers from outside.

    Attributes:
        embedding: The steps' inputs.
        context: `time` -> the context at a step [batch, features]; None without one.
    """

    embedding: Embeddings
    context: Callable[[tf.Tensor], tf.Tensor] | None


class Hidden(NamedTuple):
    """The outputs of all layers over a number of steps, time first.

    Attributes:
        outputs: One tensor a layer [steps / hold, batch, units].
        holds: For how many steps each entry of a layer holds.
    """

    outputs: list[tf.Tensor]
    holds: list[int]


class BoundLayer(NamedTuple):
    """A layer whose matrices were read: a projection for each source, and the update."""

    inputs: dict[Source, Projection]
    update: Callable[[tf.Tensor, CellState], CellState]

    def step(
        self, values: Mapping[Source, tf.Tensor], projected: Mapping[Source, tf.Tensor], state: CellState
    ) -> CellState:
        """The new state, of sources as they are (`values`) and sources that were projected before."""
        parts = [
            projected[source] if source in projected else project(values[source])
            for source, project in self.inputs.items()
        ]
        return self.update(tf.add_n(parts), state)


class LayerSettings(NamedTuple):
    """The recurrent layers, bottom to top."""

    cell: str
    layer_sizes: Sequence[int]
    activation: str
    use_bn: bool
    vskip: bool
    embedding_size: int
    context_size: int


class RecurrentLayers:
    """The cells of all layers, and where each gets its inputs from."""

    def __init__(self, settings: LayerSettings, sees_above: bool, variables: Variables):
        self.settings = settings
        self.sizes = tuple(settings.layer_sizes)
        self.sources = [_sources(layer, settings, sees_above) for layer in range(len(self.sizes))]
        self.cells = [
            CELLS[settings.cell](f"cell{layer}", self._cell_settings(layer), variables)
            for layer in range(len(self.sizes))
        ]

    def bind(self) -> list[BoundLayer]:
        bound = [cell.bind() for cell in self.cells]
        return [
            BoundLayer(dict(zip(sources, cell.inputs, strict=True)), cell.update)
            for sources, cell in zip(self.sources, bound, strict=True)
        ]

    def initial_state(self, batch_size: int, dtype: tf.DType) -> Layers:
        """All zeros."""
        components = CELLS[self.settings.cell].components
        return tuple((tf.zeros([batch_size, size], dtype),) * components for size in self.sizes)

    def _cell_settings(self, layer: int) -> CellSettings:
        special = {EMBEDDING: self.settings.embedding_size, CONTEXT: self.settings.context_size}
        sizes = [special[source] if source in special else self.sizes[source] for source in self.sources[layer]]
        return CellSettings(sizes, self.sizes[layer], self.settings.activation, self.settings.use_bn)


def outputs_of(layers: Layers) -> dict[Source, tf.Tensor]:
    """What each layer shows to the others: the last component of its state."""
    return {layer: state[-1] for layer, state in enumerate(layers)}


def _sources(layer: int, settings: LayerSettings, sees_above: bool) -> list[Source]:
    top = len(settings.layer_sizes) - 1
    outside: list[Source] = [EMBEDDING] if layer == 0 else []
    if layer == top and settings.context_size:
        outside.append(CONTEXT)
    if settings.vskip:
        return [*outside, *(other for other in range(top + 1) if other != layer)]
    below: list[Source] = [layer - 1] if layer > 0 else []
    above: list[Source] = [layer + 1] if sees_above and layer < top else []
    return [*outside, *below, *above]
