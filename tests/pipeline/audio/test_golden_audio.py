"""The numbers of librosa, TensorFlow, audioop and the original wayback on three signals."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from pipeline.audio.basis import mel_filters
from pipeline.audio.mel import MelSettings, centred_hann, log_mel, magnitudes
from pipeline.audio.quantisation import decode, encode

FOLDER = Path(os.environ.get("GOLDEN_DIR", Path(__file__).parents[2] / "golden")) / "audio"
ARCHIVES = [np.load(path) for path in sorted(FOLDER.glob("*.npz"))] if FOLDER.is_dir() else []


def with_key(key: str) -> list:
    """The archives that hold a key; a test over none is skipped."""
    return [pytest.param(archive, id=str(number)) for number, archive in enumerate(ARCHIVES) if key in archive]


def waveform(archive: np.lib.npyio.NpzFile, key: str) -> np.ndarray:
    return archive[key].astype(np.float32) / 32768


@pytest.mark.parametrize("padding", ["reflect", "constant"])
@pytest.mark.parametrize("archive", with_key("librosa/pcm16"))
def test_log_mel_equals_librosa(archive, padding):
    settings = MelSettings(22050, 1024, 256, 1024, 80, 0.0, 8000.0, padding, 1e-5)
    expected = archive[f"librosa/{padding}/logmel"].T
    np.testing.assert_allclose(log_mel(waveform(archive, "librosa/pcm16"), settings), expected, atol=1e-5)


@pytest.mark.parametrize("archive", with_key("librosa/reflect/magnitude"))
def test_magnitudes_equal_librosa(archive):
    padded = np.pad(waveform(archive, "librosa/pcm16"), 512, mode="reflect")
    found = magnitudes(padded, centred_hann(1024, 1024), 256)[::3].T
    np.testing.assert_allclose(found, archive["librosa/reflect/magnitude"], atol=1e-4)


@pytest.mark.parametrize("archive", with_key("tf/pcm16"))
def test_the_same_pieces_compose_tensorflows_front_end(archive):
    found = magnitudes(waveform(archive, "tf/pcm16"), centred_hann(1024, 1024), 512)
    np.testing.assert_allclose(found, archive["tf/magnitude"], atol=1e-4)
    for bank in (bank for bank in ARCHIVES if "tf_mel_htk" in bank):
        mel = found @ bank["tf_mel_htk"]
        np.testing.assert_allclose(mel, archive["tf/mel"], atol=1e-4, rtol=1e-5)
        np.testing.assert_allclose(np.log(mel + 1e-6), np.log(archive["tf/mel"] + 1e-6), atol=2e-2)


@pytest.mark.parametrize("archive", with_key("librosa_mel_slaney"))
def test_filters_and_windows_equal_librosas(archive):
    settings = json.loads(str(archive["settings_json"]))["librosa"]
    found = mel_filters(settings["sr"], settings["n_fft"], settings["n_mels"], settings["fmin"], settings["fmax"])
    np.testing.assert_allclose(found.toarray(), archive["librosa_mel_slaney"], atol=1e-8)
    np.testing.assert_allclose(centred_hann(1024, 1024), archive["librosa_hann"], atol=1e-12)
    np.testing.assert_allclose(centred_hann(1024, 1024), archive["tf_hann"], atol=1e-6)


@pytest.mark.parametrize("archive", with_key("mulaw/librosa_continuous"))
def test_mulaw_rounds_the_published_curve_to_the_nearest_of_256_levels(archive):
    expected = np.floor((archive["mulaw/librosa_continuous"] + 1) / 2 * 255 + 0.5).astype(int)
    np.testing.assert_array_equal(encode(waveform(archive, "tf/pcm16"), "mulaw", 8), expected)


@pytest.mark.parametrize("archive", with_key("linear8/round255_code"))
def test_linear_codes_and_their_levels_are_the_plain_formula(archive):
    codes = encode(waveform(archive, "tf/pcm16"), "linear", 8)
    np.testing.assert_array_equal(codes, archive["linear8/round255_code"])
    np.testing.assert_allclose(decode(codes, "linear", 8), archive["linear8/round255_back"], atol=1e-7)


@pytest.mark.parametrize("archive", with_key("wayback/ulaw_mu255"))
def test_mulaw_compands_as_the_original_waybacks_function_does_with_its_mu_set_right(archive):
    codes = encode(waveform(archive, "tf/pcm16")[:400], "mulaw", 8)
    np.testing.assert_allclose(codes / 255 * 2 - 1, archive["wayback/ulaw_mu255"], atol=0.5 * 2 / 255 + 1e-6)
