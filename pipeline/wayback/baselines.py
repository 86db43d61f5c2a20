"""What counting alone predicts: figures that say what a model's figures mean.

All are learned from the training split and measured on the same symbols as the model: every symbol of a sequence but
its first.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np


class Baseline(NamedTuple):
    """Nats per symbol and share of wrong guesses of one way of counting."""

    loss: float
    error: float


def count_pairs(sequences: Iterable[np.ndarray], categories: int) -> np.ndarray:
    """How often each symbol followed each other one: int64 [before, after]."""
    pairs = np.zeros(categories * categories, np.int64)
    for sequence in sequences:
        codes = sequence[:-1].astype(np.int64) * categories + sequence[1:]
        pairs += np.bincount(codes, minlength=categories * categories)
    return pairs.reshape(categories, categories)


def baselines(train: np.ndarray, test: np.ndarray) -> dict[str, Baseline]:
    """The figures on the pairs `test` of what is learned from the pairs `train`, both [before, after].

    uniform knows nothing; unigram knows how frequent each symbol is (one more of each is assumed); order1 knows the
    symbol before, and falls back to the unigram as Witten and Bell 1991 (method C) weight it.
    """
    categories = len(train)
    uniform = np.full((categories, categories), 1.0 / categories)
    unigram = (train.sum(axis=0) + 1.0) / (train.sum() + categories)
    seen, kinds = train.sum(axis=1, keepdims=True), (train > 0).sum(axis=1, keepdims=True)
    order1 = (train + np.maximum(kinds, 1) * unigram) / (seen + np.maximum(kinds, 1))
    tables = {"uniform": uniform, "unigram": np.broadcast_to(unigram, uniform.shape), "order1": order1}
    return {name: _measure(table, test) for name, table in tables.items()}


def _measure(probabilities: np.ndarray, pairs: np.ndarray) -> Baseline:
    hits = pairs[np.arange(len(pairs)), probabilities.argmax(axis=1)].sum()
    return Baseline(float(-(pairs * np.log(probabilities)).sum() / pairs.sum()), float(1.0 - hits / pairs.sum()))
