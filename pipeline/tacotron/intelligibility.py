"""How much of what was said a recogniser understands."""

import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import jiwer

from pipeline.text import TextSettings, normalise

NOTHING = "(nothing)"
WITHIN_WORDS = "LMN"
"""Unicode's letters, marks and numbers."""


class Errors(NamedTuple):
    """Substitutions, deletions and insertions between a text and what was heard, and the text's length.

    Attributes:
        words, characters: Of the text.
        word_errors, character_errors: The smallest number of edits (Levenshtein 1966).
    """

    words: int
    word_errors: int
    characters: int
    character_errors: int


def count_errors(text: str, heard: str, language: str) -> Errors:
    """Compares both as a listener would: figures as words, no case, no punctuation.

    Args:
        text: What was said; it must hold a word.
        heard: What the recogniser understood; may be empty.
        language: Of both.
    """
    said, understood = (_plain(given, language) for given in (text, heard))
    words = jiwer.process_words(said, understood)
    characters = jiwer.process_characters(said, understood)
    edits = (words, characters)
    counts = [output.substitutions + output.deletions + output.insertions for output in edits]
    return Errors(len(said.split()), counts[0], len(said), counts[1])


def has_words(text: str, language: str) -> bool:
    """Whether anything is left to compare."""
    return bool(_plain(text, language))


def error_rates(rows: Sequence[dict[str, Any]], prefix: str) -> dict[str, float]:
    """Edits of all rows by the length of all their texts; above 1 where more is heard than was said.

    Args:
        rows: Each with `words` and `characters`, and the edits under `<prefix>_word_errors` and so on.
        prefix: What was heard.
    """
    return {
        f"{prefix}_{unit}_error_rate": sum(row[f"{prefix}_{unit}_errors"] for row in rows)
        / sum(row[f"{unit}s"] for row in rows)
        for unit in ("word", "character")
    }


def _plain(text: str, language: str) -> str:
    spoken = normalise(text, TextSettings(language, "spoken", "lower", "characters", "drop"))
    kept = (
        character if unicodedata.category(character)[0] in WITHIN_WORDS or character == "'" else " "
        for character in spoken
    )
    return " ".join("".join(kept).split())
