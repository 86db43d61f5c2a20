"""Evaluation and synthesis write to the run of the training that they look at."""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline import compare, tracking
from pipeline.errors import InputError
from pipeline.tracking.queries import find_run


@pytest.fixture(scope="module")
def trained(shared_repository: Any) -> Any:
    code, output = shared_repository.train("--steps", "3")
    assert code == 0, output
    return shared_repository


@pytest.fixture(autouse=True)
def inside(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trained.root)


def join(stage: str, **params: float) -> AbstractContextManager[tracking.Run]:
    values = SimpleNamespace(flat=lambda: {f"{stage}.{name}": value for name, value in params.items()})
    return tracking.join_run(Path("data/runs/train_toy.json"), stage, values)


def evaluate(loss: float, **params: float) -> None:
    with join("evaluate_toy", **params) as run:
        run.log_metrics({"test_loss": loss})
        run.log_text(f"loss {loss}", "figures.txt")


def test_the_first_writes_to_the_run_a_repeat_with_other_parameters_gets_one_below_and_the_run_shows_the_latest(
    trained,
) -> None:
    evaluate(0.5, limit=10)
    evaluate(0.5, limit=10)
    (run,) = trained.runs()
    assert trained.curve(run, "test_loss") == [(0, 0.5)]
    assert run.info.status == "FINISHED"
    assert run.data.tags["evaluate_toy/status"] == "FINISHED"
    assert run.data.tags["evaluate_toy/params/evaluate_toy.limit"] == "10"

    evaluate(0.25, limit=20)
    run, child = trained.runs()
    assert child.data.tags["mlflow.parentRunId"] == run.info.run_id
    assert child.data.params == {"evaluate_toy.limit": "20"}
    assert child.info.status == "FINISHED"
    assert (child.data.metrics, run.data.metrics["test_loss"]) == ({"test_loss": 0.25}, 0.25)
    assert run.data.tags["evaluate_toy/params/evaluate_toy.limit"] == "20"
    client = trained.store().client
    for run_id in (run.info.run_id, child.info.run_id):
        assert "evaluate_toy/figures.txt" in [file.path for file in client.list_artifacts(run_id, "evaluate_toy")]
    assert trained.outbox == []


def test_a_failing_stage_says_so_leaves_the_training_its_status_and_finds_the_run_by_its_key_alone(
    trained: Any,
) -> None:
    path = trained.root / "data" / "runs" / "train_toy.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"run_id": None}))
    with pytest.raises(ValueError, match="no test split"), join("report"):
        raise ValueError("no test split")
    run = trained.runs()[0]
    assert run.info.status == "FINISHED"
    assert run.data.tags["report/status"] == "FAILED: ValueError: no test split"


def test_a_file_that_is_no_run_id_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InputError, match=r"run.json must be the run-id file"):
        tracking.join_run(tmp_path / "run.json", "evaluate_toy", None).__enter__()


def test_comparing_two_runs_shows_what_differs_and_finds_a_run_by_file_id_key_or_beginning(
    trained: Any, capsys: pytest.CaptureFixture
) -> None:
    run, *_ = trained.runs()
    store = trained.store()
    other = store.client.create_run(store.experiment_id, tags={"reprise.run_key": "another"}, run_name="train_toy")
    for name, value in (run.data.params | {"train_toy.units": "16"}).items():
        store.client.log_param(other.info.run_id, name, value)
    store.client.log_metric(other.info.run_id, "train_loss", 0.2, step=4)
    compare.main("data/runs/train_toy.json", other.info.run_id[:12])
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["train_toy.units", "8", "16"] in shown
    assert ["train_loss", "0.333333", "0.2"] in shown
    assert not any(line[:1] == ["train_toy.decay_rate"] for line in shown)

    assert find_run("another").run_id == other.info.run_id
    with pytest.raises(InputError, match="several runs"):
        find_run("train_toy")
    with pytest.raises(InputError, match="no run; give a run id"):
        find_run("nonsense")
