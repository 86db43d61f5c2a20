"""Tracking off: nothing is started, nothing is written, and the outputs are the same but for the run's id."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline import tracking


def test_a_run_takes_everything_and_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRISE_TRACKING", "off")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.chdir(tmp_path)
    params = SimpleNamespace(flat=lambda: {"train_toy.units": 8})
    with tracking.training_run("train_toy", params, Path("state")) as run:
        run.log_metrics({"loss": 1.0}, step=1)
        run.log_artifact(Path("missing"))
        run.log_checkpoint(Path("missing"), 1, {"loss": 1.0})
        run.log_dataset("mels", "0" * 36, "data/mels")
        run.log_text("text", "a/b.txt")
        run.set_tags({"a": 1})
        run.flush()
        run.write_id(Path("runs/train_toy.json"))

    written = json.loads(Path("runs/train_toy.json").read_text())
    assert written["run_id"] is None
    assert sorted(str(path) for path in Path().rglob("*") if path.is_file()) == [
        "runs/train_toy.json",
        "state/run.json",
    ]

    with tracking.join_run(Path("runs/train_toy.json"), "evaluate_toy", params) as joined:
        joined.log_metrics({"test_loss": 1.0})
        assert joined.key == written["run_key"]
