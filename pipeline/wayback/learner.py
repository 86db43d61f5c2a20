"""Wayback and its data as the training loop sees them."""

import math
from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np
import tensorflow as tf

from models.wayback.sequence import SequenceModel
from pipeline.sections.train_wayback import TrainWayback
from pipeline.shards import CodeSplit
from pipeline.training.learner import Batch, StepResult
from pipeline.wayback.scoring import Scorer
from pipeline.wayback.walking import Segments, usable, walk, walk_once


class WaybackLearner:
    """See `pipeline.training.learner.Learner`."""

    def __init__(self, model: SequenceModel, train: CodeSplit, validation: CodeSplit, params: TrainWayback, seed: int):
        rows, schedule = params.batch_size, model.schedule
        self.variables, self.statistics = model.variables, {}
        self.signature = {
            "symbols": tf.TensorSpec([rows, schedule.step_count + 1], tf.int32),
            "mask": tf.TensorSpec([rows, schedule.step_count], tf.bool),
            "reset": tf.TensorSpec([rows], tf.bool),
        }
        self.initial_state = model.initial_state(rows)
        self.segments = Segments(schedule.step_count, schedule.first_counted)
        self._model, self._params, self._seed = model, params, seed
        self._train, self._validation = train, validation
        self._places, self._validation_places = (usable(split, params.max_examples) for split in (train, validation))
        self._scorer = Scorer(model, rows, schedule.step_count)

    def loss(self, arrays: Mapping[str, tf.Tensor], state: tuple, step: tf.Tensor) -> StepResult:
        """Nats per symbol over the steps that count and have a target."""
        state = self._model.restart(state, arrays["reset"])
        scores, state = self._model.train(arrays["symbols"], state)
        weights = tf.cast(arrays["mask"][:, self.segments.first_counted :], scores.nats.dtype)
        count = tf.maximum(tf.reduce_sum(weights), 1.0)
        loss = tf.reduce_sum(scores.nats * weights) / count
        error = tf.reduce_sum(tf.cast(scores.errors, weights.dtype) * weights) / count
        figures = {"error": error, "bits_per_symbol": loss / math.log(2.0)}
        return StepResult(loss, figures, state, {})

    def penalty(self) -> tf.Tensor:
        """The sum of the matrices' norms, not squared, weighted."""
        matrices = [variable for variable in self.variables.values() if variable.shape.rank == 2]
        return self._params.weight_decay * tf.add_n([tf.norm(matrix) for matrix in matrices])

    def batches(self, position: Mapping[str, np.ndarray] | None) -> Iterator[Batch]:
        """Endless batches whose rows walk through whole sequences."""
        return walk(self._train, self._places, self.segments, self._params.batch_size, self._seed, position)

    def validate(self) -> dict[str, float]:
        """Figures over the first segments of the validation split, every symbol of them counted once."""
        steps, rows = self.segments.step_count, self._params.batch_size
        segments = walk_once(self._validation, self._validation_places, steps, rows)
        total = sum(scored.sums for scored in self._scorer.score(islice(segments, self._params.max_validation_steps)))
        nats, errors, count = total.sum(axis=0)
        loss = nats / count
        return {"loss": loss, "error": errors / count, "bits_per_symbol": loss / math.log(2.0)}
