"""Checkpoints: everything that the next step depends on, written whole or not at all."""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load_file, save_file

from pipeline.errors import InputError

TENSORS = "tensors.safetensors"
FACTS = "facts.json"


class Checkpoint(NamedTuple):
    """A training as it stood after `step` steps.

    Attributes:
        step: Number of finished steps.
        tensors: Weights, statistics, moments, carried state and position in the data, by name.
        facts: The rest, as JSON: plateau, history.
    """

    step: int
    tensors: Mapping[str, np.ndarray]
    facts: dict[str, Any]


def folder_of(state: Path, step: int) -> Path:
    """Where the checkpoint of that step lies."""
    return state / "checkpoints" / f"step-{step:08d}"


def save(state: Path, checkpoint: Checkpoint) -> Path:
    """Writes a checkpoint under a temporary name, flushes it to the disk and renames it.

    Raises:
        InputError: It cannot be written (a full disk); earlier checkpoints are untouched.
    """
    target = folder_of(state, checkpoint.step)
    partial = target.with_name(f".partial.{target.name}")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        save_file(dict(checkpoint.tensors), partial / TENSORS)
        facts = {"step": checkpoint.step, "sha256": _sha256(partial / TENSORS), **checkpoint.facts}
        (partial / FACTS).write_text(json.dumps(facts, allow_nan=False), encoding="utf-8")
        for path in (partial / TENSORS, partial / FACTS, partial):
            _flush(path)
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
        _flush(target.parent)
    except Exception as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise InputError(
            f"the checkpoint of step {checkpoint.step} cannot be written to {target}: {error}; "
            "earlier checkpoints are whole: make room and run the same command again"
        ) from error
    return target


def load_newest(state: Path) -> Checkpoint | None:
    """The newest checkpoint that is whole, or None; a damaged one is named on stderr and passed over."""
    for folder in sorted((state / "checkpoints").glob("step-*"), reverse=True):
        try:
            return load(folder)
        except InputError as error:
            print(f"{error}; an earlier one is taken", file=sys.stderr)
    return None


def load(folder: Path) -> Checkpoint:
    """Reads a checkpoint.

    Raises:
        InputError: A file is missing, or not what was written.
    """
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        if _sha256(folder / TENSORS) != facts.pop("sha256"):
            raise ValueError(f"{TENSORS} is not what was written")
        return Checkpoint(facts.pop("step"), load_file(folder / TENSORS), facts)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"checkpoint {folder.name} is damaged ({error})") from error


def best_step(checkpoint: Checkpoint) -> int:
    """The step of the lowest validation loss until then; 0 before the first validation."""
    return checkpoint.facts["plateau"]["best_step"]


def prune(state: Path, count: int, best_step: int) -> None:
    """Removes all but the last `count` checkpoints and the best."""
    folders = sorted((state / "checkpoints").glob("step-*"))
    for folder in folders[:-count]:
        if folder != folder_of(state, best_step):
            shutil.rmtree(folder)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
