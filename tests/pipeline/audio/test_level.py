"""Trimming and level follow the clip's own peak."""

import numpy as np
import pytest

from pipeline.audio.level import quietest_cut, remove_mean, set_peak, trim

RATE = 16000


def speech_between_silences(before=0.5, during=0.8, after=0.4):
    rng = np.random.default_rng(1)
    background = 1e-4 * rng.normal(size=round((before + during + after) * RATE))
    loud = slice(round(before * RATE), round((before + during) * RATE))
    background[loud] += 0.2 * rng.normal(size=loud.stop - loud.start)
    return background.astype(np.float32)


def test_silence_at_both_ends_is_cut_to_the_margin():
    found = trim(speech_between_silences(), RATE, trim_db=35.0, margin=0.0)
    assert len(found) / RATE == pytest.approx(0.8, abs=2 * 0.032)


def test_the_margin_is_kept_on_both_sides():
    narrow = trim(speech_between_silences(), RATE, 35.0, 0.0)
    wide = trim(speech_between_silences(), RATE, 35.0, 0.1)
    assert len(wide) - len(narrow) == round(0.2 * RATE)


@pytest.mark.parametrize("db", [0, -20, -35, -60])
def test_the_level_of_the_clip_does_not_change_what_is_cut(db):
    clip = speech_between_silences()
    quiet = (clip * 10 ** (db / 20)).astype(np.float32)
    assert len(trim(quiet, RATE, 35.0, 0.02)) == len(trim(clip, RATE, 35.0, 0.02))


def test_an_offset_does_not_hide_silence():
    clip = speech_between_silences()
    assert len(trim(clip + np.float32(0.3), RATE, 35.0, 0.02)) == len(trim(clip, RATE, 35.0, 0.02))


@pytest.mark.parametrize("clip", [np.zeros(1000, np.float32), np.full(1000, 0.3, np.float32), np.ones(1, np.float32)])
def test_a_clip_without_energy_comes_back_whole(clip):
    np.testing.assert_array_equal(trim(clip, RATE, 35.0, 0.0), clip)


def test_a_click_shorter_than_a_window_survives():
    clip = np.zeros(RATE, np.float32)
    clip[9000] = 0.5
    assert trim(clip, RATE, 35.0, 0.0).max() == 0.5


def test_set_peak_scales_to_the_peak_and_leaves_silence():
    assert np.abs(set_peak(speech_between_silences(), 0.9)).max() == pytest.approx(0.9, abs=1e-6)
    np.testing.assert_array_equal(set_peak(np.zeros(5, np.float32), 0.9), np.zeros(5))


def test_remove_mean_takes_the_offset_off():
    assert remove_mean(np.full(10, 0.25, np.float32)).tolist() == [0.0] * 10


def test_the_quietest_cut_is_in_the_pause():
    clip = np.concatenate([speech_between_silences(0, 1, 0.2), speech_between_silences(0, 1, 0)])
    assert RATE <= quietest_cut(clip, RATE, RATE // 2, 2 * RATE) <= round(1.2 * RATE)
