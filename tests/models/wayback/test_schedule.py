"""The layout in time: which settings are legal, and what they mean."""

import pytest

from models.wayback.schedule import Span, make_schedule

ILLEGAL = {
    "as many outer layers as layers": (("wayback", 3, [1, 4, 4], [64, 16, 8], 3), "must leave one of 3 layers inner"),
    "no counted step": (("wayback", 3, [1, 1, 4], [2, 2, 2], 1), "no step would count in the loss"),
    "boundaries out of order": (("wayback", 3, [1, 2, 2], [8, 2, 3], 1), r"boundaries is \[8, 2, 3\].*must not fall"),
    "a boundary beyond the segment": (("wayback", 2, [1, 4], [9, 2], 1), r"boundaries\[0\] is 9.*at most 8"),
    "too few periods": (("wayback", 3, [1, 4], [8, 2, 2], 0), "one period and one boundary a layer"),
    "a period of nothing": (("wayback", 2, [1, 0], [8, 2], 0), r"periods is \[1, 0\]"),
    "a boundary of nothing": (("stack", 1, [1], [0], 0), r"boundaries is \[0\]"),
    "a stack with outer layers": (("stack", 2, [1, 1], [9, 9], 1), "layout stack truncates nothing"),
}


@pytest.mark.parametrize("settings, message", ILLEGAL.values(), ids=ILLEGAL)
def test_illegal_settings_are_refused_with_the_rule_they_break(settings, message):
    with pytest.raises(ValueError, match=message):
        make_schedule(*settings)


def test_the_default_layout_by_hand():
    """Layers 0 and 1 reach back 128 of 256 steps, the top one over all."""
    schedule = make_schedule("wayback", 3, [1, 4, 4], [128, 32, 16], 2)
    assert (schedule.step_count, schedule.run_length, schedule.intervals) == (256, 4, (1, 4, 16))
    assert schedule.spans == (Span(0, 128, 2, 3), Span(128, 256, 0, 2))
    assert schedule.first_counted == 128


def test_runs_of_one_step_are_legal():
    schedule = make_schedule("wayback", 3, [1, 1, 4], [4, 4, 2], 2)
    assert schedule.run_length == 1
    assert schedule.first_counted == 4


def test_a_stack_is_as_long_as_its_largest_boundary_and_truncates_nothing():
    schedule = make_schedule("stack", 2, [1, 1], [7, 100], 0)
    assert schedule.spans == (Span(0, 100, 0, 0),)
