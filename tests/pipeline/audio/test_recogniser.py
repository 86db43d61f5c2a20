"""Recordings are understood, the same way each time; a recogniser that is not there is named with what to do."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.audio.files import resample
from pipeline.audio.recogniser import SAMPLE_RATE, open_recogniser
from pipeline.errors import InputError

RECORDINGS = Path(__file__).resolve().parents[3] / "data/corpora/allison/wavs"
SPOKEN = {"activated": "activated", "vm-sorry": "i'm sorry i did not understand your response"}


@pytest.fixture(scope="module")
def hear():
    return open_recogniser("pocketsphinx", "en", SAMPLE_RATE)


def recording(name: str) -> np.ndarray:
    waveform, rate = soundfile.read(RECORDINGS / f"{name}.flac", dtype="float32")
    assert rate == SAMPLE_RATE
    return waveform


@pytest.mark.parametrize(("name", "words"), SPOKEN.items())
def test_recordings_are_understood_whatever_was_heard_before(hear, name, words):
    heard = [hear(recording(name))]
    hear(0.05 * np.random.default_rng(1).standard_normal(SAMPLE_RATE).astype(np.float32))
    heard.append(hear(recording(name)))
    assert heard == [words, words]


def test_other_rates_are_resampled():
    waveform = resample(recording("vm-sorry"), SAMPLE_RATE, 2 * SAMPLE_RATE)
    assert open_recogniser("pocketsphinx", "en", 2 * SAMPLE_RATE)(waveform) == SPOKEN["vm-sorry"]


def test_none_listens_to_nothing():
    assert open_recogniser("none", "en", SAMPLE_RATE) is None


@pytest.mark.parametrize(
    ("name", "language", "said"),
    [
        ("pocketsphinx", "de", r"pocketsphinx, which hears English, and text.language is 'de'"),
        ("pocketsphynx", "en", r"'pocketsphynx', which is neither none nor pocketsphinx nor a folder"),
    ],
)
def test_what_cannot_listen_is_refused(name, language, said):
    with pytest.raises(InputError, match=said):
        open_recogniser(name, language, SAMPLE_RATE)
