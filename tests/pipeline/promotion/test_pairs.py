"""Figures in pairs, and how sure a gain is."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pipeline.promotion.measuring import by_recording
from pipeline.promotion.pairs import bootstrap, gains, pair
from pipeline.sections.gate import Criterion

LOWER, HIGHER = Criterion(better="lower", tolerance=0.0), Criterion(better="higher", tolerance=0.0)


def table(ids, errors, weights=None):
    return pd.DataFrame({"id": ids, "error": errors, "weight": weights or [1.0] * len(ids)})


def test_only_utterances_of_both_are_compared_whatever_their_order():
    pairs = pair(table(["b", "a", "c"], [2.0, 1.0, 3.0]), table(["a", "b", "d"], [0.5, 4.0, 9.0]))
    assert sorted(pairs["id"]) == ["a", "b"]
    values = dict(zip(pairs["id"], gains(pairs, "error", LOWER), strict=True))
    assert values == {"a": 0.5, "b": -2.0}
    assert list(gains(pairs, "error", HIGHER)) == list(-gains(pairs, "error", LOWER))


def test_two_rows_of_one_utterance_are_refused():
    with pytest.raises(pd.errors.MergeError):
        pair(table(["a", "a"], [1.0, 2.0]), table(["a"], [1.0]))


def test_equal_gains_leave_no_doubt():
    assert bootstrap(np.full(12, 0.25), np.arange(1.0, 13.0), 0.95, 1000, 1) == pytest.approx((0.25, 0.25, 0.25))


def test_a_gain_is_weighted():
    interval = bootstrap(np.array([1.0, 0.0, 0.0]), np.array([2.0, 1.0, 1.0]), 0.95, 1000, 1)
    assert interval.gain == 0.5
    assert (interval.low, interval.high) == (0.0, 1.0)


def test_the_interval_is_scipy_s():
    values = np.random.default_rng(7).gamma(2.0, size=40) - 1.0
    theirs = stats.bootstrap((values,), np.mean, n_resamples=40000, method="percentile", rng=3).confidence_interval
    ours = bootstrap(values, np.ones(40), 0.95, 40000, 5)
    assert ours[1:] == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_equal_seeds_give_equal_intervals():
    values = np.random.default_rng(0).normal(size=20)
    assert bootstrap(values, np.ones(20), 0.9, 1000, 3) == bootstrap(values, np.ones(20), 0.9, 1000, 3)
    assert bootstrap(values, np.ones(20), 0.9, 1000, 3) != bootstrap(values, np.ones(20), 0.9, 1000, 4)


def test_pieces_of_a_recording_count_as_one_weighted_by_their_symbols():
    pieces = pd.DataFrame(
        {
            "id": ["long#0000", "short", "long#0001"],
            "symbols": [300, 50, 100],
            "loss": [1.0, 3.0, 2.0],
            "error": [0.5, 0.1, 0.9],
        }
    )
    rows = by_recording(pieces).set_index("id")
    assert rows.loc["long"].to_dict() == pytest.approx({"loss": 1.25, "error": 0.6, "weight": 400})
    assert rows.loc["short"].to_dict() == pytest.approx({"loss": 3.0, "error": 0.1, "weight": 50})
