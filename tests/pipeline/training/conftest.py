"""A learner small enough to follow by hand: y = w . x + b, with a running sum as carried state."""

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pipeline.sections.training import Training
from pipeline.tracking import Run
from pipeline.training.learner import Batch, StepResult


class Line:
    """Fits a line to batches of varying size drawn by a generator whose place is the position."""

    def __init__(self, poison_at: int | None = None):
        self.variables = {"w": tf.Variable([1.0, -1.0]), "b": tf.Variable(0.5)}
        self.statistics = {"seen": tf.Variable(0.0)}
        self.signature = {"x": tf.TensorSpec([None, 2], tf.float32), "y": tf.TensorSpec([None], tf.float32)}
        self.initial_state = (tf.zeros([2]),)
        self.poison_at = poison_at
        self.traces = 0

    def loss(self, arrays: Mapping[str, tf.Tensor], state: Any, step: tf.Tensor) -> StepResult:
        self.traces += 1
        noise = tf.random.stateless_normal([2], tf.stack([7, tf.cast(step, tf.int32)]))
        predicted = tf.linalg.matvec(arrays["x"] + 0.01 * noise, self.variables["w"]) + self.variables["b"]
        residual = predicted - arrays["y"] + 0.001 * tf.reduce_sum(state[0])
        loss = tf.reduce_mean(residual**2)
        seen = self.statistics["seen"] + tf.cast(tf.shape(arrays["x"])[0], tf.float32)
        return StepResult(loss, {"error": tf.reduce_mean(tf.abs(residual))}, (state[0] + noise,), {"seen": seen})

    def penalty(self) -> tf.Tensor:
        return 1e-3 * tf.nn.l2_loss(self.variables["w"])

    def batches(self, position: Mapping[str, np.ndarray] | None) -> Iterator[Batch]:
        index = 0 if position is None else int(position["index"])
        while True:
            rng = np.random.default_rng(index)
            x = rng.normal(size=(3 + index % 4, 2)).astype(np.float32)
            y = (x @ [2.0, -3.0] + 1.0).astype(np.float32)
            index += 1
            if self.poison_at == index:
                y[0] = np.nan
            yield Batch({"x": x, "y": y}, {"index": np.array(index)}, (f"item-{index}",))

    def validate(self) -> dict[str, float]:
        w, b = self.variables["w"].numpy(), self.variables["b"].numpy()
        return {"loss": float(np.sum((w - [2, -3]) ** 2) + (b - 1) ** 2), "error": 0.0}


@pytest.fixture
def line() -> type[Line]:
    return Line


@pytest.fixture
def training() -> Training:
    return Training(
        initialize_from="data/random_start",
        batch_size=4,
        max_step_count=23,
        initial_learning_rate=0.05,
        warmup_step_count=3,
        decay_rate=0.5,
        decay_patience=1000,
        decay_start_step=10,
        decay_half_life=10,
        clip_norm=1.0,
        weight_decay=1e-3,
        adam_beta1=0.9,
        adam_beta2=0.999,
        adam_epsilon=1e-8,
        validation_interval=5,
        tracking_interval=4,
        checkpoint_interval=6,
        checkpoint_count=2,
        published_checkpoint="final",
        threads=2,
    )


@pytest.fixture
def run() -> Run:
    """A run that goes nowhere, as with `tracking: off`."""
    return Run("key", None, None, None, "")


@pytest.fixture
def files() -> SimpleNamespace:
    """Reads what a training left in its state folder."""
    return SimpleNamespace(steps=lambda state: sorted(int(path.name[5:]) for path in (state / "checkpoints").iterdir()))
