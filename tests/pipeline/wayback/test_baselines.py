"""Counting alone, by hand."""

import math

import numpy as np
import pytest

from pipeline.wayback.baselines import baselines, count_pairs

TRAIN, TEST = [np.array([0, 1, 0, 1, 1]), np.array([1, 0], np.uint8)], [np.array([0, 1, 1])]


def test_pairs_are_counted_within_sequences():
    np.testing.assert_array_equal(count_pairs(TRAIN, 2), [[0, 2], [2, 1]])


def test_three_ways_of_counting_by_hand():
    """After the first symbols came 0 twice and 1 three times; 0 was followed by 1 both times, 1 by 0, 1 and 0."""
    figures = baselines(count_pairs(TRAIN, 2), count_pairs(TEST, 2))
    one = (3 + 1) / (5 + 2)
    after_0, after_1 = (2 + 1 * one) / (2 + 1), (1 + 2 * one) / (3 + 2)
    assert figures["uniform"].loss == pytest.approx(math.log(2))
    assert figures["unigram"].loss == pytest.approx(-math.log(one))
    assert figures["order1"].loss == pytest.approx(-(math.log(after_0) + math.log(after_1)) / 2)
    assert (figures["unigram"].error, figures["order1"].error) == (0.0, 0.5)


def test_a_symbol_never_seen_costs_a_finite_number_of_nats():
    figures = baselines(count_pairs([np.array([0, 0, 0])], 3), count_pairs([np.array([0, 2, 1])], 3))
    assert all(math.isfinite(figure.loss) for figure in figures.values())
