"""Command corpus: copies a folder to data/corpora/<name>, puts it under DVC, and makes it the corpus of params.yaml."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from pipeline import stage
from pipeline.corpora.recognise import recognise_layout
from pipeline.errors import InputError
from pipeline.outputs import new_folder
from pipeline.params import PARAMS, check_params, set_param
from pipeline.sections.corpus import Corpus

CORPORA = Path("data/corpora")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
LAYOUT_KEYS = ("format", "metadata", "audio_folder")


def main(folder: Path, name: str) -> None:
    """Takes a corpus into the repository."""
    target = CORPORA / name
    require_new(folder, name, target)
    section = recognise_layout(folder, check_params().corpus)
    print(f"copying {folder} to {target}", file=sys.stderr)
    with new_folder(target) as partial:
        shutil.copytree(folder, partial, dirs_exist_ok=True, ignore=_hidden)
    track(target)
    for key, value in changed_params(section, check_params().corpus, target).items():
        set_param(PARAMS, key, value)
        print(f"{PARAMS}: {key} is now {value}")
    print(f"next: make check CORPUS={target}, git add {target}.dvc {CORPORA}/.gitignore {PARAMS}, dvc repro")


def require_new(folder: Path, name: str, target: Path) -> None:
    """Refuses what cannot be taken.

    Raises:
        InputError: There is no such folder, the name is no name, or it is taken.
    """
    if not folder.is_dir():
        raise InputError(f"FROM={folder} is not a folder")
    if not NAME.fullmatch(name):
        raise InputError(f"NAME={name} must consist of letters, digits, - and _, and begin with a letter or digit")
    if target.exists() or target.with_name(f"{name}.dvc").exists():
        raise InputError(f"{target} exists already: choose another NAME, or remove it first (dvc remove {target}.dvc)")
    if folder.resolve().is_relative_to(CORPORA.resolve()):
        raise InputError(f"{folder} lies in {CORPORA} already: set corpus.path to it, and run 'dvc add {folder}'")


def changed_params(found: Corpus, current: Corpus, target: Path) -> dict[str, str]:
    """The parameters to set, by their full names: the path, and of the layout what differs."""
    layout = {
        f"corpus.{key}": getattr(found, key) for key in LAYOUT_KEYS if getattr(found, key) != getattr(current, key)
    }
    return {"corpus.path": target.as_posix(), **layout}


def track(target: Path) -> None:
    """Runs `dvc add`.

    Raises:
        InputError: It failed; the copy is gone again.
    """
    done = subprocess.run([sys.executable, "-m", "dvc", "add", "--quiet", str(target)], capture_output=True, text=True)
    if done.returncode:
        shutil.rmtree(target, ignore_errors=True)
        raise InputError(f"dvc add {target} failed: {done.stderr.strip() or done.stdout.strip()}")


def _hidden(_: str, names: list[str]) -> set[str]:
    return {name for name in names if name.startswith(".")}


if __name__ == "__main__":
    stage.run(main)
