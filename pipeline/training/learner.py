"""What the training loop needs of a model and its data."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
import tensorflow as tf


class Batch(NamedTuple):
    """One step's data, and where the data stands after it.

    Attributes:
        arrays: The model's inputs, of the shapes and types in the learner's `signature`.
        position: Small arrays of fixed shapes that suffice to make the next batch; they go into the checkpoint.
        items: Ids of the utterances or sequences in it, for error messages.
    """

    arrays: Mapping[str, np.ndarray]
    position: Mapping[str, np.ndarray]
    items: tuple[str, ...]


class StepResult(NamedTuple):
    """What one forward pass of training gives.

    Attributes:
        loss: Scalar to minimise, without weight decay.
        figures: Further scalars to log, among them `error`; each is logged under `train_<name>`.
        state: What the next batch starts from (the structure of `initial_state`).
        statistics: New values of `Learner.statistics`, by the same names.
    """

    loss: tf.Tensor
    figures: dict[str, tf.Tensor]
    state: Any
    statistics: dict[str, tf.Tensor]


class Learner(Protocol):
    """A model with its loss and its data.

    Attributes:
        variables: What is trained, by stable name ("encoder/conv_0/kernel"), always in the same order.
        statistics: What is kept with the weights but not trained (batch norm's moving averages), by stable name.
        signature: Shape and type of each array of a batch, None where the size varies; a step is traced once for it.
        initial_state: State before the first batch: nested tensors of fixed shapes, `()` if none is carried.
    """

    variables: Mapping[str, tf.Variable]
    statistics: Mapping[str, tf.Variable]
    signature: Mapping[str, tf.TensorSpec]
    initial_state: Any

    def loss(self, arrays: Mapping[str, tf.Tensor], state: Any, step: tf.Tensor) -> StepResult:
        """The loss of a batch, traced into a graph; `step` (int64, 0 at first) seeds noise and drives schedules."""

    def penalty(self) -> tf.Tensor:
        """Scalar added to the loss for the gradient only (weight decay); never part of the reported loss."""

    def batches(self, position: Mapping[str, np.ndarray] | None) -> Iterator[Batch]:
        """Endless batches from the start (None) or from the position that a batch carried."""

    def validate(self) -> dict[str, float]:
        """Figures on the validation split with the present weights, `loss` and `error` among them."""
