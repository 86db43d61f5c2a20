"""What the pipeline says at its end."""

import json

import pytest

from pipeline import headline
from pipeline.headline import HEADLINES, TITLES, headlines


@pytest.fixture
def data(tmp_path):
    (tmp_path / "metrics").mkdir()
    figures = {"test_loss": 1.0, "test_error": 0.5, "test_stop_rate": 0.25}
    (tmp_path / "metrics/evaluate_tacotron.json").write_text(json.dumps(figures))
    (tmp_path / "synthesize_tacotron").mkdir()
    (tmp_path / "report").mkdir()
    (tmp_path / "report/index.html").write_text("")
    return tmp_path


def test_figures_come_in_the_order_of_importance_with_shares_in_percent(data):
    shown = [(each.label, each.value, each.unit) for each in headlines(data, "tacotron")]
    assert shown == [("Mel error", 0.5, "ln"), ("Stopped by itself", 25.0, "%")]


def test_a_model_without_evaluation_has_no_figures(data):
    assert headlines(data, "wayback") == []


def test_the_end_names_figures_samples_page_and_mlflow(data, capsys):
    headline.main(data)
    said = capsys.readouterr().out
    for words in ("mel error 0.5 ln, stopped by itself 25 %", "synthesize_tacotron", "report/index.html", "make ui"):
        assert words in said
    assert len(said.splitlines()) < 12


def test_a_missing_half_is_said_with_the_command_that_makes_it(data, capsys):
    headline.main(data)
    assert "make repro-wayback" in capsys.readouterr().out


def test_before_any_stage_has_run_the_end_names_no_page_that_is_not_there(tmp_path, capsys):
    headline.main(tmp_path)
    said = capsys.readouterr().out
    assert "make repro-tacotron" in said
    assert "index.html" not in said


def test_every_headline_says_what_it_means():
    assert HEADLINES.keys() == TITLES.keys()
    assert all(each.meaning.endswith(".") and each.label for shown in HEADLINES.values() for each in shown)
