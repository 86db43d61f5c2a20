"""What a log-mel frame says about a signal."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pipeline.audio.basis import mel_filters
from pipeline.audio.mel import MelSettings, frame_count, log_mel, pad_centre

SETTINGS = MelSettings(16000, 1024, 200, 800, 80, 60.0, 7600.0, "reflect", 1e-4)


def test_a_sine_peaks_in_the_band_around_its_frequency():
    wave = 0.5 * np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000)
    band = int(np.argmax(log_mel(wave.astype(np.float32), SETTINGS)[40]))
    filters = SETTINGS.filters().toarray()
    assert np.argmax(filters[:, round(1000 * 1024 / 16000)]) == band


@pytest.mark.parametrize("samples", [1, 7, 199, 200, 201, 512, 513, 800, 1023, 1024, 4000, 4001, 3999])
@pytest.mark.parametrize("padding", ["reflect", "constant"])
def test_frames_follow_one_rule_for_every_length(samples, padding):
    wave = np.random.default_rng(0).normal(size=samples).astype(np.float32)
    frames = log_mel(wave, SETTINGS._replace(padding=padding))
    assert frames.shape == (1 + samples // 200, 80)
    assert len(frames) == frame_count(samples, 200)
    assert np.isfinite(frames).all()


def test_long_clips_are_made_in_parts_and_equal_the_whole(monkeypatch):
    wave = np.random.default_rng(0).normal(size=9000).astype(np.float32)
    whole = log_mel(wave, SETTINGS)
    monkeypatch.setattr("pipeline.audio.mel.FRAMES_AT_ONCE", 7)
    np.testing.assert_array_equal(log_mel(wave, SETTINGS), whole)


@pytest.mark.parametrize("samples", [1, 2, 7, 8, 9, 10, 30])
@pytest.mark.parametrize("padding", ["reflect", "constant"])
def test_padding_is_numpys(samples, padding):
    wave = np.random.default_rng(0).normal(size=samples).astype(np.float32)
    np.testing.assert_array_equal(pad_centre(wave, 16, padding), np.pad(wave, 8, mode=padding))


def test_neither_other_windows_nor_other_threads_leave_traces():
    waves = [np.random.default_rng(seed).normal(size=20000).astype(np.float32) for seed in range(16)]
    alone = [log_mel(wave, SETTINGS) for wave in waves]
    log_mel(waves[0], SETTINGS._replace(win_length=1024))
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda wave: log_mel(wave, SETTINGS), waves))
    np.testing.assert_array_equal(together, alone)


def test_silence_is_the_floor():
    np.testing.assert_allclose(log_mel(np.zeros(4000, np.float32), SETTINGS), np.log(1e-4), rtol=1e-6)


def test_twice_the_amplitude_adds_ln_2_above_the_floor():
    wave = 0.1 * np.random.default_rng(0).normal(size=8000).astype(np.float32)
    np.testing.assert_allclose(log_mel(2 * wave, SETTINGS) - log_mel(wave, SETTINGS), np.log(2), atol=1e-4)


def test_bands_too_narrow_for_the_transform_are_refused_by_name():
    with pytest.raises(ValueError, match=r"lower audio\.n_mels or raise audio\.n_fft"):
        mel_filters(16000, 256, 100, 0.0, 8000.0)


def test_an_empty_waveform_has_no_frames():
    with pytest.raises(ValueError, match="empty"):
        log_mel(np.zeros(0, np.float32), SETTINGS)
