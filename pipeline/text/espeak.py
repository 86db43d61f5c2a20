"""Words of other languages than English as espeak-ng's phonemes (IPA), through phonemizer, where both are installed."""

import difflib
import unicodedata
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from pipeline.errors import InputError

if TYPE_CHECKING:
    from phonemizer.backend import EspeakBackend

WITHIN_WORDS = "'-"
STRESS_MARKS = "ˈˌ"
BETWEEN_PHONES = "|"
INSTALL = (
    "install them ('.venv/bin/python -m pip install phonemizer', and the system's espeak-ng), "
    "or set text.units to characters"
)


def to_phonemes(text: str, language: str, stress: str) -> list[str]:
    """Turns a normalised text into phonemes, single spaces between words, and its punctuation.

    What stands between two marks is pronounced together, so that words change where they meet (French liaison).

    Args:
        text: Normalised.
        language: num2words' name of the language.
        stress: "keep" (a symbol of its own before the phoneme that bears it) or "drop".

    Returns:
        Symbols, such as ["h", "a", "l", "ˈ", "oː", " ", "v", "ɛ", "l", "t", "."].

    Raises:
        InputError: phonemizer or espeak-ng is missing, or does not know the language.
    """
    symbols: list[str] = []
    for is_mark, characters in groupby(text, key=_is_mark):
        part = "".join(characters)
        symbols += part if is_mark else _spaced(part, language, stress)
    return symbols


def check_language(language: str) -> None:
    """Refuses a language whose phonemes are not to be had here.

    Raises:
        InputError: phonemizer or espeak-ng is missing, or does not know the language.
    """
    _backend(language, "keep")


def versions() -> dict[str, str]:
    """The versions of phonemizer and espeak-ng, which must be installed."""
    import phonemizer
    from phonemizer.backend import EspeakBackend

    return {"phonemizer": phonemizer.__version__, "espeak-ng": ".".join(map(str, EspeakBackend.version()))}


def symbols_of(phonemized: str) -> list[str]:
    """What phonemizer gives for some words, phones parted by bars, as symbols."""
    words = (word.split(BETWEEN_PHONES) for word in phonemized.split())
    return [symbol for place, phones in enumerate(words) for symbol in (*" " * (place > 0), *_parted(phones))]


def _parted(phones: list[str]) -> list[str]:
    """Phones, each mark of stress a symbol of its own."""
    return [symbol for phone in phones for symbol in (*_stress_of(phone), phone.lstrip(STRESS_MARKS)) if symbol]


def _stress_of(phone: str) -> str:
    return phone[: len(phone) - len(phone.lstrip(STRESS_MARKS))]


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS" and character not in WITHIN_WORDS


def _spaced(part: str, language: str, stress: str) -> list[str]:
    words = part.strip()
    if not words:
        return [" "]
    return [*" " * part.startswith(" "), *_pronounce(words, language, stress), *" " * part.endswith(" ")]


@lru_cache(maxsize=65536)
def _pronounce(words: str, language: str, stress: str) -> tuple[str, ...]:
    backend = _backend(language, stress)
    from phonemizer.separator import Separator

    separator = Separator(phone=BETWEEN_PHONES, word=" ", syllable="")
    return tuple(symbols_of(backend.phonemize([words], separator=separator, strip=True)[0]))


@lru_cache(maxsize=8)
def _backend(language: str, stress: str) -> "EspeakBackend":
    try:
        from phonemizer.backend import EspeakBackend

        known = EspeakBackend.supported_languages()
    except (ImportError, RuntimeError) as error:
        raise InputError(
            f"text.units is phonemes and text.language is {language!r}: phonemes of other languages than English come "
            f"from phonemizer and espeak-ng, and {_what_is_missing(error)} is not installed: {INSTALL}"
        ) from error
    name = _name_of(language, sorted(known))
    return EspeakBackend(name, with_stress=stress == "keep", language_switch="remove-flags")


def _what_is_missing(error: Exception) -> str:
    return "phonemizer" if isinstance(error, ImportError) else "espeak-ng"


def _name_of(language: str, known: list[str]) -> str:
    """espeak-ng's name of a language ("fr-fr" for "fr")."""
    wanted = language.lower().replace("_", "-")
    for name in (wanted, f"{wanted}-{wanted}", *(name for name in known if name.startswith(f"{wanted}-"))):
        if name in known:
            return name
    nearest = difflib.get_close_matches(wanted, known, n=3)
    raise InputError(
        f"text.language is {language!r}, which espeak-ng does not speak (nearest: {', '.join(nearest) or 'none'}): "
        "set text.units to characters"
    )
