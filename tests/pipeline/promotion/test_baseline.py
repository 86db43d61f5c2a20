"""The gate without a shared store: figures that git has."""

import json
import subprocess
from pathlib import Path

import pytest

from pipeline.promotion.baseline import decide_by_git
from pipeline.promotion.decision import Outcome

ROOT = Path(__file__).resolve().parents[3]
LOCK = "schema: '2.0'\nstages:\n  codes:\n    cmd: codes\n    outs:\n    - path: data/codes\n      md5: {}.dir\n"


def git(*arguments):
    who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    subprocess.run(["git", *who, *arguments], check=True, capture_output=True)


def write(bits, error, codes="aaaa"):
    Path("data/metrics").mkdir(parents=True, exist_ok=True)
    Path("dvc.lock").write_text(LOCK.format(codes), encoding="utf-8")
    figures = {"test_bits_per_symbol": bits, "test_error": error}
    Path("data/metrics/evaluate_wayback.json").write_text(json.dumps(figures), encoding="utf-8")


@pytest.fixture
def committed(tmp_path, monkeypatch):
    """A checkout whose commit has figures."""
    monkeypatch.chdir(tmp_path)
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    git("init", "-q", "-b", "main")
    write(4.0, 0.8)
    git("add", "-A")
    git("commit", "-q", "-m", "figures")


@pytest.mark.parametrize(
    ("bits", "error", "outcome"),
    [
        (3.5, 0.8, Outcome.BETTER),
        (3.995, 0.8, Outcome.NOT_SURELY_BETTER),
        (3.5, 0.9, Outcome.WORSE),
    ],
)
def test_figures_of_the_same_test_split_are_compared(committed, bits, error, outcome):
    write(bits, error)
    assert decide_by_git("wayback", "HEAD").outcome is outcome


def test_figures_of_other_utterances_are_never_compared(committed):
    write(1.0, 0.1, codes="bbbb")
    decision = decide_by_git("wayback", "HEAD")
    assert decision.outcome is Outcome.NOT_COMPARABLE
    assert "figures of other utterances prove nothing" in decision.reason


def test_without_figures_at_the_base_commit_there_is_nothing_to_be_better_than(committed):
    decision = decide_by_git("tacotron", "HEAD")
    assert decision.outcome is Outcome.NO_CHAMPION
    assert "has no data/metrics/evaluate_tacotron.json" in decision.reason
