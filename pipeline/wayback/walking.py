"""Batches whose rows walk through whole sequences, segment by segment.

Consecutive segments of a row overlap by one symbol: the last target of one is the first input of the next. A row takes
its next sequence only where a segment begins, with a fresh state; the rest of its last segment is masked.
Where gradients are truncated, only the last part of a segment counts. So that every symbol's turn comes, the walk
through a sequence begins in each epoch one such part later, in turns.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from pipeline.shards import CodeSplit
from pipeline.training.learner import Batch

NOTHING = -1


class Segments(NamedTuple):
    """How a sequence is cut.

    Attributes:
        step_count: Steps of a segment; it has one symbol more.
        first_counted: The first step that counts in the loss.
    """

    step_count: int
    first_counted: int

    def begin(self, epoch: int, length: int) -> int:
        """Where the walk through a sequence begins in an epoch."""
        part = self.step_count - self.first_counted
        begin = epoch % -(-self.step_count // part) * part
        return begin if begin + self.first_counted < length - 1 else 0


class Cursor(NamedTuple):
    """Where a batch stands: for each row its sequence (-1 = none) and the next segment's first symbol; and what comes
    next.

    Attributes:
        sequences: int64 [rows].
        offsets: int64 [rows].
        epoch: int64 scalar, that of the next sequence to be taken.
        taken: int64 scalar, sequences of that epoch that were taken already.
    """

    sequences: np.ndarray
    offsets: np.ndarray
    epoch: np.ndarray
    taken: np.ndarray


def usable(split: CodeSplit, max_examples: int | None) -> np.ndarray:
    """Places of the sequences to walk through: of two symbols or more, so many at most; int64."""
    return np.flatnonzero(split.lengths > 1)[:max_examples]


def walk(
    split: CodeSplit,
    places: np.ndarray,
    segments: Segments,
    rows: int,
    seed: int,
    position: Mapping[str, np.ndarray] | None,
) -> Iterator[Batch]:
    """Endless batches of training, each epoch in an order of its own.

    Arrays: `symbols` int32 [rows, step_count + 1], `mask` bool [rows, step_count] (steps with a target), `reset` bool
    [rows] (rows that begin a sequence).
    """
    cursor = Cursor(**{name: np.array(position[name]) for name in Cursor._fields}) if position else _at_start(rows)
    while True:
        cursor, reset = _take(split, places, segments, seed, cursor)
        batch = _segment(split, segments, cursor)
        names = tuple(split.ids[place] for place in cursor.sequences)
        cursor = _advanced(split, segments, cursor)
        yield Batch({**batch, "reset": reset}, cursor._asdict(), names)


def walk_once(
    split: CodeSplit, places: np.ndarray, step_count: int, rows: int
) -> Iterator[tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]]:
    """Batches that see every symbol of every sequence once, in order.

    Yields:
        The sequence of each row (-1 = none left for it), where its segment begins, and the arrays of `walk`.
    """
    segments = Segments(step_count, 0)
    left = list(places)
    cursor = _at_start(rows)
    while True:
        sequences, offsets = cursor.sequences.copy(), cursor.offsets.copy()
        reset = sequences == NOTHING
        for row in np.flatnonzero(reset)[: len(left)]:
            sequences[row], offsets[row] = left.pop(0), 0
        if (sequences == NOTHING).all():
            return
        cursor = cursor._replace(sequences=sequences, offsets=offsets)
        yield sequences, offsets, {**_segment(split, segments, cursor), "reset": reset}
        cursor = _advanced(split, segments, cursor)


def counted_share(split: CodeSplit, places: np.ndarray, segments: Segments) -> float:
    """The share of symbols after the first ones that count in the loss of some epoch."""
    targets = split.lengths[places] - 1
    return float(np.maximum(targets - segments.first_counted, 0).sum() / targets.sum())


def _at_start(rows: int) -> Cursor:
    return Cursor(np.full(rows, NOTHING, np.int64), np.zeros(rows, np.int64), np.int64(0), np.int64(0))


def _take(
    split: CodeSplit, places: np.ndarray, segments: Segments, seed: int, cursor: Cursor
) -> tuple[Cursor, np.ndarray]:
    """Gives each row without a sequence the next one."""
    sequences, offsets = cursor.sequences.copy(), cursor.offsets.copy()
    epoch, taken = int(cursor.epoch), int(cursor.taken)
    reset = sequences == NOTHING
    for row in np.flatnonzero(reset):
        order = np.random.default_rng([seed, epoch]).permutation(places)
        sequences[row] = order[taken]
        offsets[row] = segments.begin(epoch, int(split.lengths[order[taken]]))
        epoch, taken = (epoch, taken + 1) if taken + 1 < len(places) else (epoch + 1, 0)
    return Cursor(sequences, offsets, np.int64(epoch), np.int64(taken)), reset


def _segment(split: CodeSplit, segments: Segments, cursor: Cursor) -> dict[str, np.ndarray]:
    rows, steps = len(cursor.sequences), segments.step_count
    symbols, mask = np.zeros((rows, steps + 1), np.int32), np.zeros((rows, steps), bool)
    for row, (place, offset) in enumerate(zip(cursor.sequences, cursor.offsets, strict=True)):
        if place == NOTHING:
            continue
        piece = split[int(place)][offset : offset + steps + 1]
        symbols[row, : len(piece)] = piece
        mask[row, : len(piece) - 1] = True
    return {"symbols": symbols, "mask": mask}


def _advanced(split: CodeSplit, segments: Segments, cursor: Cursor) -> Cursor:
    offsets = cursor.offsets + segments.step_count
    ended = (cursor.sequences == NOTHING) | (offsets >= split.lengths[cursor.sequences] - 1)
    return cursor._replace(sequences=np.where(ended, NOTHING, cursor.sequences), offsets=np.where(ended, 0, offsets))
