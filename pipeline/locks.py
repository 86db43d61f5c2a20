"""What dvc.lock says, here or at any commit: what each stage was last made of, and which run made it."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline import lineage
from pipeline.errors import InputError
from pipeline.params import read_yaml

RUN_FILES = "data/runs/"
REFERENCES = ("refs/heads", "refs/tags", "refs/exps", "refs/remotes")
SEPARATOR = ":"


def read_lock(root: Path, revision: str = "") -> dict[str, Any]:
    """The stages of dvc.lock by name: of the files in `root`, or of a commit; none when there is no dvc.lock.

    Args:
        root: The folder of dvc.lock.
        revision: A branch, tag, hash or the name of a DVC experiment; "" is the files as they are.

    Raises:
        InputError: Git knows no such commit.
    """
    text = _lock_text(root, revision)
    return _stages(text) if text else {}


def locked_facts(entry: Mapping[str, Any]) -> lineage.StageFacts:
    """What the stage was made of when this entry of dvc.lock was written."""
    deps = {dep["path"]: dep.get("md5") for dep in entry.get("deps", [])}
    params: dict[str, Any] = {}
    for values in entry.get("params", {}).values():
        for name, value in values.items():
            params |= lineage.flat(name, value)
    return lineage.StageFacts(lineage.as_line(entry["cmd"]), dict(sorted(deps.items())), dict(sorted(params.items())))


def training_of(lock: Mapping[str, Any], stage: str) -> str:
    """The training stage whose run a stage's results belong to: itself, or the one whose run-id file it reads.

    Raises:
        InputError: The stage belongs to no run.
    """
    if any(out["path"].startswith(RUN_FILES) for out in lock[stage].get("outs", [])):
        return stage
    read = {dep["path"] for dep in lock[stage].get("deps", []) if dep["path"].startswith(RUN_FILES)}
    makers = [name for name, entry in lock.items() if read & {out["path"] for out in entry.get("outs", [])}]
    if len(makers) != 1:
        raise InputError(
            f"stage {stage} belongs to no single training ({', '.join(makers) or 'none'}); name the training"
        )
    return makers[0]


def locked_run_key(root: Path, entry: Mapping[str, Any]) -> str | None:
    """The key of the run that a training's entry of dvc.lock was made by; None when its run-id file is not here."""
    for out in entry.get("outs", []):
        if out["path"].startswith(RUN_FILES):
            places = (root / out["path"], _cached(lineage.main_root(), out["md5"]))
            found = next((path for path in places if lineage.path_md5(path, root) == out["md5"]), None)
            return json.loads(found.read_text(encoding="utf-8"))["run_key"] if found else None
    return None


def places_of(root: Path, stage: str, facts: lineage.StageFacts) -> list[str]:
    """Where dvc.lock says that the stage was made of just this: the files here, branches, tags, experiments."""
    listing = lineage.git(root, "for-each-ref", "--format=%(refname)", *REFERENCES) or ""
    named = [("dvc.lock", ""), *((name, name) for name in listing.split())]
    return [name for name, revision in named if _has(root, revision, stage, facts)]


def folder_listing(root: Path, md5: str | None) -> dict[str, str] | None:
    """Hash of each file in a folder with this hash, as the cache knows it; None when it does not."""
    path = _cached(root, md5) if md5 and md5.endswith(".dir") else None
    if path is None or not path.exists():
        return None
    return {file["relpath"]: file["md5"] for file in json.loads(path.read_text(encoding="utf-8"))}


def _has(root: Path, revision: str, stage: str, facts: lineage.StageFacts) -> bool:
    text = _lock_text(root, revision)
    if text is None or not all(md5 in text for md5 in facts.deps.values() if md5):
        return False
    entry = _stages(text).get(stage)
    return entry is not None and lineage.facts_digest(locked_facts(entry)) == lineage.facts_digest(facts)


def _commit_of(root: Path, revision: str) -> str:
    """Hash of the commit that a revision or a DVC experiment's name means."""
    experiments = (lineage.git(root, "for-each-ref", "--format=%(refname)", "refs/exps") or "").split()
    named = [name for name in experiments if name.rpartition("/")[2] == revision]
    for name in (revision, *named):
        commit = lineage.git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        if commit is not None:
            return commit.strip()
    raise InputError(f"git knows no commit {revision!r}; give a branch, a tag, an experiment or a hash")


def _lock_text(root: Path, revision: str) -> str | None:
    if revision:
        return lineage.git(root, "show", f"{_commit_of(root, revision)}:./{lineage.LOCK}")
    path = root / lineage.LOCK
    return path.read_text(encoding="utf-8") if path.exists() else None


def _stages(text: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, lineage.LOCK)
        path.write_text(text, encoding="utf-8")
        return read_yaml(path).get("stages") or {}


def _cached(root: Path, md5: str) -> Path:
    return root / ".dvc" / "cache" / "files" / "md5" / md5[:2] / md5[2:]


def split_reference(text: str) -> tuple[str, str]:
    """Revision and stage of "REVISION:stage" or of a stage alone, whose revision is empty."""
    revision, separator, stage = text.rpartition(SEPARATOR)
    return (revision, stage) if separator else ("", text)


def locked_outputs(lock: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Path of each output in a dvc.lock, and the stage that makes it."""
    for name, entry in lock.items():
        for out in entry.get("outs", []):
            yield out["path"], name
