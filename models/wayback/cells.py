"""The recurrent cells: LSTM, GRU, plain RNN and the authors' residual RNN.

A cell is bound once before a loop. It then has one projection an input (`inputs`), whose results are summed by the
caller, so that what does not change inside a loop is projected outside of it; and `update`, which makes the new state
of that sum and the old state. The state is a tuple of [batch, units] tensors; its last component is the layer's output.
With batch norm the normalised c (LSTM) or h (GRU) is also what is carried.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import tensorflow as tf

from models.wayback.terms import BatchNorm, BoundTerms, NormalisedTerms, Projection, Terms
from models.wayback.variables import Variables

CellState = tuple[tf.Tensor, ...]


class Activation(NamedTuple):
    """A nonlinearity, and its slope as a function of its value."""

    value: Callable[[tf.Tensor], tf.Tensor]
    slope: Callable[[tf.Tensor], tf.Tensor]


ACTIVATIONS = {
    "tanh": Activation(tf.tanh, lambda value: 1 - value * value),
    "elu": Activation(tf.nn.elu, lambda value: tf.minimum(value, 0) + 1),
    "identity": Activation(tf.identity, tf.ones_like),
}


class BoundCell(NamedTuple):
    """A cell whose matrices were read: `inputs` [..., size] -> [..., width], `update(sum, state)` -> state."""

    inputs: list[Projection]
    update: Callable[[tf.Tensor, CellState], CellState]


class CellSettings(NamedTuple):
    """What a cell is made of.

    Attributes:
        input_sizes: Sizes of the inputs besides the cell's own output.
        units: Size of each component of the state.
        activation: "tanh", "elu" or "identity".
        use_bn: Batch norm of every product and of the carried state.
    """

    input_sizes: Sequence[int]
    units: int
    activation: str
    use_bn: bool


class Lstm:
    """Long short-term memory; the state is (c, h). One is added to the forget gate's pre-activation, besides the
    shift.
    """

    components = 2

    def __init__(self, scope: str, settings: CellSettings, variables: Variables):
        self.gates = _terms(settings)(
            f"{scope}/ijfo", [settings.units, *settings.input_sizes], 4 * settings.units, variables
        )
        self.activation = ACTIVATIONS[settings.activation]
        self._norm = BatchNorm(f"{scope}/c", settings.units, variables) if settings.use_bn else None

    def bind(self) -> BoundCell:
        (own, *inputs), shift = self.gates.bind()
        normalise = self._norm.bind() if self._norm else tf.identity

        def update(projected: tf.Tensor, state: CellState) -> CellState:
            c, h = state
            i, j, f, o = tf.split(projected + own(h) + shift, 4, axis=-1)
            c = normalise(tf.sigmoid(f + 1) * c + tf.sigmoid(i) * self.activation.value(j))
            return c, tf.sigmoid(o) * self.activation.value(c)

        return BoundCell(inputs, update)


class Gru:
    """Gated recurrent unit as the authors have it: the update gate, too, sees r * h, and r starts low (minus one)."""

    components = 1

    def __init__(self, scope: str, settings: CellSettings, variables: Variables):
        sizes = [settings.units, *settings.input_sizes]
        self._units = settings.units
        self._reset = _terms(settings)(f"{scope}/r", sizes, settings.units, variables)
        self._rest = _terms(settings)(f"{scope}/gz", sizes, 2 * settings.units, variables)
        self._activation = ACTIVATIONS[settings.activation].value
        self._norm = BatchNorm(f"{scope}/h", settings.units, variables) if settings.use_bn else None

    def bind(self) -> BoundCell:
        (own_reset, *reset_inputs), reset_shift = self._reset.bind()
        (own_rest, *rest_inputs), rest_shift = self._rest.bind()
        normalise = self._norm.bind() if self._norm else tf.identity

        def update(projected: tf.Tensor, state: CellState) -> CellState:
            (h,) = state
            for_reset, for_rest = tf.split(projected, [self._units, 2 * self._units], axis=-1)
            r = tf.sigmoid(for_reset + own_reset(h) + reset_shift - 1)
            g, z = tf.split(for_rest + own_rest(r * h) + rest_shift, 2, axis=-1)
            z = tf.sigmoid(z)
            return (normalise((1 - z) * h + z * self._activation(g)),)

        return BoundCell([_side_by_side(*both) for both in zip(reset_inputs, rest_inputs, strict=True)], update)


class Rnn:
    """h = activation(all inputs and h through one map)."""

    components = 1

    def __init__(self, scope: str, settings: CellSettings, variables: Variables):
        sizes = [settings.units, *settings.input_sizes]
        self._terms = _terms(settings)(f"{scope}/project_terms", sizes, settings.units, variables)
        self._activation = ACTIVATIONS[settings.activation].value

    def bind(self) -> BoundCell:
        (own, *inputs), shift = self._terms.bind()

        def update(projected: tf.Tensor, state: CellState) -> CellState:
            return (self._activation(projected + own(state[0]) + shift),)

        return BoundCell(inputs, update)


class Rrnn:
    """The authors' residual cell: h moves by a gated, projected step."""

    components = 1

    def __init__(self, scope: str, settings: CellSettings, variables: Variables):
        sizes = [settings.units, *settings.input_sizes]
        self._gate = _terms(settings)(f"{scope}/ig", sizes, 2 * settings.units, variables)
        self._move = _terms(settings)(f"{scope}/dh", [settings.units], settings.units, variables)
        self._activation = ACTIVATIONS[settings.activation].value

    def bind(self) -> BoundCell:
        (own, *inputs), shift = self._gate.bind()
        move: BoundTerms = self._move.bind()

        def update(projected: tf.Tensor, state: CellState) -> CellState:
            (h,) = state
            i, g = tf.split(projected + own(h) + shift, 2, axis=-1)
            return (h + tf.sigmoid(i) * move(self._activation(g)),)

        return BoundCell(inputs, update)


Cell = Lstm | Gru | Rnn | Rrnn

CELLS: dict[str, type[Cell]] = {"lstm": Lstm, "gru": Gru, "rnn": Rnn, "rrnn": Rrnn}


def _terms(settings: CellSettings) -> type[Terms] | type[NormalisedTerms]:
    return NormalisedTerms if settings.use_bn else Terms


def _side_by_side(first: Projection, second: Projection) -> Projection:
    return lambda values: tf.concat([first(values), second(values)], axis=-1)
