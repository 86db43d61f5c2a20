"""One generated recording a kind of fault: the verdict names it; a good one has none."""

import numpy as np
import pytest
import soundfile

from pipeline.audio.inspection import Limits, inspect_recording

RATE = 16000
LIMITS = Limits(
    min_seconds=0.1,
    max_seconds=2.0,
    min_sample_rate=8000,
    min_peak_db=-60.0,
    max_clipped_fraction=0.01,
    max_cancellation_db=20.0,
)


def voice(seconds=0.5, rate=RATE, peak=0.5):
    rng = np.random.default_rng(7)
    noise = rng.normal(size=round(seconds * rate))
    return (peak * noise / np.abs(noise).max()).astype(np.float32)


def stereo(left, right):
    return np.stack([left, right], 1)


GOOD = {
    "noise": (voice(), RATE),
    "quiet by 55 dB": (voice(peak=10 ** (-55 / 20)), RATE),
    "telephone rate": (voice(rate=8000), 8000),
    "with an offset": (voice(peak=0.2) + np.float32(0.3), RATE),
    "stereo": (stereo(voice(), 0.5 * voice()), RATE),
    "uncorrelated stereo": (stereo(voice(), voice()[::-1]), RATE),
    "one silent channel": (stereo(voice(), 0 * voice()), RATE),
    "one sample at full scale": (voice(peak=1.0), RATE),
    "exactly long enough": (voice(0.1), RATE),
    "exactly short enough": (voice(2.0), RATE),
}
BAD = {
    "too short": (voice(0.09), RATE),
    "too long": (voice(2.1), RATE),
    "silent: all samples have one value": (0 * voice(), RATE),
    "silent: all samples": (0 * voice() + np.float32(0.25), RATE),
    "silent: the peak of -66.0 dB": (voice(peak=10 ** (-66 / 20)), RATE),
    "not finite": (np.where(np.arange(8000) == 4321, np.nan, voice()), RATE),
    "not finite: samples": (np.where(np.arange(8000) == 0, np.inf, voice()), RATE),
    "clipped": (np.clip(8 * voice(), -1, 1), RATE),
    "cancelling": (stereo(voice(), -voice()), RATE),
    "sample rate: 4000 Hz": (voice(rate=4000), 4000),
    "level: float samples reach 1.64e+04": (voice() * 32768, RATE),
}


@pytest.mark.parametrize("kind", GOOD)
def test_a_good_recording_has_no_fault(tmp_path, kind):
    samples, rate = GOOD[kind]
    soundfile.write(tmp_path / "x.wav", samples, rate, subtype="FLOAT")
    assert inspect_recording(tmp_path / "x.wav", LIMITS).reason == ""


@pytest.mark.parametrize("kind", BAD)
def test_a_fault_is_named(tmp_path, kind):
    samples, rate = BAD[kind]
    soundfile.write(tmp_path / "x.wav", samples, rate, subtype="FLOAT")
    assert inspect_recording(tmp_path / "x.wav", LIMITS).reason.startswith(kind)


def test_what_is_measured_is_right(tmp_path):
    wave = (0.5 * np.sin(2 * np.pi * 100 * np.arange(RATE) / RATE)).astype(np.float32)
    soundfile.write(tmp_path / "x.flac", wave, RATE, subtype="PCM_24")
    found = inspect_recording(tmp_path / "x.flac", LIMITS)
    assert (found.seconds, found.sample_rate, found.channels, found.encoding) == (1.0, RATE, 1, "FLAC PCM_24")
    assert found.peak_db == pytest.approx(20 * np.log10(0.5), abs=0.01)
    assert found.rms_db == pytest.approx(20 * np.log10(0.5 / np.sqrt(2)), abs=0.01)
    assert found.clipped_fraction == 0.0


def test_equal_sound_has_an_equal_digest_whatever_its_container(tmp_path):
    pcm = np.round(voice() * 32767).astype(np.int16)
    soundfile.write(tmp_path / "a.wav", pcm, RATE)
    soundfile.write(tmp_path / "b.flac", pcm, RATE)
    soundfile.write(tmp_path / "c.wav", pcm[::-1], RATE)
    a, b, c = (inspect_recording(tmp_path / name, LIMITS).digest for name in ("a.wav", "b.flac", "c.wav"))
    assert a == b != c


def test_a_recording_longer_than_a_block_is_measured_whole(tmp_path):
    wave = voice(20.0)
    wave[-1] = -0.9
    soundfile.write(tmp_path / "x.wav", wave, RATE, subtype="FLOAT")
    found = inspect_recording(tmp_path / "x.wav", LIMITS._replace(max_seconds=None))
    assert found.reason == ""
    assert found.seconds == 20.0
    assert found.peak_db == pytest.approx(20 * np.log10(0.9), abs=0.05)
