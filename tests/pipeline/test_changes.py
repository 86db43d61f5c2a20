"""What retraining changed: the direction and size of figures, and recordings that came and went."""

import pytest

from pipeline.changes import MOST_NAMES, Row, changed_figures, changed_rows, figure_row


@pytest.mark.parametrize(
    ("name", "before", "now", "change", "verdict"),
    [
        ("test_bits_per_symbol", 4.0, 3.0, "-1 (-25.0 %)", "better"),
        ("test_loss", 1.0, 1.5, "+0.5 (+50.0 %)", "worse"),
        ("test_stop_rate", 0.5, 1.0, "+0.5 (+100.0 %)", "better"),
        ("test_free_diagonality", 0.8, 0.4, "-0.4 (-50.0 %)", "worse"),
        ("baseline_bits_per_symbol", 5.0, 4.0, "-1 (-20.0 %)", ""),
        ("test_loss", 0.0, 1.0, "+1", "worse"),
        ("utterances", 10, 12, "+2 (+20.0 %)", ""),
    ],
)
def test_a_figure_s_change_has_a_sign_a_size_and_a_meaning_where_one_is_known(name, before, now, change, verdict):
    row = figure_row(name, before, now)
    assert (row.change, row.verdict) == (change, verdict)


def test_a_figure_that_is_new_or_gone_has_no_change():
    assert changed_figures({"test_loss": 1.0}, {"test_error": 0.5}) == [
        Row("test_loss", "1", "–"),
        Row("test_error", "–", "0.5"),
    ]


def test_equal_figures_are_not_shown():
    assert changed_figures({"test_loss": 1.0}, {"test_loss": 1.0}) == []


def prepared(folder, kept, rejected):
    folder.mkdir()
    for name, ids in (("utterances", kept), ("rejects", rejected)):
        (folder / f"{name}.csv").write_text("id,text\n" + "".join(f"{each},x\n" for each in ids))
    return folder


def test_recordings_that_came_went_or_are_rejected_now_are_counted_and_named(tmp_path):
    before = prepared(tmp_path / "before", ["001", "002", "003"], ["9"])
    many = [f"1{number:03d}" for number in range(30)]
    now = prepared(tmp_path / "now", ["001", *many], ["9", "003"])
    rows = changed_rows(before, now)
    assert rows.counts == (30, 2, 1)
    assert rows.added == many[:MOST_NAMES]
    assert (rows.removed, rows.rejected) == (["002", "003"], ["003"])


def test_without_both_lists_nothing_is_said_of_recordings(tmp_path):
    assert changed_rows(tmp_path, prepared(tmp_path / "now", ["1"], [])) is None
