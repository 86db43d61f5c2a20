"""What MLflow says of a run is what happened to its process."""

import signal
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.tracking import process
from pipeline.tracking.run import _status

ENDINGS = {
    "finished": (0, "FINISHED", ""),
    "exception": (1, "FAILED", "ValueError: no such batch at http://***@example.org/data"),
    "exit": (1, "FAILED", "exit(1)"),
    "SIGTERM": (128 + signal.SIGTERM, "KILLED", "SIGTERM"),
    "SIGINT": (-signal.SIGINT, "KILLED", "SIGINT"),
    "SIGKILL": (-signal.SIGKILL, "KILLED", "the training process vanished"),
}
NO_PROCESS = 2**22 + 1
LEFT = {
    "gone": {"reprise.process": process.identity(NO_PROCESS), "reprise.heartbeat": "1700000000"},
    "alive": {"reprise.process": process.identity(1), "reprise.heartbeat": "1700000000"},
    "silent elsewhere": {"reprise.process": "elsewhere|b|n|1|1", "reprise.heartbeat": "1700000000"},
    "lively elsewhere": {"reprise.process": "elsewhere|b|n|1|1"},
    "not ours": {},
}


@pytest.fixture(scope="module")
def ended(shared_repository: Any, wait_until: Callable) -> SimpleNamespace:
    """Runs left RUNNING by others, and then a process for each way to end, all at once."""
    repository = shared_repository
    store = repository.store()
    left = {name: store.client.create_run(store.experiment_id, tags=tags).info.run_id for name, tags in LEFT.items()}
    processes = {end: repository.start("--end", end, "--name", end, "--extra", f"end={end}") for end in ENDINGS}
    outputs = {end: process.communicate(timeout=120)[0] for end, process in processes.items()}
    wait_until(lambda: not repository.outbox)
    found = repository.runs()
    return SimpleNamespace(
        codes={end: process.returncode for end, process in processes.items()},
        outputs=outputs,
        runs={run.data.params["end"]: run for run in found if "end" in run.data.params},
        curves={run.data.params["end"]: repository.curve(run) for run in found if "end" in run.data.params},
        left={name: run for name, run_id in left.items() for run in found if run.info.run_id == run_id},
    )


@pytest.mark.parametrize("end", ENDINGS)
def test_each_way_to_end_keeps_its_exit_code_and_gives_the_true_status_the_reason_and_all_values(
    end: str, ended: SimpleNamespace
) -> None:
    code, status, reason = ENDINGS[end]
    assert ended.codes[end] == code, ended.outputs[end]
    assert ended.runs[end].info.status == status
    assert ended.runs[end].data.tags.get("reprise.reason", "").startswith(reason)
    assert ended.curves[end] == [(step, 1 / (step + 1)) for step in range(20 if end == "finished" else 13)]


def test_the_next_start_closes_the_runs_whose_process_is_gone_or_long_silent_and_no_others(
    ended: SimpleNamespace,
) -> None:
    assert {name: run.info.status for name, run in ended.left.items()} == {
        "gone": "KILLED",
        "alive": "RUNNING",
        "silent elsewhere": "KILLED",
        "lively elsewhere": "RUNNING",
        "not ours": "RUNNING",
    }
    assert ended.left["gone"].info.end_time == 1700000000000
    assert ended.left["gone"].data.tags["reprise.reason"] == "its process is gone"


@pytest.mark.parametrize("code", [None, 0])
def test_exit_with_0_is_no_failure(code: int | None) -> None:
    assert _status(SystemExit(code)) == ("FINISHED", "")
