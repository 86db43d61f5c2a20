"""The layout of a folder is found by trying."""

import pytest

from pipeline.add_corpus import changed_params, require_new
from pipeline.corpora.recognise import recognise_layout
from pipeline.errors import InputError


@pytest.mark.parametrize(
    ("name", "files", "recordings"),
    [
        ("ljspeech", {"metadata.csv": "a|x\nb|y\n"}, ["wavs/a.wav", "wavs/b.wav"]),
        ("csv", {"metadata.csv": "text,audio_path\nx,clips/a.wav\n"}, ["clips/a.wav"]),
        ("commonvoice", {"validated.tsv": "client_id\tpath\tsentence\nx\ta.mp3\tHi\n"}, ["clips/a.mp3"]),
        ("vctk", {"txt/p1/p1_001.txt": "Hi."}, ["wav48/p1/p1_001.wav"]),
        ("libritts", {"1/2/1_2_3.normalized.txt": "Hi."}, ["1/2/1_2_3.wav"]),
        ("folder", {"a.txt": "Hi."}, ["a.wav", "b.wav"]),
        ("audio", {}, ["a.wav", "deep/b.flac"]),
    ],
)
def test_each_layout_is_recognised(tmp_path, layout, write, record, name, files, recordings):
    for path, content in files.items():
        write(path, content)
    record(*recordings)
    assert recognise_layout(tmp_path, layout(format="ljspeech")).format == name


def test_a_folder_without_a_usable_row_is_refused_with_what_was_tried(tmp_path, layout, write):
    write("metadata.csv", "a|x\n")
    with pytest.raises(InputError, match=r"none of the layouts ljspeech, .*set corpus\.format"):
        recognise_layout(tmp_path, layout())


def test_taking_a_corpus_sets_its_path_and_what_its_layout_needs(tmp_path, layout):
    current = layout()
    found = current.model_copy(update={"format": "commonvoice", "metadata": "validated.tsv", "audio_folder": "clips"})
    assert changed_params(found, current, tmp_path) == {
        "corpus.path": tmp_path.as_posix(),
        "corpus.format": "commonvoice",
        "corpus.metadata": "validated.tsv",
        "corpus.audio_folder": "clips",
    }
    assert list(changed_params(current, current, tmp_path)) == ["corpus.path"]


@pytest.mark.parametrize(
    ("name", "exists", "message"),
    [
        ("a b", False, "NAME=a b must"),
        ("../x", False, "must consist"),
        ("", False, "must consist"),
        ("x", True, "exists already"),
    ],
)
def test_a_name_that_is_none_or_taken_is_refused(tmp_path, name, exists, message):
    target = tmp_path / "target"
    if exists:
        target.mkdir()
    with pytest.raises(InputError, match=message):
        require_new(tmp_path, name, target)
    with pytest.raises(InputError, match="is not a folder"):
        require_new(tmp_path / "nowhere", "x", target)
