"""Batches walk through whole sequences: nothing dropped, nothing mixed, from any position on."""

from itertools import islice

import numpy as np
import pytest

from pipeline.wayback.walking import Segments, counted_share, usable, walk, walk_once

LENGTHS = [7, 2, 1, 12, 5, 9]
WHOLE = Segments(step_count=4, first_counted=0)
TRUNCATED = Segments(step_count=4, first_counted=2)


@pytest.fixture(scope="module")
def split(write_split):
    return write_split(LENGTHS)


def followed(split, batches, rows):
    """For each sequence that was begun, in the order of their beginnings: its name, inputs, targets; and those that
    ended.
    """
    begun, ended, current = [], [], [None] * rows
    for batch in batches:
        symbols, mask, reset = (batch.arrays[name] for name in ("symbols", "mask", "reset"))
        for row in range(rows):
            if reset[row]:
                ended.extend(filter(None, [current[row]]))
                current[row] = (batch.items[row], [], [])
                begun.append(current[row])
            name, inputs, targets = current[row]
            assert name == batch.items[row]
            count = int(mask[row].sum())
            assert mask[row, :count].all()
            inputs.extend(symbols[row, :count])
            targets.extend(symbols[row, 1 : count + 1])
    return begun, ended


def test_each_row_walks_through_whole_sequences_in_order(split):
    by_name = dict(zip(split.ids, split, strict=True))
    _, ended = followed(split, islice(walk(split, usable(split, None), WHOLE, 2, 0, None), 12), 2)
    assert len({name for name, *_ in ended}) == 5
    for name, inputs, targets in ended:
        np.testing.assert_array_equal(inputs, by_name[name][:-1])
        np.testing.assert_array_equal(targets, by_name[name][1:])


def test_an_epoch_begins_every_sequence_of_two_symbols_or_more_once(split):
    begun, _ = followed(split, islice(walk(split, usable(split, None), WHOLE, 2, 0, None), 40), 2)
    names = [name for name, *_ in begun]
    expected = {f"sequence-{number}" for number, length in enumerate(LENGTHS) if length > 1}
    epochs = [names[first : first + 5] for first in range(0, 15, 5)]
    assert all(set(epoch) == expected for epoch in epochs)
    assert len(set(map(tuple, epochs))) > 1


def test_a_row_takes_its_next_sequence_only_where_a_segment_begins(split):
    for batch in islice(walk(split, usable(split, None), WHOLE, 2, 0, None), 20):
        assert batch.arrays["mask"][:, 0].all()
        assert (batch.arrays["symbols"][:, 1:][~batch.arrays["mask"]] == 0).all()


def test_from_the_position_of_a_batch_the_same_batches_follow(split):
    places = usable(split, None)
    batches = list(islice(walk(split, places, TRUNCATED, 3, 4, None), 20))
    resumed = list(islice(walk(split, places, TRUNCATED, 3, 4, batches[8].position), 11))
    for later, again in zip(batches[9:], resumed, strict=True):
        assert later.items == again.items
        for name, array in later.arrays.items():
            np.testing.assert_array_equal(array, again.arrays[name])


def test_where_only_the_end_of_a_segment_counts_every_symbol_that_can_count_counts_in_some_epoch(split):
    counted = {name: set() for name in split.ids}
    offsets = {}
    for batch in islice(walk(split, usable(split, None), TRUNCATED, 2, 0, None), 200):
        for row, name in enumerate(batch.items):
            if batch.arrays["reset"][row]:
                sequence = np.asarray(split[split.ids.index(name)])
                piece = batch.arrays["symbols"][row, : int(batch.arrays["mask"][row].sum()) + 1]
                offsets[row] = next(
                    begin for begin in (0, 2) if np.array_equal(sequence[begin : begin + len(piece)], piece)
                )
            present = np.flatnonzero(batch.arrays["mask"][row])
            counted[name] |= {offsets[row] + step + 1 for step in present if step >= TRUNCATED.first_counted}
            offsets[row] += TRUNCATED.step_count
    for name, length in zip(split.ids, LENGTHS, strict=True):
        assert counted[name] == set(range(3, length))
    share = sum(max(length - 3, 0) for length in LENGTHS) / sum(length - 1 for length in LENGTHS)
    assert counted_share(split, usable(split, None), TRUNCATED) == pytest.approx(share)


def test_one_walk_sees_every_target_once(split):
    seen = {number: [] for number in usable(split, None)}
    for sequences, offsets, arrays in walk_once(split, usable(split, None), 4, 4):
        for row in np.flatnonzero(sequences >= 0):
            assert len(seen[sequences[row]]) == offsets[row]
            seen[sequences[row]].extend(arrays["symbols"][row, 1:][arrays["mask"][row]])
    for number, targets in seen.items():
        np.testing.assert_array_equal(targets, split[int(number)][1:])


def test_max_examples_takes_the_first_usable_sequences(split):
    assert list(usable(split, 3)) == [0, 1, 3]
    assert list(usable(split, None)) == [0, 1, 3, 4, 5]
