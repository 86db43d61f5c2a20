"""Every row of a corpus is kept or rejected with a reason, and splits never move."""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpora import read_corpus
from pipeline.corpora.rows import KINDS
from pipeline.corpora.utterances import Utterance, read_utterances, write_rejects, write_utterances
from pipeline.errors import InputError
from pipeline.prepare import describe, divide, judge, require_inside, require_usable, split_of, summarise
from pipeline.sections.corpus import Corpus
from pipeline.sections.prepare import Prepare

RATE = 16000


def corpus_section(**changes):
    values = {
        "path": "data/corpora/x",
        "format": "ljspeech",
        "metadata": "metadata.csv",
        "audio_folder": "wavs",
        "column_id": None,
        "column_text": "text",
        "column_audio": "audio_path",
        "column_speaker": None,
        "column_separator": ",",
        "speakers": [],
        "on_reject": "skip",
    }
    return Corpus(**(values | changes))


def prepare_section(**changes):
    values = {
        "min_seconds": 0.1,
        "max_seconds": 10.0,
        "min_sample_rate": 8000,
        "min_peak_db": -60.0,
        "max_clipped_fraction": 0.01,
        "max_cancellation_db": 20.0,
        "validation_fraction": 0.1,
        "test_fraction": 0.1,
        "min_per_split": 0,
    }
    return Prepare(**(values | changes))


def record(path: Path, seed: int, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).normal(size=4000)
    soundfile.write(path, 0.1 * noise, RATE, **options)


def make_corpus(folder: Path, count: int, *lines: str):
    for number in range(count):
        record(folder / f"wavs/u{number}.wav", number)
    rows = [f"u{number}|Text {number}.\n" for number in range(count)]
    (folder / "metadata.csv").write_text("".join([*rows, *(line + "\n" for line in lines)]), "utf-8")


def prepared(folder: Path, corpus=None, prepare=None, workers=1):
    corpus, prepare = corpus or corpus_section(), prepare or prepare_section()
    listing = read_corpus(folder, corpus)
    verdicts = judge(folder, listing, corpus, prepare, workers)
    utterances, rejects = divide(verdicts, prepare, "en")
    require_usable(listing, utterances, rejects, corpus, prepare)
    return listing, verdicts, utterances, rejects


def test_faulty_recordings_cost_their_own_rows_only(tmp_path):
    make_corpus(tmp_path, 5, "header|x", "empty|x", "silent|x", "short|x", "nan|x", "offset|x", "gone|x")
    wavs = tmp_path / "wavs"
    soundfile.write(wavs / "header.wav", np.zeros(0), RATE)
    (wavs / "empty.wav").write_bytes(b"")
    soundfile.write(wavs / "silent.wav", np.zeros(8000), RATE)
    soundfile.write(wavs / "short.wav", 0.1 * np.ones(100), RATE)
    soundfile.write(wavs / "nan.wav", np.full(8000, np.nan), RATE, subtype="FLOAT")
    soundfile.write(wavs / "offset.wav", np.full(8000, 0.5), RATE, subtype="FLOAT")
    listing, _, utterances, rejects = prepared(tmp_path)
    assert [utterance.id for utterance in utterances] == [f"u{n}" for n in range(5)]
    assert {reject.id: reject.reason.split(":")[0] for reject in rejects} == {
        "header": "empty",
        "empty": "empty",
        "silent": "silent",
        "short": "too short",
        "nan": "not finite",
        "offset": "silent",
        "gone": "missing",
    }
    assert len(utterances) + len(rejects) == len(listing.rows)
    assert [reject.line for reject in rejects] == list(range(6, 13))


def test_the_second_of_two_equal_ids_is_rejected_with_the_place_of_the_first(tmp_path):
    make_corpus(tmp_path, 3, "u1|again", "u0.wav|under its file's name")
    reasons = [reject.reason for reject in prepared(tmp_path)[3]]
    assert reasons == [
        "duplicate: the id stands already at metadata.csv, line 2",
        "duplicate: wavs/u0.wav belongs already to metadata.csv, line 1",
    ]


def test_rows_without_text_or_with_a_book_of_it_are_rejected(tmp_path):
    make_corpus(tmp_path, 3)
    (tmp_path / "metadata.csv").write_text(f"u0|fine\nu1|  \nu2|{'x' * 140_000}\n", "utf-8")
    assert [reject.reason for reject in prepared(tmp_path)[3]] == [
        "no text: the transcript is empty",
        "text: 140000 characters, more than 10000",
    ]


def test_metrics_have_the_same_keys_for_every_corpus_and_add_up(tmp_path):
    make_corpus(tmp_path, 4, "u0|again", "gone|x", "")
    listing, verdicts, utterances, rejects = prepared(tmp_path)
    metrics = summarise(listing, verdicts, utterances, rejects)
    assert metrics["rows"] == metrics["kept_utterances"] + metrics["rejected_rows"] == 6
    assert metrics["blank_lines"] == 1
    assert sum(metrics[f"rejected_{kind.replace(' ', '_')}"] for kind in KINDS) == metrics["rejected_rows"]
    assert metrics["rejected_duplicate"] == metrics["rejected_missing"] == 1
    assert all(type(value) in (int, float) for value in metrics.values())
    make_corpus(tmp_path / "other", 2)
    assert list(summarise(*prepared(tmp_path / "other"))) == list(metrics)
    json.dumps(metrics, allow_nan=False)
    assert "4 utterances kept" in describe(utterances, rejects)


def test_equal_recordings_under_different_names_are_counted(tmp_path):
    make_corpus(tmp_path, 2, "copy|x")
    (tmp_path / "wavs/copy.wav").write_bytes((tmp_path / "wavs/u0.wav").read_bytes())
    assert summarise(*prepared(tmp_path))["repeated_recordings"] == 1


def test_strict_corpora_stop_with_the_faulty_rows(tmp_path):
    make_corpus(tmp_path, 2, "gone|x")
    with pytest.raises(InputError, match=r"1 of 3 rows are faulty[\s\S]*gone \(metadata.csv, line 3\): missing"):
        prepared(tmp_path, corpus_section(on_reject="fail"))


def test_a_corpus_with_nothing_usable_stops_with_reasons(tmp_path):
    (tmp_path / "metadata.csv").write_text("a|x\nb|x\n")
    with pytest.raises(InputError, match=r"none of 2 rows is usable[\s\S]*missing"):
        prepared(tmp_path)


def test_too_small_splits_stop_with_counts_and_fractions_that_work(tmp_path):
    make_corpus(tmp_path, 20)
    with pytest.raises(InputError, match="the splits are too small: train 1") as caught:
        prepared(tmp_path, prepare=prepare_section(min_per_split=4))
    words = str(caught.value).replace(",", "").split()
    test, validation = (float(words[words.index(f"prepare.{name}_fraction:") + 1]) for name in ("test", "validation"))
    section = prepare_section(min_per_split=4, test_fraction=test, validation_fraction=validation)
    counts = Counter(utterance.split for utterance in prepared(tmp_path, prepare=section)[2])
    assert min(counts.values()) >= 4


def test_a_corpus_smaller_than_its_splits_says_so(tmp_path):
    make_corpus(tmp_path, 1)
    with pytest.raises(InputError, match=r"1 recordings cannot fill three splits of 8: lower prepare\.min_per_split"):
        prepared(tmp_path, prepare=prepare_section(min_per_split=8))


def test_only_the_chosen_speakers_are_kept(tmp_path):
    for speaker in ("Ann", "Bob"):
        record(tmp_path / f"{speaker}.wav", ord(speaker[0]))
    (tmp_path / "m.csv").write_text("text,audio_path,who\nx,Ann.wav,Ann\ny,Bob.wav,Bob\n")
    names = {"format": "csv", "metadata": "m.csv", "audio_folder": "", "column_speaker": "who"}
    chosen = corpus_section(**names, speakers=["Bob"], on_reject="fail")
    _, _, utterances, rejects = prepared(tmp_path, chosen)
    assert [utterance.speaker for utterance in utterances] == ["Bob"]
    assert rejects[0].reason == "speaker: Ann is not among corpus.speakers"
    with pytest.raises(InputError, match="names Cid; the corpus has Ann, Bob"):
        prepared(tmp_path, corpus_section(**names, speakers=["Cid"]))


def test_files_of_any_kind_are_kept_unless_empty(tmp_path):
    (tmp_path / "a.txt").write_text("bytes")
    (tmp_path / "b.bin").write_bytes(b"")
    _, _, utterances, rejects = prepared(tmp_path, corpus_section(format="files"))
    assert [utterance.id for utterance in utterances] == ["a.txt"]
    assert rejects[0].reason == "empty: 0 bytes"


def test_the_number_of_workers_changes_nothing(tmp_path):
    make_corpus(tmp_path, 40, "gone|x")
    assert prepared(tmp_path, workers=2)[1:] == prepared(tmp_path, workers=1)[1:]


@given(identity=st.text(), validation=st.floats(0, 0.5), test=st.floats(0, 0.49))
def test_a_split_depends_on_the_id_and_a_larger_test_share_only_adds_to_it(identity, validation, test):
    split = split_of(identity, validation, test)
    assert split == split_of(identity, validation, test)
    if split == "test":
        assert split_of(identity, validation, test + 0.01) == "test"


def test_added_recordings_move_no_utterance_between_splits(tmp_path):
    shares = prepare_section(validation_fraction=0.3, test_fraction=0.3)
    make_corpus(tmp_path, 20)
    before = {utterance.id: utterance.split for utterance in prepared(tmp_path, prepare=shares)[2]}
    make_corpus(tmp_path, 40)
    lines = (tmp_path / "metadata.csv").read_text("utf-8").splitlines()
    (tmp_path / "metadata.csv").write_text("\n".join(reversed(lines)), "utf-8")
    after = {utterance.id: utterance.split for utterance in prepared(tmp_path, prepare=shares)[2]}
    assert set(before.values()) == {"train", "validation", "test"}
    assert after | before == after
    assert len(after) == 40


NAMES = ("$(touch made)", "`touch made`", "a; touch made", "-rf", "{0}", "%s", "%(x)s", "a b", "'", '"', "*", "~", "ü")


def test_names_that_look_like_commands_and_formats_are_names(tmp_path):
    for number, name in enumerate(NAMES):
        record(tmp_path / f"wavs/{name}.wav", number)
    (tmp_path / "metadata.csv").write_text("".join(f"{name}|{name}\n" for name in NAMES), "utf-8")
    _, _, utterances, rejects = prepared(tmp_path)
    write_utterances(tmp_path, utterances)
    assert [(found.id, found.text, found.audio) for found in read_utterances(tmp_path)] == [
        (name, name, f"wavs/{name}.wav") for name in NAMES
    ]
    assert rejects == []
    assert not list(tmp_path.rglob("made"))


def test_the_locale_changes_nothing(tmp_path):
    names = ("äöü", "жук", "a")
    for number, name in enumerate(names):
        record(tmp_path / f"corpus/wavs/{name}.wav", number)
    (tmp_path / "corpus/metadata.csv").write_text("".join(f"{name}|“{name}”\n" for name in names), "utf-8")
    root = Path(__file__).parents[2]
    shutil.copyfile(root / "dvc.yaml", tmp_path / "dvc.yaml")
    params = (root / "params.yaml").read_text("utf-8").replace("min_per_split: 8", "min_per_split: 0")
    (tmp_path / "params.yaml").write_text(params, "utf-8")
    for name, locale in (("plain", {"LC_ALL": "C", "PYTHONUTF8": "0"}), ("utf-8", {"LC_ALL": "C.UTF-8"})):
        arguments = ["--corpus", "corpus", "--prepared", name, "--metrics", f"{name}.json"]
        environment = os.environ | {"PYTHONPATH": str(root), "REPRISE_PYTHON": sys.executable, "REPRISE_WORKERS": "1"}
        environment |= locale
        command = [root / "pipeline/python", "-m", "pipeline.prepare", *arguments]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert [utterance.id for utterance in read_utterances(tmp_path / "plain")] == list(names)
    for file in ("utterances.csv", "rejects.csv"):
        assert (tmp_path / "plain" / file).read_bytes() == (tmp_path / "utf-8" / file).read_bytes()


def test_splits_have_about_their_shares():
    counts = Counter(split_of(f"LJ001-{n:04d}", 0.05, 0.1) for n in range(4000))
    assert counts["test"] / 4000 == pytest.approx(0.1, abs=0.015)
    assert counts["validation"] / 4000 == pytest.approx(0.05, abs=0.011)


@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=30))
def test_utterances_come_back_from_their_file_as_text(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("utterances")
    written = [Utterance("001", "train", "NA", "en", text, "wavs/a.wav", 1.25, RATE)]
    write_utterances(folder, written)
    assert read_utterances(folder) == written


def test_rejects_are_a_table(tmp_path):
    make_corpus(tmp_path, 1, "gone|x")
    write_rejects(tmp_path, prepared(tmp_path)[3])
    rows = list(csv.DictReader((tmp_path / "rejects.csv").open(encoding="utf-8")))
    assert rows[0] | {"reason": ""} == {"id": "gone", "file": "metadata.csv", "line": "2", "reason": ""}


@pytest.mark.parametrize("path", ["/somewhere/corpus", "../corpus", "data/../../corpus"])
def test_a_corpus_outside_the_repository_is_refused_with_the_command_that_brings_it_in(path):
    with pytest.raises(InputError, match=f"make corpus FROM={path} NAME=corpus"):
        require_inside(Path(path))
    require_inside(Path("data/corpora/allison"))
