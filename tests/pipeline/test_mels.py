"""Stages vocabulary and mels on small corpora made here."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.audio.files import read_audio
from pipeline.audio.mel import MelSettings, log_mel
from pipeline.corpora.utterances import Utterance
from pipeline.errors import InputError
from pipeline.mels import write_features
from pipeline.sections.audio import Audio
from pipeline.sections.mels import Mels
from pipeline.sections.text import Text
from pipeline.sections.vocabulary import Vocabulary as VocabularySection
from pipeline.shards import open_mels
from pipeline.tacotron.features import check_features, check_split
from pipeline.vocabulary import collect

RATE = 16000
AUDIO = Audio(
    sample_rate=RATE,
    n_fft=512,
    hop_length=200,
    win_length=400,
    n_mels=20,
    fmin=60.0,
    fmax=7600.0,
    padding="reflect",
    log_floor=1e-4,
)
MELS = Mels(trim_db=None, trim_margin=0.0, peak_level=None, max_seconds=8.0)
TEXT = Text(language="en", normaliser="spoken", case="lower", units="characters", stress="keep", unknown="skip")
ONCE = VocabularySection(min_count=1)
SPLITS = ("train", "train", "validation", "test")


@pytest.fixture
def utterances(tmp_path):
    """Twelve recordings of 0.3 to 0.85 s in silence, at rates of their own."""
    (tmp_path / "corpus").mkdir()
    made = []
    for number in range(12):
        rate = (RATE, 22050, 8000)[number % 3]
        tone = 0.3 * np.sin(2 * np.pi * (300 + 50 * number) * np.arange(round((0.3 + 0.05 * number) * rate)) / rate)
        silence = np.zeros(rate // 2)
        soundfile.write(tmp_path / f"corpus/{number}.wav", np.concatenate([silence, tone, silence]), rate)
        seconds = len(tone) / rate + 1
        made.append(
            Utterance(str(number), SPLITS[number % 4], "", "en", f"Tone {number}.", f"{number}.wav", seconds, rate)
        )
    return made


@pytest.fixture
def write(tmp_path, utterances):
    """Runs the stage's work into a folder and opens the result."""

    def write(name="mels", utterances=utterances, mels=MELS, text=TEXT, workers=1):
        folder = tmp_path / name
        folder.mkdir()
        write_features(folder, tmp_path / "corpus", utterances, collect(utterances, text, ONCE), AUDIO, mels, workers)
        return open_mels(folder)

    return write


def test_shards_hold_the_log_mel_of_each_recording_and_the_ids_of_its_text(write, utterances, tmp_path):
    mels = write()
    vocabulary = collect(utterances, TEXT, ONCE)
    by_id = {utterance.id: utterance for utterance in utterances}
    for split in ("train", "validation", "test"):
        for found in mels.split(split):
            utterance = by_id[found.id]
            assert utterance.split == split
            waveform = read_audio(tmp_path / "corpus" / utterance.audio, RATE)
            np.testing.assert_array_equal(found.frames, log_mel(waveform, MelSettings.from_section(AUDIO)))
            np.testing.assert_array_equal(found.symbol_ids, vocabulary.encode(utterance.text))
            assert abs(len(found.frames) * 200 / RATE - utterance.seconds) <= 2 * 200 / RATE


def test_statistics_are_those_of_the_training_frames_alone(write):
    mels = write()
    frames = np.concatenate([found.frames for found in mels.split("train")]).astype(np.float64)
    np.testing.assert_allclose(mels.manifest["statistics"]["mean"], frames.mean(0), rtol=1e-6)
    np.testing.assert_allclose(mels.manifest["statistics"]["deviation"], frames.std(0), rtol=1e-5)


def test_the_manifest_says_what_made_the_features(write, utterances):
    manifest = write().manifest
    assert manifest["parameters"] == {"audio": AUDIO.model_dump(), "mels": MELS.model_dump()}
    assert manifest["vocabulary_digest"] == collect(utterances, TEXT, ONCE).digest
    assert manifest["speakers"] == {"": 12}
    assert {"numpy", "scipy", "librosa", "soxr", "libsndfile"} <= set(manifest["versions"])
    assert manifest["counts"]["train"]["utterances"] == 6


def test_the_number_of_workers_changes_no_byte(write, tmp_path):
    write("one", workers=1)
    write("two", workers=2)
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two


def test_trimming_cuts_the_silence_and_levels_follow_the_peak(write):
    trimmed = write(mels=MELS.model_copy(update={"trim_db": 35.0, "peak_level": 1.0}))
    frames = {found.id: found.frames for split in ("train", "validation", "test") for found in trimmed.split(split)}
    for number in range(12):
        assert len(frames[str(number)]) == pytest.approx((0.3 + 0.05 * number) * RATE / 200, abs=8)


def test_too_long_utterances_are_left_out_and_listed(write, tmp_path):
    mels = write(mels=MELS.model_copy(update={"max_seconds": 1.62}))
    listed = (tmp_path / "mels/rejects.csv").read_text("utf-8").splitlines()
    kept = sum(len(mels.split(split)) for split in ("train", "validation", "test"))
    assert kept + len(listed) - 1 == 12
    assert "too long: 1.65 s exceed mels.max_seconds 1.62" in "\n".join(listed)
    assert mels.manifest["rejected"] == {"too long": len(listed) - 1}


def test_a_split_with_nothing_left_stops_with_counts(write):
    with pytest.raises(InputError, match=r"no utterance left: train 0, validation 0, test 0; left out: 12 too long"):
        write(mels=MELS.model_copy(update={"max_seconds": 0.1}))


def test_symbols_that_training_never_saw_follow_the_policy(write, utterances, capsys):
    strange = [u._replace(text="A tone. ж(ж" if u.split == "test" else "A tone.") for u in utterances]
    mels = write(utterances=strange)
    assert mels.manifest["unknown_symbols"] == {"ж": {"count": 6, "first": "3"}, "(": {"count": 3, "first": "3"}}
    assert capsys.readouterr().out.count("U+0436") == 1
    with pytest.raises(InputError, match=r"U\+0436 CYRILLIC SMALL LETTER ZHE\) 6x; first in 3"):
        write("failing", utterances=strange, text=TEXT.model_copy(update={"unknown": "fail"}))


def test_a_text_of_unknown_symbols_alone_is_left_out(write, utterances):
    strange = [u._replace(text="жжж") if u.id == "3" else u for u in utterances]
    assert write(utterances=strange).manifest["rejected"] == {"no text": 1}


def test_a_training_refuses_several_speakers_with_the_utterances_of_each(write, utterances):
    two = [u._replace(speaker="Ann" if number < 5 else "Bob") for number, u in enumerate(utterances)]
    vocabulary = collect(two, TEXT, ONCE)
    with pytest.raises(InputError, match=r"2 speakers \(utterances: Ann 5, Bob 7\).*name one in corpus\.speakers"):
        check_features(write("two", utterances=two).manifest, vocabulary, AUDIO, MELS)
    check_features(write("one").manifest, vocabulary, AUDIO, MELS)


def test_a_training_refuses_utterances_without_text_with_the_half_that_needs_none(write):
    part = write().split("train")
    part.symbol_counts[0] = 1
    with pytest.raises(
        InputError, match=r"1 of 6 utterances of the train split have no text \(the first is 0\).*repro-way"
    ):
        check_split(part, "train")


def test_a_corpus_without_text_names_the_half_that_needs_none(utterances):
    with pytest.raises(InputError, match="make repro-wayback"):
        collect([utterance._replace(text="") for utterance in utterances], TEXT, ONCE)


def test_the_vocabulary_comes_from_the_training_split(utterances):
    texts = [u._replace(text="q") if u.split != "train" else u for u in utterances]
    assert "q" not in collect(texts, TEXT, ONCE).symbols


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"win_length": 600}, "win_length 600 must not exceed n_fft 512"),
        ({"hop_length": 401}, "hop_length 401 must not exceed win_length 400"),
        ({"fmax": 8001.0}, "fmax 8001.0 must not exceed half the sample_rate"),
        ({"fmin": 7600.0}, "fmin 7600.0 must be below fmax"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        Audio(**(AUDIO.model_dump() | changes))


def test_stages_without_training_import_neither_tensorflow_nor_mlflow():
    code = (
        "import sys, pipeline.prepare, pipeline.vocabulary, pipeline.mels, pipeline.codes; "
        "print([m for m in ('tensorflow', 'mlflow', 'librosa', 'torch', 'pandas') if m in sys.modules])"
    )
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_manifest_is_strict_json(write, tmp_path):
    write()
    json.loads((tmp_path / "mels/manifest.json").read_text("utf-8"), parse_constant=lambda name: pytest.fail(name))
