"""A training of figures that follow from the step alone, run by the tests as a process of its own."""

import hashlib
import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

from pipeline import lineage, stage, tracking

STAGE = "train_toy"


def end_as_told(end: str) -> None:
    """Ends the process in one of the ways in which processes end."""
    if end == "exception":
        raise ValueError("no such batch at http://somebody:secret@example.org/data")
    if end == "exit":
        sys.exit(1)
    if end != "finished":
        os.kill(os.getpid(), getattr(signal, end))
        time.sleep(60)


def main(
    steps: int = 20,
    end: str = "finished",
    at: int = 12,
    first: int = 0,
    name: str = "",
    gate: str = "",
    extra: str = "",
) -> None:
    """Logs a value a step from `first` on; at step `at`, logs a checkpoint and ends as `end` says.

    With a `gate`, waits at step `at` until that file exists, after making the file `<gate>.reached`.
    """
    values = lineage.stage_facts(STAGE).params | dict(entry.split("=") for entry in extra.split(",") if entry)
    params = SimpleNamespace(flat=lambda: values)
    state = lineage.work_folder() / f"{STAGE}-{name or lineage.stage_digest(STAGE)}"
    with tracking.training_run(stage=STAGE, params=params, state=state) as run:
        for step in range(first, steps):
            run.log_metrics({"train_loss": 1 / (step + 1), "learning_rate": 0.5}, step=step)
            if step == at:
                checkpoint(run, state, step)
                wait_at(gate)
                end_as_told(end)
        write_model(values)
        run.log_output(Path("data/train_toy"), "model")
        run.write_id(Path("data/runs/train_toy.json"))
    if "mlflow" in sys.modules or "dvc" in sys.modules:
        raise RuntimeError("the training process imported what it must not")


def write_model(values: dict) -> None:
    """What was learned: bytes that follow from the parameters and, where there is any, the data."""
    folder = Path("data/train_toy")
    folder.mkdir(parents=True, exist_ok=True)
    codes = Path("data/codes/shard.bin")
    learned = repr(values).encode() + (codes.read_bytes() if codes.exists() else b"")
    (folder / "weights.bin").write_bytes(hashlib.sha256(learned).digest())


def checkpoint(run: tracking.Run, state: Path, step: int) -> None:
    """Logs a folder with one file, and figures by which the best can be found."""
    folder = state / f"step-{step}"
    folder.mkdir(exist_ok=True)
    (folder / "weights.bin").write_bytes(bytes(1000))
    run.log_checkpoint(folder, step, {"valid_loss": 1 / (step + 1)})


def wait_at(gate: str) -> None:
    """Waits until the test makes the file."""
    if gate:
        Path(f"{gate}.reached").touch()
        while not Path(gate).exists():
            time.sleep(0.05)


if __name__ == "__main__":
    stage.run(main)
