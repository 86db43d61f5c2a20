"""English as it is spoken: abbreviations, money, dates, times, numbers and signs become words.

The rules of the published LJSpeech normalisation (Ito 2017), and what telephone prompts need. Each rule is a pattern
and its words; they apply in the order in which they stand.
"""

import re
from collections.abc import Callable

from pipeline.text.numbers import (
    digits_one_by_one,
    english_cardinal,
    english_decimal,
    english_integer,
    english_ordinal,
    english_year,
)

Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]

TITLES = {
    "mrs": "misess", "mr": "mister", "ms": "miz", "dr": "doctor", "drs": "doctors", "st": "saint", "co": "company",
    "jr": "junior", "sr": "senior", "maj": "major", "gen": "general", "rev": "reverend", "lt": "lieutenant",
    "hon": "honorable", "sgt": "sergeant", "capt": "captain", "esq": "esquire", "ltd": "limited", "col": "colonel",
    "ft": "fort", "prof": "professor", "inc": "incorporated", "ave": "avenue", "blvd": "boulevard",
    "dept": "department",
    "etc": "et cetera", "vs": "versus", "approx": "approximately", "ext": "extension", "tel": "telephone",
}  # fmt: skip
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
CURRENCIES = {
    "$": ("dollar", "dollars", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"),
    "€": ("euro", "euros", "cent", "cents"),
    "¥": ("yen", "yen", "", ""),
}
FRACTIONS = {
    ("1", "2"): "one half", ("1", "3"): "one third", ("2", "3"): "two thirds",
    ("1", "4"): "one quarter", ("3", "4"): "three quarters",
}  # fmt: skip
VULGAR_FRACTIONS = {"½": "one half", "⅓": "one third", "⅔": "two thirds", "¼": "one quarter", "¾": "three quarters"}
SIGNS = {
    "%": "percent", "&": "and", "@": "at", "+": "plus", "=": "equals", "*": "star", "#": "pound", "°": "degrees",
    "/": "slash", "\\": "backslash", "_": "underscore", "~": "tilde", "^": "caret", "|": "pipe", "<": "less than",
    ">": "greater than",
    "$": "dollars", "£": "pounds", "€": "euros", "¥": "yen", "×": "times", "÷": "divided by", "±": "plus or minus",
}  # fmt: skip
SPOKEN_DIGIT_BY_DIGIT = "extension|password|passcode|pin|code|mailbox|agent|account|channel|dial|zip"
SCALES = "hundred|thousand|million|billion|trillion"


def speak(text: str) -> str:
    """Writes out what an English reader would say for figures, abbreviations and signs; words keep their case."""
    for pattern, words in RULES:
        text = pattern.sub(words, text)
    return text


def _address(match: re.Match[str]) -> str:
    return match[0].replace(".", " dot ").replace("@", " at ")


def _initials(match: re.Match[str]) -> str:
    return " ".join(match[0].upper().replace(".", " ").split())


def _iso_date(match: re.Match[str]) -> str:
    return _date(int(match[1]), int(match[2]), int(match[3])) or match[0]


def _us_date(match: re.Match[str]) -> str:
    return _date(int(match[3]), int(match[1]), int(match[2])) or match[0]


def _date(year: int, month: int, day: int) -> str:
    if not (1 <= month <= 12 and 1 <= day <= 31 and 1000 <= year < 3000):
        return ""
    return f"{MONTHS[month - 1]} {english_ordinal(day)}, {english_year(year)}"


def _clock(match: re.Match[str]) -> str:
    hour, minute = int(match[1]), int(match[2])
    if hour > 24 or minute > 59:
        return match[0]
    half = (match[3] or "").replace(".", "").upper()
    words = english_cardinal(hour)
    if minute:
        words += f" {'oh ' if minute < 10 else ''}{english_cardinal(minute)}"
    elif not half:
        words += " o'clock"
    return f"{words} {' '.join(half)}".strip()


def _money(match: re.Match[str]) -> str:
    one, many, cent, cents = CURRENCIES[match[1]]
    whole, fraction, scale = (match[2] or "").replace(",", ""), match[3] or "", match[4]
    if scale:
        amount = english_decimal(whole, fraction) if fraction else _money_number(whole)
        return f"{amount} {scale} {many}"
    if not cent or len(fraction) not in (0, 2):
        return f"{english_decimal(whole, fraction) if fraction else _money_number(whole)} {many}"
    units, parts = int(whole or "0"), int(fraction or "0")
    spoken = [f"{_money_number(whole)} {one if units == 1 else many}"] if units else []
    if parts:
        spoken.append(f"{english_cardinal(parts)} {cent if parts == 1 else cents}")
    return ", ".join(spoken) or f"zero {many}"


def _money_number(digits: str) -> str:
    value = int(digits or "0")
    return english_year(value) if 1000 < value < 3000 else english_cardinal(value)


def _telephone(match: re.Match[str]) -> str:
    plus = "plus " if match[0].startswith("+") else ""
    return plus + ", ".join(digits_one_by_one(group) for group in re.findall(r"\d+", match[0]))


def _range(match: re.Match[str]) -> str:
    return f"{english_integer(match[1])} to {english_integer(match[2])}"


def _code(match: re.Match[str]) -> str:
    hundreds = len(match[2]) <= 4 and match[2].endswith("00") and match[2][0] != "0"
    return match[1] + (english_year(int(match[2])) if hundreds else digits_one_by_one(match[2]))


def _decade(match: re.Match[str]) -> str:
    number = english_year(int(match[1])) if len(match[1]) == 4 else english_cardinal(int(match[1]))
    return f"{number[:-1]}ies" if number.endswith("y") else f"{number}s"


def _version(match: re.Match[str]) -> str:
    return " point ".join(
        english_cardinal(int(part)) if len(part) < 7 else digits_one_by_one(part) for part in match[0].split(".")
    )


def _rule(pattern: str, words: Callable[[re.Match[str]], str], flags: int = 0) -> Rule:
    return re.compile(pattern, flags), words


RULES: tuple[Rule, ...] = (
    _rule("[½⅓⅔¼¾]", lambda match: f" {VULGAR_FRACTIONS[match[0]]} "),
    _rule(r"\b[\w.+-]+@\w[\w-]*(?:\.\w[\w-]*)+", _address),
    _rule(r"\b(?:[A-Za-z0-9-]+\.)+(?:com|org|net|edu|gov|io|info|co|uk|de|fr)\b", _address),
    _rule(r"\b(\d{1,2}):(\d{2})\s?([AaPp]\.?[Mm]\b\.?)?", _clock),
    _rule(rf"\b({'|'.join(TITLES)})\.", lambda match: TITLES[match[1].lower()], re.IGNORECASE),
    _rule(r"\bNo\.\s?(?=\d)", lambda _: "number "),
    _rule(r"\b(?:[A-Za-z]\.){2,}", _initials),
    _rule(r"\b(\d{4})-(\d{2})-(\d{2})\b", _iso_date),
    _rule(r"\b(\d{1,2})/(\d{1,2})/(\d{4})\b", _us_date),
    _rule(rf"([$£€¥])\s?(\d[\d,]*\d|\d)?(?:\.(\d+))?(?:\s({SCALES})\b)?(?<=[\w])", _money),
    _rule(
        r"(?<![\w.])(?:\+?\d{1,3}[ -])?(?:\(\d{3}\) ?|\d{3}[ -])\d{3}[ -]\d{4}\b|(?<![\w.-])\d{3}-\d{4}(?![\w-])",
        _telephone,
    ),
    _rule(r"\b(\d+)(?:st|nd|rd|th)\b", lambda match: english_ordinal(int(match[1])), re.IGNORECASE),
    _rule(r"\b([12]\d\d0|[2-9]0)['’]?s\b", _decade),
    _rule(r"(?<![\d/])(\d)/(\d)(?![\d/])", lambda match: FRACTIONS.get((match[1], match[2]), match[0])),
    _rule(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?=\.\d)", lambda match: match[0].replace(",", "")),
    _rule(r"(?<![\d.,])(\d{1,3}(?:,\d{3})+)(?![\d,])", lambda match: english_cardinal(int(match[1].replace(",", "")))),
    _rule(rf"\b((?:{SPOKEN_DIGIT_BY_DIGIT})\s+)(\d{{3,}})\b", _code, re.IGNORECASE),
    _rule(r"(?<![\w.-])(\d+)\s?[-–]\s?(\d+)(?![\w.-]*\d)", _range),
    _rule(r"(?<![\w])-(?=\d)", lambda _: "minus "),
    _rule(r"(?<=[A-Za-z])\.(?=\d)", lambda _: " dot "),
    _rule(r"\b\d+(?:\.\d+){2,}\b", _version),
    _rule(r"(?<!\d)(\d*)\.(\d+)\b", lambda match: f" {english_decimal(match[1], match[2])}"),
    _rule(r"#(?=\d)", lambda _: "number "),
    _rule(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", lambda _: " "),
    _rule(r"\d+", lambda match: english_integer(match[0])),
    _rule("[" + re.escape("".join(SIGNS)) + "]", lambda match: f" {SIGNS[match[0]]} "),
)
