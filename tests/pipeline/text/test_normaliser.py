"""A transcript's normal form: published examples, telephone prompts, other languages, and what holds for any text."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.text import TextSettings, normalise
from pipeline.text.vocabulary import check_settings

ENGLISH = TextSettings("en", "spoken", "keep", "characters", "keep")
BASIC = TextSettings("de", "basic", "lower", "characters", "keep")

LJSPEECH = {
    "1": "one",
    "15": "fifteen",
    "24": "twenty-four",
    "100": "one hundred",
    "101": "one hundred one",
    "456": "four hundred fifty-six",
    "1000": "one thousand",
    "1800": "eighteen hundred",
    "2,000": "two thousand",
    "3000": "three thousand",
    "18000": "eighteen thousand",
    "24,000": "twenty-four thousand",
    "124,001": "one hundred twenty-four thousand one",
    "6.4 sec": "six point four sec",
    "1st": "first",
    "2nd": "second",
    "9th": "ninth",
    "243rd place": "two hundred forty-third place",
    "1400": "fourteen hundred",
    "1901": "nineteen oh one",
    "1999": "nineteen ninety-nine",
    "2000": "two thousand",
    "2004": "two thousand four",
    "2010": "twenty ten",
    "2012": "twenty twelve",
    "2025": "twenty twenty-five",
    "September 11, 2001": "September eleven, two thousand one",
    "July 26, 1984.": "July twenty-six, nineteen eighty-four.",
    "$0.00": "zero dollars",
    "$1": "one dollar",
    "$10": "ten dollars",
    "$.01": "one cent",
    "$0.25": "twenty-five cents",
    "$5.00": "five dollars",
    "$5.01": "five dollars, one cent",
    "$135.99.": "one hundred thirty-five dollars, ninety-nine cents.",
    "$40,000": "forty thousand dollars",
    "for £2500!": "for twenty-five hundred pounds!",
    "Mr. Ducksworth": "mister Ducksworth",
    "Mrs. Gen. Sgt. Capt. Rev.": "misess general sergeant captain reverend",
    "Dr. Who, St. Paul": "doctor Who, saint Paul",
}
PROMPTS = {
    "Press 1 now.": "Press one now.",
    "followed by # or just # to exit": "followed by pound or just pound to exit",
    "separated by * and then": "separated by star and then",
    "extension 1234 and password 4242": "extension one two three four and password four two four two",
    "dial extension 8500": "dial extension eighty-five hundred",
    "dial 600": "dial six hundred",
    "a 28.8 kilobit modem": "a twenty-eight point eight kilobit modem",
    "call 555-1234": "call five five five, one two three four",
    "(555) 123-4567": "five five five, one two three, four five six seven",
    "1-800-555-1234": "one, eight zero zero, five five five, one two three four",
    "007": "zero zero seven",
    "12345678": "one two three four five six seven eight",
    "H.323": "H dot three hundred twenty-three",
    "visit www.asterisk.org.": "visit www dot asterisk dot org.",
    "me@example.com": "me at example dot com",
}
OTHERS = {
    "$2.5 million": "two point five million dollars",
    "£1.50, €2, ¥300": "one pound, fifty pence, two euros, three hundred yen",
    "at 10:30": "at ten thirty",
    "at 10:05 a.m.": "at ten oh five A M",
    "at 10:00": "at ten o'clock",
    "2024-05-01": "May first, twenty twenty-four",
    "12/25/1999": "December twenty-fifth, nineteen ninety-nine",
    "U.S.A.": "U S A",
    "the 1990s and 80s": "the nineteen nineties and eighties",
    "pages 5-10": "pages five to ten",
    "-5 degrees": "minus five degrees",
    "3/4 cup, ½ cup": "three quarters cup, one half cup",
    "version 1.6.1": "version one point six point one",
    "1,234.56": "one thousand two hundred thirty-four point five six",
    "50% & more": "fifty percent and more",
    "mp3": "mp three",
    "#5 of 7": "number five of seven",
    "“Don’t” — he said…": '"Don\'t" - he said...',
    "Wait ,what ?": "Wait ,what?",
}


@pytest.mark.parametrize(("text", "spoken"), [*LJSPEECH.items(), *PROMPTS.items(), *OTHERS.items()])
def test_english_is_written_as_it_is_spoken(text, spoken):
    assert normalise(text, ENGLISH) == spoken


@pytest.mark.parametrize(
    ("language", "text", "spoken"),
    [
        ("de", "Füße 12, 3,5 %", "Füße zwölf, drei Komma fünf %"),
        ("fr", "21 œufs à 7", "vingt et un œufs à sept"),
        ("es", "¿Tienes 3 años?", "¿Tienes tres años?"),
        ("ru", "Их 5.", "Их пять."),
        ("de", "Code 007", "Code null null sieben"),
    ],
)
def test_other_languages_keep_their_letters_and_spell_their_numbers(language, text, spoken):
    assert normalise(text, ENGLISH._replace(language=language)) == spoken


def test_the_basic_normaliser_keeps_letters_and_figures():
    assert normalise("  Füße\t12  ", BASIC) == "füße 12"
    assert normalise("Füße 12", ENGLISH._replace(case="lower")) == "füße twelve"


def test_composed_and_decomposed_letters_are_one():
    assert normalise("e\u0301", BASIC) == normalise("\u00e9", BASIC) == "\u00e9"


def test_invisible_marks_go_and_all_white_space_is_one_space():
    assert normalise("\ufeffone\u200b two\u00a0\u2003three\n\x00four\u00ad", BASIC) == "one two three four"


def test_a_language_whose_numbers_cannot_be_spelt_is_refused_with_what_to_set():
    with pytest.raises(InputError, match=r"set text\.normaliser to basic"):
        check_settings(ENGLISH._replace(language="xx"))


ANY_TEXT = st.text(
    alphabet=st.one_of(st.characters(codec="utf-8"), st.sampled_from("0123456789$£.,:-/#*() aAMmps")), max_size=40
)


@settings(max_examples=300, deadline=None)
@given(text=ANY_TEXT)
def test_any_text_has_a_composed_form_on_one_line_without_double_spaces(text):
    for chosen in (ENGLISH, BASIC, ENGLISH._replace(language="de")):
        normal = normalise(text, chosen)
        assert normal == unicodedata.normalize("NFC", normal)
        assert normal == " ".join(normal.split())
        assert normalise(text, chosen) == normal


@settings(max_examples=200, deadline=None)
@given(text=ANY_TEXT)
def test_english_leaves_no_western_digit(text):
    assert not set("0123456789") & set(normalise(text, ENGLISH))


@settings(max_examples=200, deadline=None)
@given(text=ANY_TEXT)
def test_normalising_a_basic_text_again_changes_nothing(text):
    normal = normalise(text, BASIC)
    assert normalise(normal, BASIC) == normal
