"""Removes what the pipeline made: `make clean` lists it with sizes, `make clean FOR_REAL=1` removes it.

What the stages wrote, resume states and caches go. `ALL=1` adds the runs in MLflow's local store. Recordings
under data/corpora, files that git keeps, values that MLflow has not got yet, and DVC's cache are never touched.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from pipeline import lineage, stage
from pipeline.errors import InputError

CACHES = (".pytest_cache", ".ruff_cache", ".hypothesis", "dvc_plots")
STORE = ("mlflow.db", "mlflow.db-shm", "mlflow.db-wal", "mlartifacts", "mlruns")
CODE = ("pipeline", "models", "tests", "bench")
KEPT_IN_WORK = ("outbox", "locks")
UNITS = ("B", "kB", "MB", "GB", "TB")


def main(for_real: str = "", everything: str = "") -> None:
    """Lists what would go; with any text in `for_real` removes it; `everything` adds MLflow's local store."""
    root = lineage.main_root()
    found = list(removable(root, with_store=bool(everything)))
    for path in found:
        print(f"{show_size(size_of(path)):>9}  {path.relative_to(root)}")
    total = show_size(sum(size_of(path) for path in found))
    if not for_real:
        print(f"{total:>9}  in all; nothing was removed. make clean FOR_REAL=1 removes it (ALL=1 adds MLflow's runs)")
        return
    refuse_while_training(root)
    for path in found:
        remove(path)
    print(f"{total:>9}  removed")


def removable(root: Path, with_store: bool) -> Iterator[Path]:
    """What is there of all that may go, in a stable order, nothing twice."""
    kept = _kept_by_git(root)
    outputs = [root / path for path in lineage.stage_outputs(root)]
    work = root / ".work"
    states = sorted(path for path in work.iterdir() if path.name not in KEPT_IN_WORK) if work.is_dir() else []
    halves = sorted((root / "data").glob("**/.partial.*"))
    bytecode = [path for folder in CODE for path in sorted((root / folder).glob("**/__pycache__"))]
    store = [root / name for name in STORE] if with_store else []
    corpora = root / "data" / "corpora"
    for path in (*outputs, *halves, *states, *(root / name for name in CACHES), *bytecode, *store):
        if os.path.lexists(path) and path not in kept and not path.is_relative_to(corpora) and root in path.parents:
            yield path


def refuse_while_training(root: Path) -> None:
    """Raises an InputError when a training holds the lock on its state."""
    for path in sorted((root / ".work" / "locks").glob("*")):
        with path.open("r+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise InputError(
                    f"{path.name} is training now ({file.read().strip()}); stop it, or clean when it is done"
                ) from error


def remove(path: Path) -> None:
    """Removes a file, a link or a folder with all in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder; links count nothing."""
    if path.is_symlink():
        return 0
    if path.is_file():
        return path.stat().st_size
    return sum(file.lstat().st_size for file in path.rglob("*") if file.is_file() and not file.is_symlink())


def show_size(size: float) -> str:
    """Bytes as people read them: 512 B, 1.5 kB, 20 MB."""
    for unit in UNITS:
        if size < 999.5 or unit == UNITS[-1]:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 9.95 else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError(size)


def _kept_by_git(root: Path) -> set[Path]:
    result = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=False)
    return {root / name for name in os.fsdecode(result.stdout).split("\0") if name}


if __name__ == "__main__":
    stage.run(main)
