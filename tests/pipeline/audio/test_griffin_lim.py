"""From log-mel frames back to sound."""

import librosa
import numpy as np
import pytest

from pipeline.audio.griffin_lim import griffin_lim, magnitude_from_mel, phases_to_waveform
from pipeline.audio.mel import MelSettings, log_mel

SETTINGS = MelSettings(16000, 1024, 200, 800, 80, 60.0, 7600.0, "reflect", 1e-4)


@pytest.fixture(scope="module")
def wave():
    """A second of a gliding harmonic tone with a pause: as speech has."""
    time = np.arange(16000) / 16000
    phase = 2 * np.pi * np.cumsum(120 + 60 * np.sin(2 * np.pi * time)) / 16000
    tone = sum(np.sin(k * phase) / k for k in range(1, 30)) * (np.abs(time - 0.5) > 0.1)
    return (0.2 * tone).astype(np.float32)


def convergence(waveform, magnitude):
    """Spectral convergence: the relative distance between the magnitudes wanted and reached."""
    reached = np.abs(librosa.stft(waveform, n_fft=1024, hop_length=200, win_length=800)).T
    frames = min(len(reached), len(magnitude))
    return np.linalg.norm(reached[:frames] - magnitude[:frames]) / np.linalg.norm(magnitude[:frames])


@pytest.mark.parametrize("iterations", [8, 32])
def test_it_converges_as_far_as_librosas_in_as_many_iterations(wave, iterations):
    magnitude = np.abs(librosa.stft(wave, n_fft=1024, hop_length=200, win_length=800)).T
    settings = SETTINGS._replace(padding="constant")
    seeds = range(4)
    ours = [convergence(phases_to_waveform(magnitude, settings, iterations, seed), magnitude) for seed in seeds]
    theirs = [
        convergence(
            librosa.griffinlim(
                magnitude.T, n_iter=iterations, hop_length=200, win_length=800, n_fft=1024, random_state=seed
            ),
            magnitude,
        )
        for seed in seeds
    ]
    assert np.mean(ours) <= np.mean(theirs) + np.std(theirs)


def test_the_mel_of_the_result_is_the_mel_given(wave):
    frames = log_mel(wave, SETTINGS)
    again = log_mel(griffin_lim(frames, SETTINGS, 60, 1.0, seed=0), SETTINGS)[: len(frames)]
    loud = frames[: len(again)] > -4
    assert np.abs(again - frames[: len(again)])[loud].mean() < 0.15


def test_the_spectrum_found_is_not_negative_and_has_the_mel_given(wave):
    mel = np.exp(log_mel(wave, SETTINGS))
    spectrum = magnitude_from_mel(mel, SETTINGS.filters())
    assert spectrum.min() >= 0
    residual = np.linalg.norm(SETTINGS.filters() @ spectrum.T - mel.T) / np.linalg.norm(mel)
    assert residual < 0.01


def test_the_same_seed_gives_the_same_bits_and_another_gives_others(wave):
    frames = log_mel(wave, SETTINGS)[:40]
    first, second, other = (griffin_lim(frames, SETTINGS, 3, 1.0, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_the_work_of_threads_may_be_divided_in_any_way(wave, monkeypatch):
    frames = log_mel(wave, SETTINGS)
    whole = griffin_lim(frames, SETTINGS, 3, 1.0, seed=0)
    monkeypatch.setattr("pipeline.audio.griffin_lim.FRAMES_AT_ONCE", 7)
    np.testing.assert_array_equal(griffin_lim(frames, SETTINGS, 3, 1.0, seed=0), whole)


@pytest.mark.parametrize("frames", [np.full((20, 80), 3.0), np.full((20, 80), 500.0), np.full((1, 80), 0.0)])
def test_no_sample_exceeds_full_scale_whatever_a_model_predicts(frames):
    waveform = griffin_lim(frames.astype(np.float32), SETTINGS, 2, 1.5, seed=0)
    assert waveform.dtype == np.float32
    assert np.isfinite(waveform).all()
    assert np.abs(waveform).max(initial=0.0) <= 1.0


def test_the_duration_is_that_of_the_frames(wave):
    assert len(griffin_lim(log_mel(wave, SETTINGS)[:31], SETTINGS, 1, 1.0, seed=0)) == 30 * 200


@pytest.mark.parametrize("bad", [np.full((5, 80), np.nan), np.zeros((5, 79)), np.zeros((0, 80)), np.zeros(80)])
def test_what_is_no_log_mel_is_refused(bad):
    with pytest.raises(ValueError, match="log-mel frames"):
        griffin_lim(bad, SETTINGS, 1, 1.0, seed=0)
