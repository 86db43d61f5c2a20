"""Runs land in one store, from wherever they are started and however many start at once."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

WHOLE = [(step, 1 / (step + 1)) for step in range(20)]


def test_a_run_in_a_temporary_copy_started_from_a_sub_folder_lands_in_the_main_checkout(repository: Any) -> None:
    copy = repository.root / ".dvc" / "tmp" / "exps" / "standalone" / "tmp1"
    copy.parent.mkdir(parents=True)
    repository.git("worktree", "add", "-q", "--detach", str(copy))
    (copy / "toy.py").write_text((copy / "toy.py").read_text() + "# changed\n")
    (copy / "new.py").write_text("new\n")
    folder = copy / "sub"
    folder.mkdir()
    process = repository.start("--steps", "3", folder=folder, DVC_EXP_NAME="wide-awake")
    output = process.communicate(timeout=120)[0]

    assert process.returncode == 0, output
    (run,) = repository.runs()
    assert (run.info.run_name, run.data.tags["dvc.experiment"]) == ("wide-awake", "wide-awake")
    assert run.data.tags["git.dirty"] == "true"
    place = unquote(urlsplit(run.info.artifact_uri).path)
    assert place.startswith(str(repository.root / "mlartifacts" / "reprise"))
    patch = (repository.root / place / "lineage" / "uncommitted.patch").read_text()
    assert "+# changed" in patch
    assert "+new" in patch
    repository.git("worktree", "remove", "--force", str(copy))


@pytest.mark.long
def test_eight_processes_at_once_on_a_store_that_is_not_there_yet_give_eight_whole_runs(new_repository: Any) -> None:
    repository = new_repository(database=None)
    processes = [repository.start("--name", str(number), "--extra", f"n={number}") for number in range(8)]
    outputs = [process.communicate(timeout=300)[0] for process in processes]

    assert [process.returncode for process in processes] == [0] * 8, outputs
    if repository.outbox:
        assert repository.command("pipeline.sync")[0] == 0
    runs = repository.runs()
    assert sorted(int(run.data.params["n"]) for run in runs) == list(range(8))
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert [repository.curve(run) for run in runs] == [WHOLE] * 8


@pytest.mark.long
def test_runs_of_repro_of_temporary_and_of_queued_experiments_share_a_store_and_keep_their_files(
    new_repository: Any, wait_until: Callable
) -> None:
    repository = new_repository("a test repository", database=None)
    repository.dvc("init", "-q")
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", "dvc")
    repository.dvc("repro")
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", "lock")
    repository.dvc("exp", "run", "-S", "train_toy.decay_rate=0.6")
    repository.dvc("exp", "run", "--temp", "-S", "train_toy.decay_rate=0.7")
    repository.dvc("exp", "run", "--queue", "-S", "train_toy.decay_rate=0.8,0.9")
    repository.dvc("queue", "start", "-j", "2")
    wait_until(lambda: is_idle(repository.dvc("queue", "status")), 180)

    runs = {run.data.params["train_toy.decay_rate"]: run for run in repository.runs()}
    assert sorted(runs) == ["0.5", "0.6", "0.7", "0.8", "0.9"]
    client = repository.store().client
    for run in runs.values():
        assert run.info.status == "FINISHED"
        assert repository.curve(run) == WHOLE
        (file,) = client.list_artifacts(run.info.run_id, "checkpoints/step-00000012")
        assert file.file_size == 1000
        stage = json.loads(open_artifact(repository, run, "lineage/stage.json"))
        assert stage["params"]["train_toy.decay_rate"] == float(run.data.params["train_toy.decay_rate"])
    assert len({run.data.tags["git.commit"] for run in runs.values()}) == 2
    assert repository.outbox == []


def open_artifact(repository: Any, run: Any, name: str) -> str:
    return Path(repository.store().client.download_artifacts(run.info.run_id, name)).read_text(encoding="utf-8")


def is_idle(status: str) -> bool:
    return "Queued" not in status and "Running" not in status
