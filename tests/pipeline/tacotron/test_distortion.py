"""Mel cepstral distortion and time warping, against hand and brute force."""

from itertools import pairwise

import numpy as np
import pytest

from pipeline.tacotron.distortion import COEFFICIENTS, mel_cepstra, mel_cepstral_distortion, warping_path

BANDS = 80
DRAW = np.random.default_rng(0)


def cosine(number):
    return np.cos(number * np.pi * (np.arange(BANDS) + 0.5) / BANDS)


def test_cepstra_are_the_weights_of_the_cosines_that_make_up_a_frame():
    weights = DRAW.normal(size=COEFFICIENTS)
    frame = 5.0 + sum(weight * cosine(number + 1) for number, weight in enumerate(weights))

    np.testing.assert_allclose(mel_cepstra(frame[None])[0], weights, atol=1e-12)


def test_a_difference_in_one_coefficient_has_kubicheks_number_of_decibels():
    frames = DRAW.normal(size=(7, BANDS))

    distortion = mel_cepstral_distortion(frames + 0.3 * cosine(4), frames)

    assert distortion == pytest.approx(10 / np.log(10) * np.sqrt(2 * 0.3**2), rel=1e-3)


def test_the_distortion_of_smooth_spectra_is_the_root_mean_square_of_their_difference_in_decibels():
    smooth = sum(DRAW.normal(size=(2, 1)) * cosine(number) for number in range(1, COEFFICIENTS + 1))
    decibels = 20 * (smooth[0] - smooth[1]) / np.log(10)

    assert mel_cepstral_distortion(smooth[:1], smooth[1:]) == pytest.approx(np.sqrt(np.mean(decibels**2)), rel=1e-9)


def test_level_and_finer_detail_than_the_cepstra_see_do_not_count():
    frames = DRAW.normal(size=(9, BANDS))

    assert mel_cepstral_distortion(frames + 2.5, frames) == pytest.approx(0.0, abs=1e-5)
    assert mel_cepstral_distortion(frames + cosine(COEFFICIENTS + 1), frames) == pytest.approx(0.0, abs=1e-5)


def test_timing_does_not_count():
    frames = DRAW.normal(size=(6, BANDS))
    slower = np.repeat(frames, [1, 3, 1, 2, 4, 1], axis=0)

    assert mel_cepstral_distortion(slower, frames) == pytest.approx(0.0, abs=1e-5)


def test_the_path_of_like_frames_is_the_one_in_which_they_were_repeated():
    times = np.repeat(np.arange(4), [1, 2, 1, 3])

    path = warping_path(np.abs(times[:, None] - np.arange(4)).astype(float))

    assert path.tolist() == [[i, time] for i, time in enumerate(times)]


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 1), (3, 4), (4, 4)])
def test_no_path_is_cheaper(shape):
    cost = DRAW.random(shape)

    path = warping_path(cost)

    assert path[0].tolist() == [0, 0]
    assert path[-1].tolist() == [shape[0] - 1, shape[1] - 1]
    assert {tuple(after - before) for before, after in pairwise(path)} <= {(1, 0), (0, 1), (1, 1)}
    assert cost[path[:, 0], path[:, 1]].sum() == pytest.approx(cheapest(cost, 0, 0))


def cheapest(cost, i, j):
    """Cost of the best path from a place to the last corner, by trying all."""
    after = [(i + 1, j), (i, j + 1), (i + 1, j + 1)]
    rest = [cheapest(cost, *place) for place in after if place[0] < cost.shape[0] and place[1] < cost.shape[1]]
    return cost[i, j] + min(rest, default=0.0)
