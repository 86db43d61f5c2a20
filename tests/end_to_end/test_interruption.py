"""Whatever stops a training, the next `dvc repro` goes on to the same bytes, in the same run."""

import random
import signal
import sys
import time

import pytest
from mlflow import MlflowClient
from repositories import copy_repository, stop

HALVES = ("tacotron", "wayback")
STEPS = 40
SIGNALS = {
    signal.SIGKILL: 9,
    signal.SIGTERM: 18,
    signal.SIGINT: 27,
}  # and the step of the checkpoint after which they come
SECONDS_TO_START = 300
BLOCKS_OF_THE_DISK = 64  # of 512 bytes: less than a checkpoint


@pytest.fixture(scope="module", params=HALVES)
def half(request):
    return request.param


@pytest.fixture(scope="module")
def repository(half, untouched, tmp_path_factory):
    """A repository with a training long enough to be hit in the middle, which has run once undisturbed."""
    made = copy_repository(untouched, tmp_path_factory.mktemp("interruption") / half)
    made.set_params({f"train_{half}.max_step_count": STEPS, f"train_{half}.checkpoint_interval": 3})
    made.dvc("repro", f"train_{half}")
    return made


def newest_step(folder) -> int:
    steps = [int(path.name[5:]) for path in folder.glob(".work/train_*/checkpoints/step-*")]
    return max(steps, default=0)


def wait_for_step(repository, process, step) -> None:
    """Until the training has a checkpoint of that step, or has ended."""
    until = time.monotonic() + SECONDS_TO_START
    while newest_step(repository.folder) < step and process.poll() is None:
        assert time.monotonic() < until, "the training does not start"


def interrupted_repro(repository, half, number, step) -> None:
    process = repository.start("repro", "-f", "-s", f"train_{half}")
    wait_for_step(repository, process, step)
    assert process.poll() is None, "the training ended before it was hit"
    stop(process, number)


def check_same(repository, half, expected) -> None:
    """The training goes on from where it was, to the same outputs, in one run with one value a step."""
    before = newest_step(repository.folder)
    printed = repository.dvc("repro", "-f", "-s", f"train_{half}")
    assert f"{STEPS - before} steps to do" in printed
    assert repository.hashes()[f"data/train_{half}"] == expected
    check_run(repository, half)


def check_run(repository, half) -> None:
    """One finished run, with one value a step in every curve."""
    client = MlflowClient(f"sqlite:///{repository.folder}/mlflow.db")
    run_id = repository.read(f"data/runs/train_{half}.json")["run_id"]
    assert client.get_run(run_id).info.status == "FINISHED"
    for name in ("train_loss", "valid_loss", "learning_rate", "gradient_norm"):
        steps = [point.step for point in client.get_metric_history(run_id, name)]
        assert steps == sorted(set(steps)), name
        assert steps[-1] == STEPS


def test_a_training_hit_by_every_signal_in_turn_goes_on_to_the_same_bytes(repository, half):
    expected = repository.hashes()[f"data/train_{half}"]
    for number, step in SIGNALS.items():
        interrupted_repro(repository, half, number, step)
    check_same(repository, half, expected)


@pytest.mark.long
def test_a_disk_too_full_for_a_checkpoint_stops_with_a_clear_error_and_nothing_is_lost(repository, half, tmp_path):
    expected = repository.hashes()[f"data/train_{half}"]
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nulimit -f {BLOCKS_OF_THE_DISK}\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    printed = repository.dvc(
        "repro", "-f", "-s", f"train_{half}", code=255, REPRISE_PYTHON=str(python), REPRISE_TRACKING_TIMEOUT="1"
    )
    assert "error: the checkpoint of step 3 cannot be written to" in printed
    assert "make room and run the same command again" in printed
    check_same(repository, half, expected)


@pytest.mark.long
def test_twenty_hits_at_random_points_change_nothing(repository, half):
    expected = repository.hashes()[f"data/train_{half}"]
    points = random.Random(1)
    hits = 0
    while hits < 20:
        process = repository.start("repro", "-f", "-s", f"train_{half}")
        for _ in range(4):
            wait_for_step(repository, process, points.randrange(0, STEPS - 3))
            time.sleep(points.random())
            if process.poll() is not None:
                break
            stop(process, points.choice(list(SIGNALS)))
            hits += 1
            process = repository.start("repro", "-f", "-s", f"train_{half}")
        printed, _ = process.communicate()
        assert process.returncode == 0, printed
        assert repository.hashes()[f"data/train_{half}"] == expected
        check_run(repository, half)
