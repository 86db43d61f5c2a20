"""How well a model predicts the segments of a walk."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from models.wayback.sequence import SequenceModel, State, score


class Scored(NamedTuple):
    """One batch of segments.

    Attributes:
        sequences: The sequence of each row, -1 = none.
        offsets: Where its segment begins.
        sums: Nats, errors and number of the predicted symbols of each row, float64 [rows, 3].
        logits: Of every symbol at every step, [rows, steps, symbols].
    """

    sequences: np.ndarray
    offsets: np.ndarray
    sums: np.ndarray
    logits: tf.Tensor


class Scorer:
    """Predicts whole sequences in segments of a whole number of cycles; every symbol counts, nothing is truncated."""

    def __init__(self, model: SequenceModel, rows: int, step_count: int):
        self._model, self._rows = model, rows
        signature = [
            tf.TensorSpec([rows, step_count + 1], tf.int32),
            tf.TensorSpec([rows, step_count], tf.bool),
            tf.TensorSpec([rows], tf.bool),
            tf.nest.map_structure(tf.TensorSpec.from_tensor, model.initial_state(rows)),
        ]
        self._score = tf.function(self._score_segment, input_signature=signature, autograph=False)

    def score(self, walk: Iterable[tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]]) -> Iterator[Scored]:
        """The scores of the segments that `walk_once` gives, in order."""
        state = self._model.initial_state(self._rows)
        for sequences, offsets, arrays in walk:
            sums, logits, state = self._score(arrays["symbols"], arrays["mask"], arrays["reset"], state)
            yield Scored(sequences, offsets, sums.numpy(), logits)

    def _score_segment(
        self, symbols: tf.Tensor, mask: tf.Tensor, reset: tf.Tensor, state: State
    ) -> tuple[tf.Tensor, tf.Tensor, State]:
        logits, state = self._model.predict_cycles(symbols[:, :-1], self._model.restart(state, reset))
        scores = score(logits, symbols[:, 1:])
        weights = tf.cast(mask, tf.float64)
        parts = (tf.cast(scores.nats, tf.float64), tf.cast(scores.errors, tf.float64), tf.ones_like(weights))
        return tf.stack([tf.reduce_sum(part * weights, axis=1) for part in parts], axis=1), logits, state
