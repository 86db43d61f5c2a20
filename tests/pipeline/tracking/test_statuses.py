"""What MLflow says of a run is what happened to its process."""

import signal
from collections.abc import Callable

import pytest

from pipeline.tracking import process

ENDINGS = {
    "finished": (0, "FINISHED", ""),
    "exception": (1, "FAILED", "ValueError: no such batch at http://***@example.org/data"),
    "exit": (1, "FAILED", "exit(1)"),
    "SIGTERM": (128 + signal.SIGTERM, "KILLED", "SIGTERM"),
    "SIGINT": (-signal.SIGINT, "KILLED", "SIGINT"),
    "SIGKILL": (-signal.SIGKILL, "KILLED", "the training process vanished"),
}


def test_each_way_to_end_gives_its_own_exit_code_and_its_true_status_with_all_values_and_the_reason(
    repository, wait_until: Callable
) -> None:
    processes = {end: repository.start("--end", end, "--name", end, "--extra", f"end={end}") for end in ENDINGS}
    outputs = {end: process.communicate(timeout=120)[0] for end, process in processes.items()}
    wait_until(lambda: not repository.outbox)
    runs = {run.data.params["end"]: run for run in repository.runs()}

    assert {end: processes[end].returncode for end in ENDINGS} == {
        end: code for end, (code, _, _) in ENDINGS.items()
    }, outputs
    assert {end: runs[end].info.status for end in ENDINGS} == {end: status for end, (_, status, _) in ENDINGS.items()}
    for end, (_, _, reason) in ENDINGS.items():
        assert runs[end].data.tags.get("reprise.reason", "").startswith(reason)
        steps = range(20 if end == "finished" else 13)
        assert repository.curve(runs[end]) == [(step, 1 / (step + 1)) for step in steps]


def test_a_run_whose_process_and_courier_are_both_gone_is_closed_by_the_next_start(repository) -> None:
    store = repository.store()
    gone = process.identity(2**22 + 1)
    tags = {"reprise.process": gone, "reprise.run_key": "a", "reprise.heartbeat": "1700000000"}
    orphan = store.client.create_run(store.experiment_id, tags=tags)
    alive = store.client.create_run(store.experiment_id, tags={"reprise.process": process.identity(1)})
    elsewhere = store.client.create_run(store.experiment_id, tags={"reprise.process": "other|b|n|1|1"})
    foreign = store.client.create_run(store.experiment_id)

    repository.train()

    statuses = {run.info.run_id: run.info.status for run in repository.runs()}
    assert statuses[orphan.info.run_id] == "KILLED"
    assert store.client.get_run(orphan.info.run_id).info.end_time == 1700000000000
    assert {statuses[run.info.run_id] for run in (alive, elsewhere, foreign)} == {"RUNNING"}


@pytest.mark.parametrize("code", [None, 0])
def test_exit_with_0_is_no_failure(code: int | None) -> None:
    from pipeline.tracking.run import _status

    assert _status(SystemExit(code)) == ("FINISHED", "")
