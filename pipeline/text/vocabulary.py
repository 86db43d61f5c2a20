"""Symbols and their ids, both ways; it travels with the model that learned it."""

import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.errors import InputError
from pipeline.outputs import write_json
from pipeline.text import espeak
from pipeline.text.normaliser import VERSION, TextSettings, normalise
from pipeline.text.numbers import check_language
from pipeline.text.phonemes import phoneme_inventory, to_phonemes

FILE = "vocabulary.json"
FORMAT = 1
PADDING, END, UNKNOWN = "<pad>", "<end>", "<unknown>"


@dataclass(frozen=True)
class Vocabulary:
    """The symbols that a model knows, and the normaliser that leads to them.

    Attributes:
        symbols: In the order of their ids; id 0 is padding.
        settings: The normaliser's.
        unknown: "fail", "skip" or "symbol": what encoding does with a symbol outside the vocabulary.
    """

    symbols: tuple[str, ...]
    settings: TextSettings
    unknown: str

    @classmethod
    def collect(cls, texts: Iterable[str], settings: TextSettings, unknown: str, min_count: int) -> "Vocabulary":
        """The symbols of texts, those that occur `min_count` times at least; of English phonemes always all there are."""
        counts = Counter(symbol for text in texts for symbol in to_symbols(text, settings))
        found = {symbol for symbol, count in counts.items() if count >= min_count}
        special = (PADDING, END, UNKNOWN) if unknown == "symbol" else (PADDING, END)
        phonemes = phoneme_inventory(settings.stress) if settings.symbols_from == "cmudict" else ()
        return cls((*special, *sorted(found - set(phonemes)), *phonemes), settings, unknown)

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Reads what `save` wrote.

        Raises:
            InputError: The file is missing, altered, or made by another version of the normaliser.
        """
        if not path.exists():
            raise InputError(f"{path} is missing: stage vocabulary makes it (dvc repro vocabulary)")
        content = json.loads(path.read_text(encoding="utf-8"))
        described = content.get("normaliser", {})
        if content.get("format") != FORMAT or described.get("version") != VERSION:
            raise InputError(
                f"{path} was made by version {described.get('version')} of the normaliser, and this is version "
                f"{VERSION}: make it again (dvc repro vocabulary), or use the commit that made it"
            )
        settings = TextSettings(
            language=described["language"],
            normaliser=described["name"],
            case=described["case"],
            units=content["units"],
            stress=described["stress"],
        )
        vocabulary = cls(tuple(content["symbols"]), settings, content["unknown"])
        if vocabulary.digest != content["digest"]:
            raise InputError(
                f"{path} was altered: its digest is {content['digest']}, its content's {vocabulary.digest}"
            )
        return vocabulary

    def save(self, path: Path) -> None:
        """Writes strict JSON."""
        write_json(path, {"format": FORMAT, **self._content(), "unknown": self.unknown, "digest": self.digest})

    @property
    def size(self) -> int:
        """Number of symbols, padding included."""
        return len(self.symbols)

    @property
    def end_id(self) -> int:
        """Id of the symbol that ends every text."""
        return self._ids[END]

    @cached_property
    def digest(self) -> str:
        """Equal for equal symbols in equal order under equal normalisers; the policy on unknown ones does not count."""
        content = json.dumps(self._content(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(content.encode("utf-8")).hexdigest()[:16]

    def encode(self, text: str) -> np.ndarray:
        """The ids of a text as int32 [symbols], the end symbol once and last.

        Raises:
            InputError: A symbol is unknown and the policy is "fail".
        """
        unknown = self.unknown_symbols(text) if self.unknown == "fail" else None
        if unknown:
            raise InputError(
                f"{text!r} holds {describe_symbols(unknown)}: not in the vocabulary (text.unknown is fail)"
            )
        substitute = self._ids.get(UNKNOWN)
        ids = (self._ids.get(symbol, substitute) for symbol in to_symbols(text, self.settings))
        return np.array([*(i for i in ids if i is not None), self.end_id], np.int32)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The symbols of ids, special ones by their names: for texts of characters, joined, the normalised text."""
        return [self.symbols[int(i)] for i in ids]

    def unknown_symbols(self, text: str) -> Counter[str]:
        """The symbols of a text that the vocabulary lacks, and how often they occur."""
        return Counter(symbol for symbol in to_symbols(text, self.settings) if symbol not in self._ids)

    def difference(self, other: "Vocabulary") -> str:
        """In words, what `other` has otherwise; empty when a model of this vocabulary can use it."""
        if self.digest == other.digest:
            return ""
        added = [symbol for symbol in other.symbols if symbol not in self._ids]
        removed = [symbol for symbol in self.symbols if symbol not in other._ids]
        moved = [s for s in self.symbols if s in other._ids and other._ids[s] != self._ids[s]]
        changed = [
            f"{name} is {new!r}, was {old!r}"
            for name, old, new in zip(TextSettings._fields, self.settings, other.settings, strict=True)
            if old != new
        ]
        parts = [f"added {_quoted(added)}"] if added else []
        parts += [f"removed {_quoted(removed)}"] if removed else []
        parts += [f"reordered {_quoted(moved)}"] if moved and not (added or removed) else []
        return "; ".join([*parts, *changed])

    def require_same(self, other: "Vocabulary", what: str) -> None:
        """Refuses another vocabulary, naming the difference.

        Args:
            other: The vocabulary met.
            what: Whose it is ("data/mels").

        Raises:
            InputError: The two differ.
        """
        difference = self.difference(other)
        if difference:
            raise InputError(
                f"{what} was made with another vocabulary than the model's: {difference}; dvc repro makes both anew"
            )

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {symbol: place for place, symbol in enumerate(self.symbols)}

    def _content(self) -> dict[str, Any]:
        settings = self.settings
        normaliser = {
            "name": settings.normaliser,
            "version": VERSION,
            "language": settings.language,
            "case": settings.case,
            "stress": settings.stress,
        }
        return {"symbols": list(self.symbols), "units": settings.units, "normaliser": normaliser}


def to_symbols(text: str, settings: TextSettings) -> list[str]:
    """The symbols of a text, without the end symbol: the characters of its normal form, or phonemes and punctuation."""
    normal = normalise(text, settings)
    if settings.symbols_from == "cmudict":
        return to_phonemes(normal, settings.stress)
    if settings.symbols_from == "espeak":
        return espeak.to_phonemes(normal, settings.language, settings.stress)
    return list(normal)


def describe_symbols(counts: Counter[str]) -> str:
    """Each symbol once, with code point, name and count: "'ж' (U+0436 CYRILLIC SMALL LETTER ZHE) 2x"."""
    return ", ".join(f"{symbol!r} ({_code_points(symbol)}) {count}x" for symbol, count in sorted(counts.items()))


def _code_points(symbol: str) -> str:
    return " ".join(f"U+{ord(character):04X} {unicodedata.name(character, 'without a name')}" for character in symbol)


def _quoted(symbols: list[str]) -> str:
    return " ".join(repr(symbol) for symbol in symbols)


def check_settings(settings: TextSettings) -> None:
    """Refuses settings that no text can be spelt under.

    Raises:
        InputError: Phonemes of a language for which nothing is installed, or numbers that num2words cannot spell.
    """
    if settings.symbols_from == "espeak":
        espeak.check_language(settings.language)
    if settings.normaliser == "spoken":
        check_language(settings.language)
