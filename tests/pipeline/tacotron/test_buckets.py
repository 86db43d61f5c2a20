"""Buckets: little padding, whole batches, every utterance as often as its neighbours, and a place to go on from."""

from collections import Counter
from itertools import combinations, islice

import numpy as np
import pytest

from pipeline.tacotron.buckets import Place, in_order, make_buckets, shuffled, sort_into

DRAW = np.random.default_rng(0)
FRAMES = DRAW.integers(5, 60, 50)
SYMBOLS = DRAW.integers(2, 20, 50)


def buckets_of(count, batch_size=4, multiple=3, spare=4):
    return make_buckets(FRAMES, SYMBOLS, batch_size, count, multiple, spare)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_no_other_cut_into_as_many_buckets_pads_less(count):
    lengths = np.unique(-(-(FRAMES + 4) // 3) * 3)
    padded = [
        sum(min(upper for upper in (*cut, lengths[-1]) if upper >= frames + 4) for frames in FRAMES)
        for cut in combinations(lengths[:-1], count - 1)
    ]

    assert sum(bucket.frames * len(bucket.members) for bucket in buckets_of(count)) == min(padded)


def test_an_utterance_lies_in_one_bucket_and_fits_with_the_frames_after_it():
    buckets = buckets_of(4)

    assert sorted(np.concatenate([bucket.members for bucket in buckets])) == list(range(50))
    for bucket in buckets:
        assert bucket.frames % 3 == 0
        assert (FRAMES[bucket.members] + 4 <= bucket.frames).all()
        assert (SYMBOLS[bucket.members] <= bucket.symbols).all()


def test_batches_of_every_bucket_hold_about_as_many_frames():
    budget = 4 * (-(-(FRAMES + 4) // 3) * 3).mean()

    for bucket in buckets_of(4):
        assert abs(bucket.rows * bucket.frames - budget) <= bucket.frames / 2


def test_more_buckets_than_lengths_make_a_bucket_a_length():
    buckets = make_buckets(np.array([3, 3, 6]), np.array([1, 2, 3]), 2, 9, 3, 0)

    assert [(bucket.frames, bucket.symbols, bucket.members.tolist()) for bucket in buckets] == [
        (3, 2, [0, 1]),
        (6, 3, [2]),
    ]


def test_in_many_epochs_every_utterance_of_a_bucket_comes_as_often_as_any_other_within_one():
    buckets = buckets_of(3)
    seen = Counter()
    for bucket, places, following in shuffled(buckets, 0, Place(0, 0)):
        assert len(places) == bucket.rows
        seen.update(places.tolist())
        if following == Place(5, 0):
            break

    for bucket in buckets:
        counts = [seen[place] for place in bucket.members]
        assert max(counts) - min(counts) <= 1
        assert max(counts) == 5


def test_batches_go_on_from_any_place():
    buckets = buckets_of(3)
    straight = list(islice(shuffled(buckets, 7, Place(0, 0)), 40))

    for number in (0, 11, 25):
        resumed = islice(shuffled(buckets, 7, straight[number][2]), 39 - number)
        for (_, expected, _), (_, places, _) in zip(straight[number + 1 :], resumed, strict=True):
            np.testing.assert_array_equal(places, expected)


def test_the_seed_and_the_epoch_decide_the_order():
    buckets = buckets_of(3)

    def order(seed, epoch):
        count = len(next(iter(buckets)).members)
        return [places.tolist() for _, places, _ in islice(shuffled(buckets, seed, Place(epoch, 0)), count)]

    assert order(0, 0) == order(0, 0)
    assert order(0, 0) != order(1, 0)
    assert order(0, 0) != order(0, 1)


def test_in_order_gives_every_utterance_once_in_whole_batches():
    buckets = buckets_of(3)
    new = []
    for bucket, places, count in in_order(buckets):
        assert len(places) == bucket.rows
        assert set(places) <= set(bucket.members)
        new += places[:count].tolist()

    assert sorted(new) == list(range(50))


def test_other_utterances_come_in_the_same_shapes_and_what_fits_nowhere_comes_alone():
    shapes = buckets_of(3)
    longest = shapes[-1]
    frames, symbols = np.array([5, longest.frames, 6]), np.array([2, 3, longest.symbols + 50])

    filled = sort_into(shapes, frames, symbols, 3, 4)

    assert filled[0][:3] == shapes[0][:3]
    assert filled[0].members.tolist() == [0]
    padded = -(-(longest.frames + 4) // 3) * 3
    assert [(bucket.rows, bucket.symbols, bucket.frames, bucket.members.tolist()) for bucket in filled[1:]] == [
        (1, 3, padded, [1]),
        (1, longest.symbols + 50, 12, [2]),
    ]
