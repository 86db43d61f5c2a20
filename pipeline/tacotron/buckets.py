"""Utterances of like length together: few shapes of batches, little padding, and no batch with an empty row."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np


class Bucket(NamedTuple):
    """A shape of batches, and the utterances that come in it.

    Attributes:
        rows: Utterances in a batch.
        symbols: Symbols of a row, padding included.
        frames: Frames of a row, padding included; a multiple of the reduction factor.
        members: Places of the utterances in their split.
    """

    rows: int
    symbols: int
    frames: int
    members: np.ndarray


class Place(NamedTuple):
    """The next batch of an endless shuffle."""

    epoch: int
    index: int


def make_buckets(
    frame_counts: np.ndarray, symbol_counts: np.ndarray, batch_size: int, bucket_count: int, multiple: int, spare: int
) -> list[Bucket]:
    """Cuts the utterances by length into at most `bucket_count` buckets with the least padding.

    Args:
        frame_counts, symbol_counts: Of each utterance.
        batch_size: Rows of a batch of average length; the batches of each bucket hold about as many frames.
        bucket_count: Number of shapes.
        multiple: Frames of a row are a multiple of it.
        spare: Frames that follow the last real one at least.
    """
    padded = -(-(frame_counts + spare) // multiple) * multiple
    budget = batch_size * padded.mean()
    buckets = []
    lower = 0
    for upper in _cuts(padded, bucket_count):
        members = np.flatnonzero((padded > lower) & (padded <= upper))
        rows = max(1, min(round(budget / upper), len(members)))
        buckets.append(Bucket(rows, int(symbol_counts[members].max()), int(upper), members))
        lower = upper
    return buckets


def sort_into(
    shapes: list[Bucket], frame_counts: np.ndarray, symbol_counts: np.ndarray, multiple: int, spare: int
) -> list[Bucket]:
    """Puts other utterances into the same shapes; what fits into none gets a shape of its own with one row."""
    members: list[list[int]] = [[] for _ in shapes]
    alone = []
    for place, (frames, symbols) in enumerate(zip(frame_counts, symbol_counts, strict=True)):
        fitting = [i for i, shape in enumerate(shapes) if frames + spare <= shape.frames and symbols <= shape.symbols]
        if fitting:
            members[fitting[0]].append(place)
        else:
            padded = -(-(frames + spare) // multiple) * multiple
            alone.append(Bucket(1, int(symbols), int(padded), np.array([place])))
    filled = [shape._replace(members=np.array(places)) for shape, places in zip(shapes, members, strict=True) if places]
    return filled + alone


def shuffled(buckets: list[Bucket], seed: int, place: Place) -> Iterator[tuple[Bucket, np.ndarray, Place]]:
    """Endless batches from a place on: the bucket, the places of its utterances, and where the batch after it stands.

    Each bucket is an endless sequence of shuffles of its members, cut into batches; so every row is real, and every
    utterance comes as often as any other of its bucket. An epoch is the batches that the bucket's n-th shuffle
    completes, in an order of its own.
    """
    while True:
        batches = _epoch(buckets, seed, place.epoch)
        for index in range(place.index, len(batches)):
            bucket, number = batches[index]
            following = Place(place.epoch, index + 1) if index + 1 < len(batches) else Place(place.epoch + 1, 0)
            yield buckets[bucket], _rows(buckets[bucket], seed, bucket, number), following
        place = Place(place.epoch + 1, 0)


def in_order(buckets: list[Bucket]) -> Iterator[tuple[Bucket, np.ndarray, int]]:
    """Every utterance once: the bucket, the places of a batch, and how many of them are new.

    The last batch of a bucket is filled with its first members, so that all batches of a bucket have one shape.
    """
    for bucket in buckets:
        for first in range(0, len(bucket.members), bucket.rows):
            places = bucket.members[first : first + bucket.rows]
            yield bucket, np.resize(np.concatenate([places, bucket.members]), bucket.rows), len(places)


def _cuts(lengths: np.ndarray, count: int) -> np.ndarray:
    """The upper lengths of buckets under which the sum of padded lengths is least (dynamic programming)."""
    values, counts = np.unique(lengths, return_counts=True)
    below = np.concatenate([[0], np.cumsum(counts)])
    cost = values * below[1:].astype(float)
    choices = []
    for _ in range(1, min(count, len(values))):
        # total[i, j]: buckets end at value i, and one more reaches up to value j.
        total = cost[:, None] + values[None, :] * (below[None, 1:] - below[1:, None])
        total[np.tril_indices(len(values))] = np.inf
        choices.append(np.where(total.min(axis=0) < cost, total.argmin(axis=0), -1))
        cost = np.minimum(cost, total.min(axis=0))
    last, cuts = len(values) - 1, []
    for choice in reversed(choices):
        if choice[last] >= 0:
            cuts.append(last)
            last = choice[last]
    return values[[*cuts, last][::-1]]


def _epoch(buckets: list[Bucket], seed: int, epoch: int) -> list[tuple[int, int]]:
    """The batches of an epoch: bucket, and the batch's number in the bucket's endless sequence."""
    batches = [
        (place, number)
        for place, bucket in enumerate(buckets)
        for number in range(
            epoch * len(bucket.members) // bucket.rows, (epoch + 1) * len(bucket.members) // bucket.rows
        )
    ]
    order = np.random.default_rng([seed, 0, epoch]).permutation(len(batches))
    return [batches[place] for place in order]


def _rows(bucket: Bucket, seed: int, place: int, number: int) -> np.ndarray:
    """The utterances of a bucket's batch."""
    size = len(bucket.members)
    positions = np.arange(number * bucket.rows, (number + 1) * bucket.rows)
    orders = {
        epoch: np.random.default_rng([seed, 1, place, epoch]).permutation(size) for epoch in set(positions // size)
    }
    return bucket.members[[orders[position // size][position % size] for position in positions]]
