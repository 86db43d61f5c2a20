"""Symbols and ids both ways, and what is said of unknown or other ones."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.text import TextSettings, Vocabulary
from pipeline.text.vocabulary import describe_symbols

CHARACTERS = TextSettings("en", "spoken", "lower", "characters", "keep")
PHONEMES = CHARACTERS._replace(units="phonemes")


def collected(*texts, unknown="skip", chosen=CHARACTERS, min_count=1):
    return Vocabulary.collect(texts, chosen, unknown, min_count)


def test_id_0_is_padding_and_every_text_ends_with_the_end_symbol_once():
    vocabulary = collected("a banana.")
    assert vocabulary.symbols == ("<pad>", "<end>", " ", ".", "a", "b", "n")
    for text in ("banana", "banana.", ""):
        ids = vocabulary.encode(text)
        assert ids.dtype == np.int32
        assert ids.tolist().count(vocabulary.end_id) == 1
        assert ids[-1] == vocabulary.end_id
        assert 0 not in ids


def test_encoding_and_decoding_are_inverse():
    vocabulary = collected("press 1 now!")
    assert vocabulary.decode(vocabulary.encode("Press  1 now!")) == [*"press one now!", "<end>"]


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(st.text(max_size=20), min_size=1, max_size=4))
def test_whatever_was_collected_is_known(texts):
    for chosen in (CHARACTERS, PHONEMES):
        vocabulary = collected(*texts, chosen=chosen)
        for text in texts:
            assert not vocabulary.unknown_symbols(text)
            assert vocabulary.encode(text).max() < vocabulary.size


UNKNOWN = "ab(\U0001f642\u0303ж"


def test_unknown_symbols_can_stop_and_are_each_named_once_with_code_point_and_count():
    with pytest.raises(InputError) as caught:
        collected("ab", unknown="fail").encode("abжжж")
    assert str(caught.value).count("U+0436 CYRILLIC SMALL LETTER ZHE") == 1
    assert "3x" in str(caught.value)


def test_unknown_symbols_can_be_skipped():
    vocabulary = collected("ab")
    assert vocabulary.decode(vocabulary.encode(UNKNOWN)) == ["a", "b", "<end>"]
    assert sum(vocabulary.unknown_symbols(UNKNOWN).values()) == 4


def test_unknown_symbols_can_have_a_symbol_of_their_own():
    vocabulary = collected("ab", unknown="symbol")
    assert vocabulary.decode(vocabulary.encode("aж")) == ["a", "<unknown>", "<end>"]


def test_a_rare_symbol_stays_out():
    assert "z" not in collected("aaz", "aa", min_count=2).symbols


def test_phonemes_are_all_there_whatever_the_corpus_says():
    assert collected("a", chosen=PHONEMES).size == 2 + 69
    assert collected("a", chosen=PHONEMES._replace(stress="drop")).size == 2 + 39


def test_it_comes_back_from_its_file(tmp_path):
    vocabulary = collected("hello é", unknown="symbol")
    vocabulary.save(tmp_path / "vocabulary.json")
    loaded = Vocabulary.load(tmp_path / "vocabulary.json")
    assert loaded == vocabulary
    assert loaded.digest == vocabulary.digest
    assert json.loads((tmp_path / "vocabulary.json").read_text("utf-8"))["symbols"][0] == "<pad>"


def test_an_altered_file_is_refused(tmp_path):
    path = tmp_path / "vocabulary.json"
    collected("hello").save(path)
    content = json.loads(path.read_text("utf-8"))
    content["symbols"][-1], content["symbols"][-2] = content["symbols"][-2], content["symbols"][-1]
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(InputError, match="altered"):
        Vocabulary.load(path)


def test_another_version_of_the_normaliser_is_refused(tmp_path):
    path = tmp_path / "vocabulary.json"
    collected("hello").save(path)
    path.write_text(path.read_text("utf-8").replace('"version": 1', '"version": 99'), "utf-8")
    with pytest.raises(InputError, match="version 99"):
        Vocabulary.load(path)


def test_a_missing_file_names_the_stage_that_makes_it(tmp_path):
    with pytest.raises(InputError, match="dvc repro vocabulary"):
        Vocabulary.load(tmp_path / "vocabulary.json")


def test_another_vocabulary_is_refused_by_naming_what_differs():
    mine = collected("abc")
    assert mine.difference(collected("cba", unknown="fail")) == ""
    assert mine.difference(collected("abd")) == "added 'd'; removed 'c'"
    permuted = Vocabulary((*mine.symbols[:2], "c", "b", "a"), CHARACTERS, "skip")
    assert mine.difference(permuted) == "reordered 'a' 'c'"
    assert "case is 'keep', was 'lower'" in mine.difference(collected("abc", chosen=CHARACTERS._replace(case="keep")))
    with pytest.raises(InputError, match=r"data/mels was made with another vocabulary.*reordered"):
        mine.require_same(permuted, "data/mels")


def test_a_symbol_without_a_name_is_described_by_its_code_point():
    assert "U+E000" in describe_symbols(collected("a").unknown_symbols("\ue000"))
