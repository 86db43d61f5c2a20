"""English words as ARPAbet."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.text.phonemes import phoneme_inventory, pronounce, to_phonemes


def spelled(text, stress="keep"):
    return " ".join(symbol if symbol != " " else "_" for symbol in to_phonemes(text, stress))


@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("hello world.", "HH AH0 L OW1 _ W ER1 L D ."),
        ("don't", "D OW1 N T"),
        ("o'clock", "AH0 K L AA1 K"),
        ("twenty-four", "T W EH1 N T IY0 _ F AO1 R"),
        ("well, yes", "W EH1 L , _ Y EH1 S"),
        ("... for", ". . . _ F AO1 R"),
        ('"no"', '" N OW1 "'),
        ("café", "K AH0 F EY1"),
    ],
)
def test_words_come_from_the_dictionary_and_punctuation_stays(text, phonemes):
    assert spelled(text) == phonemes


def test_stress_can_be_dropped():
    assert spelled("hello", "drop") == "HH AH L OW"
    assert not any(symbol[-1].isdigit() for symbol in phoneme_inventory("drop"))


def test_words_the_dictionary_lacks_are_spelt_by_their_letters():
    assert spelled("pbx") == "P IY1 B IY1 EH1 K S"
    assert spelled("xqzwv") == " ".join(("EH1 K S", "K Y UW1", "Z IY1", "D AH1 B AH0 L Y UW0", "V IY1"))


def test_a_possessive_and_a_compound_are_made_of_words_that_are_known():
    assert pronounce("waldo's")[-1] == "Z"
    assert pronounce("rerecord") == (*pronounce("re"), *pronounce("record"))


def test_a_lone_letter_is_called_by_its_name_and_an_article_is_not():
    assert spelled("a") == "EY1"
    assert spelled("a m") == "EY1 _ EH1 M"
    assert spelled("a person").startswith("AH0 _")


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet="abcdefghijklmnopqrstuvwxyz' -.,?!", max_size=30))
def test_any_english_text_has_symbols_of_the_inventory_and_punctuation_alone(text):
    for stress in ("keep", "drop"):
        known = {*phoneme_inventory(stress), " ", ".", ",", "?", "!", "'"}
        assert set(to_phonemes(" ".join(text.split()), stress)) <= known
