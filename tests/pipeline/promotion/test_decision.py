"""What becomes of a candidate."""

import numpy as np
import pandas as pd
import pytest

from pipeline.promotion.decision import Outcome, decide, decide_on_whole_figures
from pipeline.sections.gate import Criterion, Gate

CRITERIA = {
    "error": Criterion(better="lower", tolerance=0.1),
    "focus": Criterion(better="higher", tolerance=0.05),
}
GATE = Gate(min_utterances=8, confidence=0.95, resample_count=2000, tacotron=CRITERIA, wayback=CRITERIA)
COUNT = 20


def pairs(error_gain=0.0, focus_gain=0.0, noise=0.0, count=COUNT):
    """Pairs whose gains are those given, and noise of mean 0."""
    drawn = np.random.default_rng(1).normal(size=(2, count)) * noise
    drawn -= drawn.mean(axis=1, keepdims=True)
    return pd.DataFrame(
        {
            "id": [f"u{number}" for number in range(count)],
            "weight": 1.0,
            "champion.error": 1.0,
            "candidate.error": 1.0 - error_gain - drawn[0],
            "champion.focus": 0.5,
            "candidate.focus": 0.5 + focus_gain + drawn[1],
        }
    )


@pytest.mark.parametrize(
    ("gains", "outcome"),
    [
        ({"error_gain": 0.01}, Outcome.BETTER),
        ({"focus_gain": 0.01}, Outcome.BETTER),
        ({}, Outcome.NOT_SURELY_BETTER),
        ({"error_gain": 0.2, "focus_gain": -0.04}, Outcome.BETTER),
        ({"error_gain": 0.2, "focus_gain": -0.06}, Outcome.WORSE),
        ({"error_gain": -0.2}, Outcome.WORSE),
        ({"error_gain": 0.01, "noise": 0.05}, Outcome.NOT_SURELY_BETTER),
        ({"error_gain": 0.05, "noise": 0.05}, Outcome.BETTER),
        ({"error_gain": 0.5, "focus_gain": -0.04, "noise": 0.1}, Outcome.NOT_SURELY_BETTER),
        ({"error_gain": 0.5, "count": 7}, Outcome.TOO_FEW_UTTERANCES),
    ],
)
def test_a_candidate_is_promoted_when_one_figure_is_surely_better_and_none_may_be_worse(gains, outcome):
    decision = decide(pairs(**gains), CRITERIA, GATE, seed=1)
    assert decision.outcome is outcome, decision.reason


def test_what_is_not_finite_promotes_nothing_and_is_named():
    table = pairs(error_gain=0.5)
    table.loc[3, "candidate.error"] = np.inf
    decision = decide(table, CRITERIA, GATE, seed=1)
    assert decision.outcome is Outcome.FAULTY_FIGURE
    assert decision.reason == "error of the candidate is not a finite number for u3"


def test_a_figure_that_only_one_of_both_lacks_is_a_fault():
    table = pairs(error_gain=0.5)
    table.loc[2, "champion.focus"] = np.nan
    assert decide(table, CRITERIA, GATE, seed=1).outcome is Outcome.FAULTY_FIGURE
    decision = decide(pairs().drop(columns="candidate.focus"), CRITERIA, GATE, seed=1)
    assert (decision.outcome, decision.reason) == (Outcome.FAULTY_FIGURE, "the candidate has no focus")


def test_an_utterance_for_which_a_figure_means_nothing_is_left_out_of_that_figure():
    table = pairs(error_gain=0.5)
    table.loc[:3, ["champion.focus", "candidate.focus"]] = np.nan
    assert decide(table, CRITERIA, GATE, seed=1).outcome is Outcome.BETTER
    table.loc[:12, ["champion.focus", "candidate.focus"]] = np.nan
    decision = decide(table, CRITERIA, GATE, seed=1)
    assert (decision.outcome, decision.reason) == (Outcome.FAULTY_FIGURE, "only 7 utterances have focus")


@pytest.mark.parametrize(
    ("candidate", "outcome"),
    [
        ({"error": 0.85, "focus": 0.5}, Outcome.BETTER),
        ({"error": 0.95, "focus": 0.5}, Outcome.NOT_SURELY_BETTER),
        ({"error": 0.5, "focus": 0.4}, Outcome.WORSE),
        ({"error": 0.5}, Outcome.FAULTY_FIGURE),
    ],
)
def test_of_whole_figures_a_change_beyond_the_tolerance_counts(candidate, outcome):
    assert decide_on_whole_figures({"error": 1.0, "focus": 0.5}, candidate, CRITERIA).outcome is outcome


def test_every_outcome_has_an_exit_code_of_its_own_that_is_not_an_error_s():
    codes = [outcome.value for outcome in Outcome]
    assert len(set(codes)) == len(codes)
    assert not {1, 2} & set(codes)
    assert [outcome for outcome in Outcome if outcome.value == 0] == [Outcome.BETTER]
