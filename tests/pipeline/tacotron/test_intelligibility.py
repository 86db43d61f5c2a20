"""Errors between what was said and what was heard, counted by hand."""

import pytest

from pipeline.tacotron.intelligibility import Errors, count_errors, error_rates, has_words

CASES = {
    "the same words, written otherwise": ("Press 2, please!", "press two please", Errors(3, 0, 16, 0)),
    "one word for another": ("press two", "press too", Errors(2, 1, 9, 1)),
    "a word too few": ("please press two", "press two", Errors(3, 1, 16, 7)),
    "a word too many": ("press two", "press the two", Errors(2, 1, 9, 4)),
    "nothing heard": ("thank you", "", Errors(2, 2, 9, 9)),
    "more heard than said": ("no", "oh no no no", Errors(1, 3, 2, 9)),
    "an apostrophe is part of its word": ("I'm", "im", Errors(1, 1, 3, 1)),
}


@pytest.mark.parametrize(("said", "heard", "errors"), CASES.values(), ids=CASES)
def test_edits_are_the_fewest_that_make_one_of_the_other(said, heard, errors):
    assert count_errors(said, heard, "en") == errors


def test_rates_weigh_every_word_the_same():
    rows = [
        {"words": 1, "characters": 2, "free_word_errors": 3, "free_character_errors": 9},
        {"words": 9, "characters": 38, "free_word_errors": 0, "free_character_errors": 1},
    ]
    assert error_rates(rows, "free") == {"free_word_error_rate": 0.3, "free_character_error_rate": 0.25}


def test_a_text_of_signs_alone_has_no_words():
    assert has_words("five", "en")
    assert not has_words("...!", "en")
