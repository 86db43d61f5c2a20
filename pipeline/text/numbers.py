"""Numbers as words, by num2words; English without "and" and commas, years in pairs, as in LJSpeech's texts."""

import re
from decimal import Decimal
from functools import lru_cache

from num2words import num2words

from pipeline.errors import InputError

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
LONGEST_CARDINAL = 6
"""A longer English string of digits without separators names something, as a telephone number: read digit by digit."""


def digits_one_by_one(text: str) -> str:
    """ "0421" -> "zero four two one"; what is no digit is passed over."""
    return " ".join(DIGITS[int(digit)] for digit in text if digit.isdecimal())


def english_cardinal(value: int) -> str:
    """1234 -> "one thousand two hundred thirty-four"."""
    return re.sub(r",| and\b", "", num2words(value, lang="en"))


def english_ordinal(value: int) -> str:
    """243 -> "two hundred forty-third"."""
    return re.sub(r",| and\b", "", num2words(value, lang="en", to="ordinal"))


def english_year(value: int) -> str:
    """1905 -> "nineteen oh five", 1800 -> "eighteen hundred", 2004 -> "two thousand four", 2012 -> "twenty twelve"."""
    century, rest = divmod(value, 100)
    if century % 10 == 0 and rest < 10:
        return english_cardinal(value)
    if rest == 0:
        return f"{english_cardinal(century)} hundred"
    return f"{english_cardinal(century)} {'oh ' + DIGITS[rest] if rest < 10 else english_cardinal(rest)}"


def english_integer(digits: str) -> str:
    """A string of digits as it is most likely read.

    Leading zeros and long strings digit by digit, 1001 to 2999 as a year, the rest as a number.
    """
    if len(digits) > LONGEST_CARDINAL or (len(digits) > 1 and digits[0] == "0"):
        return digits_one_by_one(digits)
    value = int(digits)
    return english_year(value) if 1000 < value < 3000 else english_cardinal(value)


def english_decimal(whole: str, fraction: str) -> str:
    """("3", "14") -> "three point one four"."""
    return f"{english_cardinal(int(whole or '0'))} point {digits_one_by_one(fraction)}"


def spell_numbers(text: str, language: str) -> str:
    """Replaces the numbers of a text in any of num2words' languages; one that it cannot spell keeps its digits.

    Decimal commas count as such outside English. Leading zeros are spelt digit by digit.
    """
    return re.sub(r"\d+(?:[.,]\d+)?(?!\d)", lambda match: _spell(match[0], language), text)


def check_language(language: str) -> None:
    """Refuses a language that num2words does not know.

    Raises:
        InputError: With what to set.
    """
    try:
        num2words(1, lang=language)
    except NotImplementedError as error:
        raise InputError(
            f"text.language is {language!r}, whose numbers num2words cannot spell: set text.normaliser to basic"
        ) from error


@lru_cache(maxsize=65536)
def _spell(number: str, language: str) -> str:
    try:
        if len(number) > 1 and number[0] == "0" and number.isdecimal():
            return " ".join(num2words(int(digit), lang=language) for digit in number)
        if number.isdecimal():
            return num2words(int(number), lang=language)
        return num2words(Decimal(number.replace(",", ".")), lang=language)
    except (NotImplementedError, OverflowError, TypeError, ValueError, IndexError, KeyError):
        return number
