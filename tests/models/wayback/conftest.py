"""A model small enough to follow by hand, and the authors' equations in NumPy."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import tensorflow as tf

from models.wayback.sequence import SequenceModel, Settings

SMALL = Settings(
    data_dim=5,
    layout="wayback",
    cell="rnn",
    layer_sizes=[3, 4, 2],
    io_sizes=[4],
    activation="tanh",
    use_bn=False,
    vskip=False,
    carry=True,
    periods=[1, 2, 2],
    boundaries=[12, 6, 3],
    unroll_layer_count=0,
)


def sigmoid(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-values))


def elu(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, values, np.expm1(values))


class Equations:
    """The model's steps in NumPy, one layer after the other, for cells "rnn" and "lstm"."""

    def __init__(self, model: SequenceModel):
        self.values = {name: variable.numpy() for name, variable in model.variables.items()}
        self.cell = model.settings.cell

    def affine(self, scope: str, *inputs: np.ndarray) -> np.ndarray:
        return np.concatenate(inputs, axis=-1) @ self.values[f"{scope}/project/w"] + self.values[f"{scope}/beta"]

    def embed(self, symbols: np.ndarray) -> np.ndarray:
        return elu(self.affine("layers/0/project_terms", np.eye(5)[symbols]))

    def update(self, layer: int, state: tuple[np.ndarray, ...], *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        if self.cell == "rnn":
            return (np.tanh(self.affine(f"cell{layer}/project_terms", state[0], *inputs)),)
        c, h = state
        i, j, f, o = np.split(self.affine(f"cell{layer}/ijfo", h, *inputs), 4, axis=-1)
        c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)
        return c, sigmoid(o) * np.tanh(c)

    def logits(self, outputs: list[np.ndarray]) -> np.ndarray:
        hidden = elu(self.affine("xhat/layers/0/project_terms", *outputs))
        return hidden @ self.values["xhat/project/w"] + self.values["xhat/project/beta"]


@pytest.fixture(scope="session")
def build() -> Callable[..., SequenceModel]:
    """Makes a model of SMALL with changes, in double precision, its shifts and scales drawn, too."""

    def build(seed: int = 0, **changes: object) -> SequenceModel:
        draw = np.random.default_rng(seed)
        model = SequenceModel(SMALL._replace(**changes), draw, tf.float64)
        for variable in model.variables.values():
            if variable.shape.rank == 1:
                variable.assign(draw.normal(0.2, 0.3, variable.shape))
        return model

    return build


@pytest.fixture(scope="session")
def equations() -> type[Equations]:
    return Equations


@pytest.fixture
def symbols() -> Iterator[np.ndarray]:
    """[batch, 13]."""
    return np.random.default_rng(7).integers(0, 5, (2, 13)).astype(np.int32)
