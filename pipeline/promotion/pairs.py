"""Two models on the same utterances: their figures in pairs, and how sure a gain is."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from pipeline.sections.gate import Criterion

ID, WEIGHT = "id", "weight"
RESAMPLES_AT_ONCE = 256


class Interval(NamedTuple):
    """A mean gain, and where it lies at the confidence asked for."""

    gain: float
    low: float
    high: float


def pair(champion: pd.DataFrame, candidate: pd.DataFrame) -> pd.DataFrame:
    """A row an utterance that both have: its id, its weight, and each figure as `champion.NAME` and `candidate.NAME`."""
    weights = candidate[[ID, WEIGHT]]
    figures = (
        rows.drop(columns=WEIGHT).rename(columns=lambda name, of=of: name if name == ID else f"{of}.{name}")
        for of, rows in (("champion", champion), ("candidate", candidate))
    )
    for rows in figures:
        weights = weights.merge(rows, on=ID, validate="one_to_one")
    return weights


def gains(pairs: pd.DataFrame, name: str, criterion: Criterion) -> np.ndarray:
    """By how much the candidate is better on each utterance, in the figure's unit; negative where it is worse."""
    difference = pairs[f"champion.{name}"].to_numpy(np.float64) - pairs[f"candidate.{name}"].to_numpy(np.float64)
    return difference if criterion.better == "lower" else -difference


def bootstrap(values: np.ndarray, weights: np.ndarray, confidence: float, resample_count: int, seed: int) -> Interval:
    """The weighted mean of the values, and its percentile bootstrap interval (Efron and Tibshirani 1993, 13.3).

    Utterances are drawn with replacement, each with its weight; equal arguments give equal intervals.

    Args:
        values: Gains [utterances].
        weights: Of the utterances, in any unit [utterances].
        confidence: 0.95 leaves 2.5 % of the resampled means on either side.
        resample_count: Number of resamples.
        seed: Of the draws.
    """
    generator = np.random.default_rng(seed)
    count = len(values)
    means = []
    for start in range(0, resample_count, RESAMPLES_AT_ONCE):
        rows = min(RESAMPLES_AT_ONCE, resample_count - start)
        drawn = generator.multinomial(count, np.full(count, 1.0 / count), size=rows)
        means.append(drawn @ (values * weights) / (drawn @ weights))
    outside = (1.0 - confidence) / 2.0
    low, high = np.quantile(np.concatenate(means), [outside, 1.0 - outside])
    return Interval(float(np.average(values, weights=weights)), float(low), float(high))
