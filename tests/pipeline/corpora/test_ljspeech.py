"""`id|text` files as people write them."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.corpora import read_corpus
from pipeline.errors import InputError


@pytest.fixture
def read(tmp_path, layout, write, record):
    """Reads a metadata file beside recordings a, b, c and d."""
    record(*(f"wavs/{name}.wav" for name in "abcd"))

    def read(content):
        write("metadata.csv", content)
        return read_corpus(tmp_path, layout())

    return read


def kept(listing):
    return [(row.id, row.text) for row in listing.rows if not row.problem]


def problems(listing):
    return [(row.line, row.problem) for row in listing.rows if row.problem]


CLEAN = "a|One.|one.\nb|Two.|two.\n"


@pytest.mark.parametrize(
    "content",
    [
        CLEAN,
        CLEAN.rstrip("\n"),
        "\ufeff" + CLEAN,
        CLEAN.replace("\n", "\r\n"),
        CLEAN.replace("\n", "\r"),
        CLEAN.replace("\n", "\n\n \n") + "\n\n",
        " a | One. |  one. \n\tb|Two.|two.\t\n",
        "a|One.|\nb|two.\n".replace("One.", "one."),
        "a.wav|x|one.\nb.WAV|x|two.\n",
    ],
    ids=["clean", "no last line end", "BOM", "CRLF", "CR", "blank lines", "spaces", "2 columns", "endings"],
)
def test_the_same_rows_come_from_every_way_to_save_a_file(read, content):
    found = kept(read(content))
    assert [text for _, text in found] == ["one.", "two."]
    assert [identity[0] for identity, _ in found] == ["a", "b"]


def test_quotes_mean_themselves(read):
    listing = read('a|"Yes, he said.|"yes\nb|no "why|no "why\nc|"|"\nd|x|x\n')
    assert kept(listing) == [("a", '"yes'), ("b", 'no "why'), ("c", '"'), ("d", "x")]


def test_words_that_tables_take_for_missing_values_and_numbers_stay_text(tmp_path, write, record, layout):
    record("wavs/001.wav", "wavs/1e5.wav", "wavs/NA.wav", "wavs/null.wav")
    write("metadata.csv", "001|NA\n1e5|null\nNA|None\nnull|nan\n")
    assert kept(read_corpus(tmp_path, layout())) == [("001", "NA"), ("1e5", "null"), ("NA", "None"), ("null", "nan")]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("a", "row: 1 column where 2 or 3 are expected"),
        ("a|x|y|z", "row: 4 columns where 2 or 3 are expected; is there a | inside the text?"),
        ("|x", "id: empty"),
        ("  |x", "id: empty"),
        ("../a|x", "id: '../a' leads outside the corpus folder"),
        ("/etc/passwd|x", "id: '/etc/passwd' leads outside the corpus folder"),
        ("..\\a|x", "id: '..\\\\a' leads outside the corpus folder"),
        ("C:\\a|x", "id: 'C:\\\\a' leads outside the corpus folder"),
        ("a\0|x", "id: 'a\\x00' holds control characters"),
        ("e|x", "missing: no recording wavs/e.wav, .flac, ..."),
    ],
)
def test_a_faulty_row_is_rejected_with_its_line_and_reason_and_costs_no_other(read, line, problem):
    listing = read(f"b|Two.\n{line}\nc|Three.\n")
    assert problems(listing) == [(2, problem)]
    assert [identity for identity, _ in kept(listing)] == ["b", "c"]


def test_blank_lines_are_counted_and_do_not_shift_line_numbers(read):
    listing = read("a|x\n\n  \ne|x\n")
    assert listing.blank_lines == 2
    assert problems(listing)[0][0] == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a|x\nb|don\x92t\n", "metadata.csv, line 2, column 6: byte 0x92 is not UTF-8; save the file as UTF-8"),
        ("ä|ö\r\n".encode() + b"b|\xff\r\n", "line 2, column 3: byte 0xFF"),
        ("a|x".encode("utf-16"), "is UTF-16: save it as UTF-8"),
    ],
)
def test_a_file_in_another_encoding_is_refused_with_the_place(read, content, message):
    with pytest.raises(InputError, match=message):
        read(content)


def test_a_missing_file_or_an_empty_one_is_refused_with_what_was_looked_for(tmp_path, layout, write):
    with pytest.raises(InputError, match=r"metadata\.csv is missing"):
        read_corpus(tmp_path, layout())
    write("metadata.csv", "\n\n")
    with pytest.raises(InputError, match=r"looked for metadata\.csv and wavs/<id>\.wav"):
        read_corpus(tmp_path, layout())
    with pytest.raises(InputError, match="make corpus FROM="):
        read_corpus(tmp_path / "nowhere", layout())


def test_a_composed_id_finds_a_decomposed_file_name(tmp_path, layout, write, record):
    record("wavs/u\u0308ber.wav")
    write("metadata.csv", "\u00fcber|x\n")
    assert kept(read_corpus(tmp_path, layout())) == [("\u00fcber", "x")]


def test_recordings_of_any_ending_are_found_in_folders_and_wav_comes_first(tmp_path, layout, write, record):
    record("wavs/s1/a.flac", "wavs/b.ogg", "wavs/c.flac", "wavs/c.wav", "wavs/D.WAV")
    write("metadata.csv", "s1/a|x\nb|x\nc|x\nD|x\n")
    found = [row.audio for row in read_corpus(tmp_path, layout()).rows]
    assert found == ["wavs/s1/a.flac", "wavs/b.ogg", "wavs/c.wav", "wavs/D.WAV"]


LINES = st.text(
    alphabet=st.one_of(st.sampled_from("|\" abc\t,;'\\/."), st.characters(codec="utf-8", exclude_characters="\n\r"))
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES, max_size=8))
def test_rows_and_blank_lines_are_all_lines_whatever_stands_on_them(tmp_path, layout, lines):
    content = "".join(line + "\n" for line in ["a|first", *lines])
    (tmp_path / "metadata.csv").write_bytes(content.encode("utf-8"))
    listing = read_corpus(tmp_path, layout())
    assert len(listing.rows) + listing.blank_lines == len(lines) + 1
    assert [row.line for row in listing.rows] == sorted({row.line for row in listing.rows})
