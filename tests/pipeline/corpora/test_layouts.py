"""The other layouts: what each reads, and that no row gets lost."""

import zipfile
from typing import get_args

import pytest

from pipeline.corpora import LAYOUTS, read_corpus
from pipeline.errors import InputError
from pipeline.sections.corpus import Corpus


def found(listing):
    return {row.id: (row.text, row.audio, row.speaker) for row in listing.rows if not row.problem}


def problems(listing):
    return {row.id: row.problem for row in listing.rows if row.problem}


def test_every_layout_that_the_parameter_allows_has_a_reader():
    assert set(LAYOUTS) == set(get_args(Corpus.model_fields["format"].annotation))


class TestCsv:
    def test_text_and_path_suffice(self, tmp_path, layout, write, record):
        record("clips/a.wav", "clips/b.flac")
        write("list.csv", 'text,audio_path\n"Hello, ""you""",clips/a.wav\nNA,clips/b.flac\n\n')
        listing = read_corpus(tmp_path, layout(format="csv", metadata="list.csv", audio_folder=""))
        assert found(listing) == {"clips/a": ('Hello, "you"', "clips/a.wav", ""), "clips/b": ("NA", "clips/b.flac", "")}
        assert listing.blank_lines == 1

    def test_columns_are_found_by_their_names_in_any_order(self, tmp_path, layout, write, record):
        record("wavs/a.wav", "wavs/b.wav")
        write("m.tsv", '\ufeffwho\tfile\tsaid\tnr\r\nAnn\ta.wav\t"quoted\t007\r\nBob\tb\t\tx\r\n')
        names = {"column_id": "nr", "column_text": "said", "column_audio": "file", "column_speaker": "who"}
        listing = read_corpus(tmp_path, layout(format="csv", metadata="m.tsv", column_separator="\t", **names))
        assert found(listing) == {"007": ('"quoted', "wavs/a.wav", "Ann"), "x": ("", "wavs/b.wav", "Bob")}

    def test_a_missing_column_is_named_with_the_nearest(self, tmp_path, layout, write):
        write("metadata.csv", "texts,audio_path\nx,y\n")
        with pytest.raises(InputError, match="no column 'text'; did you mean 'texts'"):
            read_corpus(tmp_path, layout(format="csv"))

    def test_a_ragged_row_is_rejected_with_its_line(self, tmp_path, layout, write, record):
        record("wavs/a.wav")
        write("metadata.csv", "text,audio_path\nHello, you,a.wav\nfine,a.wav\nshort\n")
        rows = read_corpus(tmp_path, layout(format="csv")).rows
        assert [(row.line, row.problem) for row in rows] == [
            (2, "row: 3 columns where the header has 2"),
            (3, ""),
            (4, "row: 1 column where the header has 2"),
        ]

    def test_a_quote_that_never_closes_stops_with_the_line_where_it_opens(self, tmp_path, layout, write):
        write("metadata.csv", 'text,audio_path\nfine,a.wav\n"never closed,b.wav\nx,c.wav\n')
        with pytest.raises(InputError, match=r"metadata\.csv, line 3: .*never closed"):
            read_corpus(tmp_path, layout(format="csv"))

    def test_a_field_over_two_lines_keeps_the_line_numbers_right(self, tmp_path, layout, write, record):
        record("wavs/a.wav")
        write("metadata.csv", 'text,audio_path\n"two\nlines",a.wav\nx,missing.wav\n')
        rows = read_corpus(tmp_path, layout(format="csv")).rows
        assert (rows[0].text, rows[0].line, rows[1].line) == ("two lines", 2, 4)
        assert rows[1].problem.startswith("missing")

    def test_a_field_of_140_000_characters_is_read(self, tmp_path, layout, write, record):
        record("wavs/a.wav")
        write("metadata.csv", f"text,audio_path\n{'x' * 140_000},a.wav\n")
        assert len(read_corpus(tmp_path, layout(format="csv")).rows[0].text) == 140_000

    @pytest.mark.parametrize("path", ["../a.wav", "/etc/passwd", "x/../../a.wav", "c:/a.wav", ""])
    def test_a_path_out_of_the_folder_is_rejected(self, tmp_path, layout, write, path):
        write("metadata.csv", f"text,audio_path\nx,{path}\n")
        assert read_corpus(tmp_path, layout(format="csv")).rows[0].problem


def test_commonvoice(tmp_path, layout, write, record):
    record("clips/common_voice_en_1.mp3", "clips/common_voice_en_2.mp3")
    write(
        "validated.tsv",
        'client_id\tpath\tsentence\tlocale\nabc\tcommon_voice_en_1.mp3\t"He said\ten\n'
        "def\tcommon_voice_en_2.mp3\tNone\ten\nghi\tcommon_voice_en_3.mp3\tgone\ten\n",
    )
    listing = read_corpus(tmp_path, layout(format="commonvoice", metadata="validated.tsv", audio_folder="clips"))
    assert found(listing) == {
        "common_voice_en_1": ('"He said', "clips/common_voice_en_1.mp3", "abc"),
        "common_voice_en_2": ("None", "clips/common_voice_en_2.mp3", "def"),
    }
    assert {row.language for row in listing.rows} == {"en"}
    assert problems(listing)["common_voice_en_3"].startswith("missing")


def test_vctk(tmp_path, layout, write, record):
    record("wav48_silence_trimmed/p225/p225_001_mic1.flac", "wav48_silence_trimmed/p225/p225_001_mic2.flac")
    record("wav48_silence_trimmed/p225/p225_002_mic2.flac", "wav48_silence_trimmed/p315/p315_001_mic1.flac")
    write("txt/p225/p225_001.txt", "Please call Stella.\n")
    write("txt/p225/p225_002.txt", "Ask her.\n")
    write("txt/p225/p225_003.txt", "Never recorded.\n")
    write("README.txt", "about")
    listing = read_corpus(tmp_path, layout(format="vctk"))
    assert found(listing) == {
        "p225_001": ("Please call Stella.", "wav48_silence_trimmed/p225/p225_001_mic1.flac", "p225"),
        "p225_002": ("Ask her.", "wav48_silence_trimmed/p225/p225_002_mic2.flac", "p225"),
    }
    assert problems(listing)["p225_003"].startswith("missing")
    assert problems(listing)["p315_001"].startswith("no text")


def test_one_id_of_two_speakers_stays_two_rows(tmp_path, layout, write, record):
    for speaker in ("p1", "p2"):
        record(f"wav48/{speaker}/001.wav")
        write(f"txt/{speaker}/001.txt", f"By {speaker}.")
    rows = read_corpus(tmp_path, layout(format="vctk")).rows
    assert [(row.id, row.speaker, row.text, row.audio) for row in rows] == [
        ("001", "p1", "By p1.", "wav48/p1/001.wav"),
        ("001", "p2", "By p2.", "wav48/p2/001.wav"),
    ]


def test_two_recordings_of_one_name_stay_two_rows(tmp_path, layout, write, record):
    record("1/2/1_2_3.wav", "1/2/1_2_3.flac")
    write("1/2/1_2_3.normalized.txt", "Twice.")
    rows = read_corpus(tmp_path, layout(format="libritts")).rows
    assert [(row.id, row.audio) for row in rows] == [("1_2_3", "1/2/1_2_3.flac"), ("1_2_3", "1/2/1_2_3.wav")]


def test_libritts(tmp_path, layout, write, record):
    folder = "train-clean-100/103/1240"
    record(*(f"{folder}/103_1240_0000{n}.wav" for n in (1, 2, 3)))
    write(f"{folder}/103_1240_00001.normalized.txt", "Mister Smith.")
    write(f"{folder}/103_1240_00001.original.txt", "Mr. Smith.")
    write(f"{folder}/103_1240_00002.original.txt", "Only this.")
    write(f"{folder}/103_1240_00004.normalized.txt", "Never recorded.")
    write(f"{folder}/103_1240.trans.tsv", "x")
    listing = read_corpus(tmp_path, layout(format="libritts"))
    assert found(listing) == {
        "103_1240_00001": ("Mister Smith.", f"{folder}/103_1240_00001.wav", "103"),
        "103_1240_00002": ("Only this.", f"{folder}/103_1240_00002.wav", "103"),
    }
    assert set(problems(listing)) == {"103_1240_00003", "103_1240_00004"}


def test_folder(tmp_path, layout, write, record):
    record("a.wav", "deep/er/b.flac", "c.wav", ".hidden/d.wav", "._a.wav", "bad.wav")
    write("a.txt", "\ufeffHello\r\nworld\r\n")
    write("deep/er/b.txt", "Second.")
    write("alone.txt", "No recording.")
    write("bad.txt", b"\x92")
    listing = read_corpus(tmp_path, layout(format="folder"))
    assert found(listing) == {"a": ("Hello world", "a.wav", ""), "deep/er/b": ("Second.", "deep/er/b.flac", "")}
    assert {name: problem.split(":")[0] for name, problem in problems(listing).items()} == {
        "alone": "missing",
        "bad": "text",
        "c": "no text",
    }


def test_archives_are_not_unpacked(tmp_path, layout, write, record):
    record("a.wav")
    write("a.txt", "Hi.")
    with zipfile.ZipFile(tmp_path / "more.zip", "w") as archive:
        archive.write(tmp_path / "a.wav", "../outside.wav")
        archive.write(tmp_path / "a.wav", "inside.wav")
    before = sorted(tmp_path.rglob("*"))
    assert list(found(read_corpus(tmp_path, layout(format="folder")))) == ["a"]
    assert list(found(read_corpus(tmp_path, layout(format="audio")))) == ["a"]
    assert sorted(tmp_path.rglob("*")) == before


def test_audio_and_files(tmp_path, layout, write, record):
    record("b.wav", "a/x.flac")
    write("notes.md", "text")
    audio = read_corpus(tmp_path, layout(format="audio"))
    assert list(found(audio)) == ["a/x", "b"]
    assert not audio.has_text
    files = read_corpus(tmp_path, layout(format="files"))
    assert list(found(files)) == ["a/x.flac", "b.wav", "notes.md"]
    assert not files.has_audio
