"""Where a training keeps what it needs to go on: a folder of `.work`, named by all that decides the result."""

import fcntl
import json
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from pipeline import lineage
from pipeline.errors import InputError
from pipeline.lineage import StageFacts
from pipeline.outputs import write_json
from pipeline.training import checkpoints

FACTS = "stage.json"


@contextmanager
def open_state(stage: str) -> Iterator[Path]:
    """Gives the state folder of the stage as its command, dependencies and parameters are now; one process at a time.

    A folder left by an interrupted training is found again. Without one, a finished training of the same facts but of
    fewer steps lends its checkpoints. The folder is removed when the block ends without an error, except for the last
    checkpoint and the best, which a larger `max_step_count` may go on from.

    Raises:
        InputError: Another process holds it.
    """
    facts = lineage.stage_facts(stage)
    steps = f"{stage}.max_step_count"
    total = facts.params[steps]
    facts = facts._replace(params={name: value for name, value in facts.params.items() if name != steps})
    work = lineage.work_folder()
    folder = work / f"{stage}-{lineage.facts_digest(facts)}"
    finished = work / "finished" / folder.name
    with _locked(work, folder.name):
        if not folder.exists():
            _announce_start(work, stage, facts)
            folder.mkdir(parents=True)
            _borrow(finished, folder, total)
            write_json(folder / FACTS, facts._asdict())
        yield folder
        _keep(folder, finished, total)
        shutil.rmtree(folder)


@contextmanager
def _locked(work: Path, name: str) -> Iterator[None]:
    path = work / "locks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise InputError(
                f"{name} is being trained by {file.read().strip() or 'another process'}: "
                "wait for it, or stop it; then run the same command again"
            ) from error
        _sign(file)
        yield


def _sign(file: TextIO) -> None:
    file.truncate(0)
    file.write(f"process {os.getpid()} on {socket.gethostname()}")
    file.flush()


def _keep(folder: Path, finished: Path, total: int) -> None:
    """Moves the last checkpoint and the best to where a longer training looks for them."""
    shutil.rmtree(finished, ignore_errors=True)
    if not checkpoints.folder_of(folder, total).exists():
        return
    last = checkpoints.load(checkpoints.folder_of(folder, total))
    for step in {total, checkpoints.best_step(last) or total}:
        kept = checkpoints.folder_of(finished, step)
        kept.parent.mkdir(parents=True, exist_ok=True)
        checkpoints.folder_of(folder, step).rename(kept)


def _borrow(finished: Path, folder: Path, total: int) -> None:
    """Copies both, where they are whole."""
    last = checkpoints.load_newest(finished)
    if last is None or last.step >= total:
        return
    best = checkpoints.best_step(last) or last.step
    try:
        lent = [last] if best == last.step else [checkpoints.load(checkpoints.folder_of(finished, best)), last]
    except InputError as error:
        print(f"{error}: the finished training of {last.step} steps cannot be gone on from", file=sys.stderr)
        return
    print(f"going on from the finished training of {last.step} steps", file=sys.stderr)
    for checkpoint in lent:
        checkpoints.save(folder, checkpoint)


def _announce_start(work: Path, stage: str, facts: StageFacts) -> None:
    earlier = [folder for folder in work.glob(f"{stage}-*") if (folder / FACTS).exists()]
    if not earlier:
        return
    newest = max(earlier, key=lambda folder: (folder / FACTS).stat().st_mtime)
    before = StageFacts(**json.loads((newest / FACTS).read_text(encoding="utf-8")))
    print(f"{stage} starts afresh; since its interrupted training ({newest.name}):", file=sys.stderr)
    for line in differences(before, facts):
        print(f"  {line}", file=sys.stderr)


def differences(before: StageFacts, after: StageFacts) -> list[str]:
    """What differs between two states of a stage, a line each."""
    lines = ["its command changed"] if before.command != after.command else []
    for name in sorted(before.params.keys() | after.params.keys()):
        old, new = before.params.get(name), after.params.get(name)
        if old != new:
            lines.append(f"{name}: {old} -> {new}")
    for path in sorted(before.deps.keys() | after.deps.keys()):
        if before.deps.get(path) != after.deps.get(path):
            lines.append(f"{path} changed")
    return lines
