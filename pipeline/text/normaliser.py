"""A transcript as the one string that training and synthesis share."""

import re
import unicodedata
from typing import Any, NamedTuple

from pipeline.text import english
from pipeline.text.numbers import spell_numbers

VERSION = 1
"""Raised by whoever changes what any text is normalised to: models refuse vocabularies of another version."""

PLAIN_PUNCTUATION = str.maketrans(
    {
        "‘": "'", "’": "'", "‛": "'", "ʼ": "'", "′": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "″": '"',
        "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "―": "-", "−": "-", "…": "...",
    }
)  # fmt: skip


JOINERS = "\u200c\u200d"
"""Invisible, yet part of the spelling of some languages; all other invisible marks go."""


class TextSettings(NamedTuple):
    """What decides the symbols of a text; the names and values are those of section `text`.

    Attributes:
        language: num2words' name of the language ("en", "de", ...).
        normaliser: "spoken" (figures and signs become words) or "basic" (they stay).
        case: "lower" or "keep".
        units: "characters" or "phonemes".
        stress: "keep" or "drop", of phonemes' vowels.
    """

    language: str
    normaliser: str
    case: str
    units: str
    stress: str

    @classmethod
    def from_section(cls, text: Any) -> "TextSettings":
        """Takes the section `text`."""
        return cls(**{name: getattr(text, name) for name in cls._fields})

    @property
    def symbols_from(self) -> str:
        """Where symbols come from: "characters", "cmudict" (English phonemes) or "espeak" (those of other languages)."""
        if self.units == "characters":
            return "characters"
        return "cmudict" if self.language == "en" else "espeak"


def normalise(text: str, settings: TextSettings) -> str:
    """Unicode NFC, plain quotes and dashes, single spaces, words for figures ("spoken"), case.

    Args:
        text: As in the corpus, or as a user typed it.
        settings: language, normaliser and case count.

    Returns:
        The normalised text. Normalising it again changes nothing.
    """
    text = unicodedata.normalize("NFC", text).translate(PLAIN_PUNCTUATION)
    text = "".join(character for character in text if unicodedata.category(character) != "Cf" or character in JOINERS)
    text = _single_spaces(text)
    if settings.normaliser == "spoken":
        text = english.speak(text) if settings.language == "en" else spell_numbers(text, settings.language)
    if settings.case == "lower":
        text = text.lower()
    return unicodedata.normalize("NFC", _single_spaces(text))


def _single_spaces(text: str) -> str:
    text = " ".join(
        "".join(" " if unicodedata.category(character) == "Cc" else character for character in text).split()
    )
    return re.sub(r" +(?=[,.;:!?](?:\s|$))", "", text)
