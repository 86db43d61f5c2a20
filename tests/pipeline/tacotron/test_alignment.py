"""Scores of attention, on alignments whose scores are known."""

import numpy as np
import pytest

from pipeline.tacotron.alignment import mean_scores, score_alignment


def test_attention_on_the_diagonal_has_full_scores():
    scores = score_alignment(np.repeat(np.eye(10), 3, axis=0))

    assert scores.focus == 1.0
    assert scores.coverage == 1.0
    assert scores.diagonality > 0.85


def test_attention_spread_evenly_has_the_focus_of_chance_and_no_diagonality():
    scores = score_alignment(np.full((40, 20), 1 / 20))

    assert scores.focus == pytest.approx(1 / 20)
    assert scores.diagonality == pytest.approx(0.0, abs=0.01)
    assert scores.coverage == 0.0


def test_attention_stuck_on_a_symbol_is_focused_and_covers_it_and_its_neighbours_alone():
    stuck = np.zeros((30, 12))
    stuck[:, 6] = 1.0

    scores = score_alignment(stuck)

    assert scores.focus == 1.0
    assert scores.coverage == 3 / 12
    assert scores.diagonality < 0.3


def test_the_distance_from_the_diagonal_is_measured_in_shares_of_the_text():
    backwards = np.eye(2)[::-1]

    assert score_alignment(np.eye(2)).diagonality == 1.0
    assert score_alignment(backwards).diagonality == 0.0
    assert score_alignment(0.75 * np.eye(2) + 0.25 * backwards).diagonality == pytest.approx(1 - 3 * 0.25 * 0.5)


def test_means_are_over_utterances_whatever_their_lengths():
    scores = mean_scores([np.eye(4), np.full((100, 4), 0.25)])

    assert scores["focus"] == pytest.approx((1.0 + 0.25) / 2)
    assert scores["coverage"] == pytest.approx((1.0 + 0.75) / 2, abs=0.26)
