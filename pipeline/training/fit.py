"""The training loop of both models."""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from pipeline.errors import InputError
from pipeline.progress import Progress
from pipeline.sections.training import Training
from pipeline.tracking import Run
from pipeline.training import checkpoints
from pipeline.training.adam import Adam
from pipeline.training.checkpoints import Checkpoint
from pipeline.training.interruption import Interruption
from pipeline.training.learner import Batch, Learner
from pipeline.training.schedule import Plateau, learning_rate
from pipeline.training.summary import (
    GRADIENT_PREFIX,
    PARAMETER_PREFIX,
    Row,
    batch_table,
    mean_log_abs,
    parameter_table,
    write_events,
)
from pipeline.training.weights import assign, write_weights

PREFETCHED_BATCHES = 2


class Fitted(NamedTuple):
    """What a training ended with.

    Attributes:
        history: The logged figures, a row a step that was logged.
        published_step: The step whose weights the learner's variables now hold.
        best_step: The step of the lowest validation loss.
    """

    history: list[Row]
    published_step: int
    best_step: int


class StepOutcome(NamedTuple):
    """What one training step gives back."""

    loss: tf.Tensor
    figures: dict[str, tf.Tensor]
    gradient_norm: tf.Tensor
    clipped: tf.Tensor
    finite: tf.Tensor
    state: Any
    magnitudes: tf.Tensor


def fit(learner: Learner, training: Training, run: Run, state: Path) -> Fitted:
    """Trains to `max_step_count` steps, from the newest whole checkpoint in `state` if there is one.

    Every figure is logged once a step. When it ends, the learner's variables hold the published checkpoint.

    Raises:
        InputError: A loss, gradient or validation figure is not finite, a parameter gets no gradient, or a checkpoint
            cannot be written. The last checkpoint is whole then.
        KeyboardInterrupt, SystemExit: A signal asked to stop; a checkpoint was written first.
    """
    loop = _Loop(learner, training, run, state)
    loop.restore()
    with Interruption() as interruption:
        loop.train(interruption)
    loop.validate_last()
    loop.publish()
    write_events(state / "tensorboard", loop.history)
    run.log_artifact(state / "tensorboard", folder="tensorboard")
    return Fitted(loop.history, loop.published_step, loop.plateau.best_step)


class _Loop:
    """A training under way: what changes from step to step, all of it in each checkpoint."""

    def __init__(self, learner: Learner, training: Training, run: Run, state: Path):
        self.learner, self.training, self.run, self.folder = learner, training, run, state
        self.adam = Adam(learner.variables, training.adam_beta1, training.adam_beta2, training.adam_epsilon)
        self.step = 0
        self.position: Mapping[str, np.ndarray] | None = None
        self.state = learner.initial_state
        self.plateau = Plateau()
        self.history: list[Row] = []
        self.sums: dict[str, float] = {}
        self.summed = 0
        self.saved_step = self.published_step = 0

    def restore(self) -> None:
        """Takes up the newest whole checkpoint, and logs its history: what the run has already is not logged again."""
        checkpoint = checkpoints.load_newest(self.folder)
        if checkpoint is None:
            return
        self._take(checkpoint)
        for row in self.history:
            self._log(row)

    def train(self, interruption: Interruption) -> None:
        """Steps until `max_step_count`."""
        take_step = make_step(self.learner, self.adam, self.training.clip_norm)
        total = self.training.max_step_count
        first = self.step == 0
        with Progress("training", total, "steps", done=self.step) as progress:
            for batch in self._batches(total - self.step):
                if first:
                    self._describe(batch, progress)
                    first = False
                self._advance(take_step, batch)
                progress.advance(note=self._note())
                if interruption.signal is not None:
                    self._save()
                    self.run.log_text(f"stopped by {interruption.signal.name} after step {self.step}\n", "stopped.txt")
                    interruption.raise_noted()
        if self.saved_step != self.step:
            self._save()

    def validate_last(self) -> None:
        """Figures of the last step, where validation was not due; they do not count for the best or the plateau."""
        if self.step % self.training.validation_interval:
            self._record(self._validation())

    def publish(self) -> None:
        """Gives the learner the weights of the best or of the last checkpoint, as the parameters say."""
        best = self.plateau.best_step
        self.published_step = best if self.training.published_checkpoint == "best" and best else self.step
        for step in sorted({best or self.step, self.step}, key=lambda step: step == self.published_step):
            self._take_weights(checkpoints.load(checkpoints.folder_of(self.folder, step)))
            self._log_checkpoint(step)
        self.run.set_tags({"published_step": str(self.published_step), "best_step": str(best)})

    def _advance(self, take_step: Callable[..., StepOutcome], batch: Batch) -> None:
        due = (self.step + 1) % self.training.tracking_interval == 0
        rate = learning_rate(self.training, self.step, self.plateau.decay_count)
        outcome = take_step(
            batch.arrays, self.state, tf.constant(self.step, tf.int64), tf.constant(rate, tf.float64), due
        )
        if not bool(outcome.finite):
            self._stop_non_finite(outcome, batch)
        self.step += 1
        self.state, self.position = outcome.state, batch.position
        self._sum(outcome)
        row: Row = {}
        if due:
            row |= self._means(rate, outcome)
        validated = self.step % self.training.validation_interval == 0
        if validated:
            row |= self._validation()
        self._record(row)
        if validated:
            self._look_at(row["valid_loss"])
        periodic = self.step % self.training.checkpoint_interval == 0
        if periodic or self.plateau.best_step == self.step:
            self._save()
        if periodic:
            self._log_checkpoint(self.step)

    def _batches(self, count: int) -> Iterator[Batch]:
        return prefetch(self.learner, self.position, count) if count > 0 else iter(())

    def _sum(self, outcome: StepOutcome) -> None:
        figures = {"loss": outcome.loss, **outcome.figures, "clipped": outcome.clipped}
        for name, value in figures.items():
            self.sums[name] = self.sums.get(name, 0.0) + float(value)
        self.summed += 1

    def _means(self, rate: float, outcome: StepOutcome) -> Row:
        row = {f"train_{name}": value / self.summed for name, value in self.sums.items()}
        row["clipped_fraction"] = row.pop("train_clipped")
        row |= {"learning_rate": rate, "gradient_norm": float(outcome.gradient_norm)}
        parameters, gradients = outcome.magnitudes.numpy().astype(float)
        for prefix, values in ((PARAMETER_PREFIX, parameters), (GRADIENT_PREFIX, gradients)):
            row |= {prefix + name: float(value) for name, value in zip(self.learner.variables, values, strict=True)}
        self.sums, self.summed = {}, 0
        return row

    def _validation(self) -> Row:
        figures = {f"valid_{name}": float(value) for name, value in self.learner.validate().items()}
        if not math.isfinite(figures["valid_loss"]):
            raise InputError(
                f"the validation loss is {figures['valid_loss']} after step {self.step}; "
                "lower initial_learning_rate or clip_norm"
            )
        return figures

    def _look_at(self, loss: float) -> None:
        decays = self.plateau.decay_count
        self.plateau = self.plateau.after_validation(loss, self.step, self.training.decay_patience)
        if self.plateau.decay_count > decays:
            self.run.set_tags({"learning_rate_decays": str(self.plateau.decay_count)})

    def _record(self, figures: Row) -> None:
        if figures:
            row = {"step": self.step, **figures}
            self.history.append(row)
            self._log(row)

    def _log(self, row: Row) -> None:
        self.run.log_metrics({name: value for name, value in row.items() if name != "step"}, step=int(row["step"]))

    def _save(self) -> None:
        facts = {
            "plateau": self.plateau._asdict(),
            "history": self.history,
            "sums": self.sums,
            "summed": self.summed,
        }
        checkpoints.save(self.folder, Checkpoint(self.step, self._tensors(), facts))
        self.saved_step = self.step
        checkpoints.prune(self.folder, self.training.checkpoint_count, self.plateau.best_step)

    def _log_checkpoint(self, step: int) -> None:
        """Sends the weights, which the learner must hold now, with the figures of that step."""
        row = next((row for row in self.history if row["step"] == step), {})
        figures = {name: value for name, value in row.items() if name.startswith("valid_")}
        weights = self.folder / "checkpoint" / "weights.safetensors"
        weights.parent.mkdir(exist_ok=True)
        write_weights(weights, {**self.learner.variables, **self.learner.statistics})
        self.run.log_checkpoint(weights, step, figures)
        weights.unlink()

    def _tensors(self) -> dict[str, np.ndarray]:
        groups = {
            "variable": {name: value.numpy() for name, value in self.learner.variables.items()},
            "statistic": {name: value.numpy() for name, value in self.learner.statistics.items()},
            "moment": {name: value.numpy() for name, value in self.adam.slots.items()},
            "state": {str(index): value.numpy() for index, value in enumerate(tf.nest.flatten(self.state))},
            "position": {name: np.asarray(value) for name, value in (self.position or {}).items()},
        }
        return {
            f"{group}/{name}": np.array(value) for group, values in groups.items() for name, value in values.items()
        }

    def _take(self, checkpoint: Checkpoint) -> None:
        self._take_weights(checkpoint)
        assign(self.adam.slots, _group(checkpoint, "moment"), "the checkpoint")
        carried = _group(checkpoint, "state")
        self.state = tf.nest.pack_sequence_as(
            self.state, [tf.constant(carried[str(index)]) for index in range(len(carried))]
        )
        self.position = _group(checkpoint, "position") or None
        self.step = self.saved_step = checkpoint.step
        self.plateau = Plateau(**checkpoint.facts["plateau"])
        self.history = checkpoint.facts["history"]
        self.sums, self.summed = checkpoint.facts["sums"], checkpoint.facts["summed"]

    def _take_weights(self, checkpoint: Checkpoint) -> None:
        assign(self.learner.variables, _group(checkpoint, "variable"), "the checkpoint")
        assign(self.learner.statistics, _group(checkpoint, "statistic"), "the checkpoint")

    def _describe(self, batch: Batch, progress: Progress) -> None:
        tables = f"{parameter_table(self.learner.variables)}\n\n{batch_table(batch.arrays)}\n"
        progress.say(tables)
        self.run.log_text(tables, "parameters.txt")

    def _note(self) -> str:
        last = {name: value for row in self.history[-3:] for name, value in row.items()}
        shown = ("train_loss", "valid_loss", "valid_error")
        return ", ".join(f"{name} {last[name]:.4g}" for name in shown if name in last)

    def _stop_non_finite(self, outcome: StepOutcome, batch: Batch) -> None:
        raise InputError(
            f"step {self.step + 1}: the loss is {float(outcome.loss):g} and the gradient norm "
            f"{float(outcome.gradient_norm):g}, which must be finite (batch: {', '.join(batch.items)}); "
            "the weights were not changed; lower initial_learning_rate or clip_norm, or look at those recordings"
        )


def make_step(learner: Learner, adam: Adam, clip_norm: float | None) -> Callable[..., StepOutcome]:
    """One compiled training step: loss, gradient, clipping by the global norm, Adam; traced once.

    A step whose loss or gradient is not finite changes nothing.

    Raises:
        InputError: On tracing, a parameter gets no gradient.
    """
    variables = list(learner.variables.values())
    carried = tf.nest.map_structure(lambda tensor: tf.TensorSpec(tensor.shape, tensor.dtype), learner.initial_state)
    scalars = (tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.float64), tf.TensorSpec([], tf.bool))

    def update(gradients, rate, step, statistics):
        adam.apply(gradients, rate, step)
        for name, value in statistics.items():
            learner.statistics[name].assign(value)
        return tf.no_op()

    @tf.function(input_signature=(dict(learner.signature), carried, *scalars), autograph=False)
    def take_step(arrays, state, step, rate, with_magnitudes):
        with tf.GradientTape() as tape:
            result = learner.loss(arrays, state, step)
            objective = result.loss + learner.penalty()
        gradients = _connected(learner, tape.gradient(objective, variables))
        norm = tf.linalg.global_norm(gradients)
        finite = tf.math.is_finite(norm) & tf.math.is_finite(result.loss)
        clipped = tf.constant(False) if clip_norm is None else norm > tf.cast(clip_norm, norm.dtype)
        if clip_norm is not None:
            scale = tf.cast(clip_norm, norm.dtype) / tf.maximum(norm, tf.cast(clip_norm, norm.dtype))
            applied = [gradient * scale for gradient in gradients]
        else:
            applied = gradients
        tf.cond(finite, lambda: update(applied, rate, step, result.statistics), tf.no_op)
        magnitudes = tf.cond(
            with_magnitudes,
            lambda: tf.stack([mean_log_abs(variables), mean_log_abs(gradients)]),
            lambda: tf.zeros([2, len(variables)]),
        )
        figures = dict(result.figures)
        return StepOutcome(result.loss, figures, norm, tf.cast(clipped, tf.float32), finite, result.state, magnitudes)

    return take_step


def prefetch(learner: Learner, position: Mapping[str, np.ndarray] | None, count: int) -> Iterator[Batch]:
    """The next `count` batches, made by tf.data while the step before is computed."""
    first = next(learner.batches(position))
    places = {name: tf.TensorSpec(np.shape(value), np.asarray(value).dtype) for name, value in first.position.items()}
    signature = (dict(learner.signature), places, tf.TensorSpec([None], tf.string))

    def generate() -> Iterator[tuple]:
        for batch in learner.batches(position):
            yield dict(batch.arrays), dict(batch.position), list(batch.items)

    dataset = tf.data.Dataset.from_generator(generate, output_signature=signature)
    for arrays, place, items in dataset.take(count).prefetch(PREFETCHED_BATCHES):
        values = {name: value.numpy() for name, value in place.items()}
        yield Batch(arrays, values, tuple(item.decode() for item in items.numpy()))


def _connected(learner: Learner, gradients: list[tf.Tensor | tf.IndexedSlices | None]) -> list[tf.Tensor]:
    loose = [name for name, gradient in zip(learner.variables, gradients, strict=True) if gradient is None]
    if loose:
        raise InputError(f"the loss does not depend on {', '.join(loose)}: these parameters would never be trained")
    return [tf.convert_to_tensor(gradient) for gradient in gradients]


def _group(checkpoint: Checkpoint, group: str) -> dict[str, np.ndarray]:
    prefix = f"{group}/"
    return {name.removeprefix(prefix): value for name, value in checkpoint.tensors.items() if name.startswith(prefix)}
