"""What differs between two runs, and nothing else."""

from pipeline.compare import ABSENT, difference, table


def test_equal_values_are_left_out_numbers_written_otherwise_too() -> None:
    first = {"decay_rate": "0.5", "units": "8", "layout": "stack", "clip_norm": "1.0"}
    second = {"decay_rate": "0.50", "units": "16", "layout": "stack", "clip_norm": "1"}
    assert difference(first, second) == [("units", "8", "16")]


def test_what_one_run_does_not_have_differs() -> None:
    assert difference({"a": 1.0}, {"b": 2.0}) == [("a", "1", ABSENT), ("b", ABSENT, "2")]


def test_the_table_lines_up_and_says_when_all_is_equal() -> None:
    assert table("figures", []) == "\nfigures: all equal"
    assert table("figures", [("test_loss", "0.25", "0.5")]).splitlines()[1:] == [
        "figures    A     B",
        "test_loss  0.25  0.5",
    ]
