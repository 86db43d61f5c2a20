"""What attention looks like, as numbers between 0 (useless) and 1.

A loss can fall while attention learns nothing, because teacher forcing tells the frame before; these tell.
"""

from typing import NamedTuple

import numpy as np

MEAN_DISTANCE_AT_RANDOM = 1.0 / 3.0


class AlignmentScores(NamedTuple):
    """Attributes:
    focus: Mean over the steps of the largest attention weight (Ren et al. 2019, 3.4 take it as the focus rate).
    diagonality: 1 for attention on the straight line from the first symbol to the last, 0 for one that is as far from
        it as chance: 1 - 3 times the mean distance, in shares of the text's length.
    coverage: Share of the symbols that, in some step, have more than half of the attention on themselves or their two
        neighbours.
    """

    focus: float
    diagonality: float
    coverage: float


def score_alignment(alignment: np.ndarray) -> AlignmentScores:
    """Scores the real part of an alignment [steps, symbols]."""
    steps, symbols = alignment.shape
    time = (np.arange(steps) + 0.5) / steps
    place = (np.arange(symbols) + 0.5) / symbols
    distance = float((alignment * np.abs(place - time[:, None])).sum() / steps)
    padded = np.pad(alignment, [(0, 0), (1, 1)])
    around = padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]
    return AlignmentScores(
        focus=float(alignment.max(axis=1).mean()),
        diagonality=max(0.0, 1.0 - distance / MEAN_DISTANCE_AT_RANDOM),
        coverage=float((around.max(axis=0) > 0.5).mean()),
    )


def mean_scores(alignments: list[np.ndarray]) -> dict[str, float]:
    """Means over utterances, by name."""
    scores = np.array([score_alignment(alignment) for alignment in alignments])
    return {name: float(value) for name, value in zip(AlignmentScores._fields, scores.mean(axis=0), strict=True)}
