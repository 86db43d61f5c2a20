"""Phonemes of other languages: what phonemizer gives becomes symbols, and what is missing is said."""

import sys

import pytest

from pipeline.errors import InputError
from pipeline.text import TextSettings, Vocabulary, espeak
from pipeline.text.vocabulary import check_settings

GERMAN = TextSettings("de", "spoken", "lower", "phonemes", "keep")


@pytest.fixture(autouse=True)
def forgotten():
    """Nothing is remembered from test to test."""
    espeak._backend.cache_clear()
    espeak._pronounce.cache_clear()


@pytest.mark.parametrize(
    ("phonemized", "symbols"),
    [
        ("h|a|l|ˈoː v|ˈɛ|l|t", ["h", "a", "l", "ˈ", "oː", " ", "v", "ˈ", "ɛ", "l", "t"]),
        ("b|ˌɔ̃|ʒ|ˈu|ʁ|", ["b", "ˌ", "ɔ̃", "ʒ", "ˈ", "u", "ʁ"]),
        ("", []),
    ],
)
def test_each_phone_is_a_symbol_each_mark_of_stress_one_of_its_own_and_words_are_apart(phonemized, symbols):
    assert espeak.symbols_of(phonemized) == symbols


@pytest.mark.parametrize(("language", "name"), [("de", "de"), ("fr", "fr-fr"), ("pt_BR", "pt-br"), ("es", "es")])
def test_languages_have_espeaks_names(language, name):
    assert espeak._name_of(language, ["de", "es", "es-419", "fr-be", "fr-fr", "pt", "pt-br"]) == name


def test_a_language_that_espeak_does_not_speak_is_named_with_the_nearest():
    with pytest.raises(InputError, match=r"'dee', which espeak-ng does not speak \(nearest: de\)"):
        espeak._name_of("dee", ["de", "fr-fr"])


def test_without_phonemizer_the_vocabulary_s_stage_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "phonemizer", None)
    monkeypatch.setitem(sys.modules, "phonemizer.backend", None)
    with pytest.raises(InputError, match=r"phonemizer is not installed: .*pip install phonemizer.*text\.units to char"):
        check_settings(GERMAN)
    with pytest.raises(InputError, match="phonemizer is not installed"):
        Vocabulary(("<pad>", "<end>", "a"), GERMAN, "skip").encode("ja")


def test_german_is_pronounced_with_its_punctuation():
    pytest.importorskip("phonemizer")
    try:
        espeak.check_language("de")
    except InputError as error:
        pytest.skip(str(error))
    symbols = espeak.to_phonemes("hallo, welt!", "de", "drop")
    assert (symbols[0], symbols[-1]) == ("h", "!")
    assert symbols[symbols.index(",") + 1] == " "
    assert {"l", "v", "t"} <= set(symbols)
    assert "ˈ" in espeak.to_phonemes("hallo, welt!", "de", "keep")
    vocabulary = Vocabulary.collect(["hallo, welt!"], GERMAN, "fail", 1)
    assert vocabulary.decode(vocabulary.encode("Hallo, Welt!"))[:-1] == espeak.to_phonemes("hallo, welt!", "de", "keep")
