"""What a run carries beside its figures: the code, data, parameters, versions and machine that it comes from."""

import getpass
import json
import os
import platform
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pipeline import lineage
from pipeline.errors import InputError
from pipeline.tracking.addresses import without_password

LONGEST_PARAM = 500
LONGEST_TAG = 4000
LONGEST_KEY = 250
LIBRARIES = ("tensorflow", "tensorflow-cpu", "keras", "numpy", "librosa", "soundfile", "soxr", "mlflow", "dvc")


def source_tags(stage: str, facts: lineage.StageFacts | None, git: lineage.GitFacts | None) -> dict[str, str]:
    """Tags that name the code, the data and the command of a stage."""
    tags = {
        "dvc.stage": os.environ.get("DVC_STAGE", stage),
        "dvc.experiment": os.environ.get("DVC_EXP_NAME", ""),
        "dvc.baseline": os.environ.get("DVC_EXP_BASELINE_REV", ""),
        "mlflow.source.name": f"pipeline.{stage}",
        "mlflow.source.type": "LOCAL",
        "mlflow.user": _user(),
    }
    if git is not None:
        tags |= {"mlflow.source.git.commit": git.commit, "git.commit": git.commit, "git.dirty": str(git.dirty).lower()}
    if facts is not None:
        tags |= {"dvc.command": facts.command, "dvc.digest": lineage.facts_digest(facts)}
        tags |= {f"dvc.dep/{path}": str(md5) for path, md5 in facts.deps.items() if md5 and path.startswith("data/")}
    return {name: value for name, value in tags.items() if value}


def machine_tags(runtime: Mapping[str, Any]) -> dict[str, str]:
    """Tags that name the versions, the machine and the settings that change no result."""
    versions = {f"version.{name}": version for name in LIBRARIES if (version := _version(name))}
    return {
        "version.python": platform.python_version(),
        **versions,
        "machine.host": platform.node(),
        "machine.system": platform.platform(),
        "machine.processor": _processor(),
        "machine.cpus": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        **{f"runtime.{name}": str(value) for name, value in runtime.items() if value is not None},
    }


def stage_facts(stage: str) -> lineage.StageFacts | None:
    """What DVC says about the stage; None where dvc.yaml does not know it."""
    try:
        return lineage.stage_facts(stage)
    except InputError:
        return None


def source_texts(facts: lineage.StageFacts | None, git: lineage.GitFacts | None) -> dict[str, str]:
    """Texts to keep with a run, by file name: the patch, the hashes and values in full, the installed packages."""
    texts = {"lineage/packages.txt": _packages()}
    if facts is not None:
        texts["lineage/stage.json"] = json.dumps(facts._asdict(), indent=2, ensure_ascii=False) + "\n"
    lock = lineage.code_root() / lineage.LOCK
    if facts is not None and lock.exists():
        texts["lineage/dvc.lock"] = lock.read_text(encoding="utf-8")
    if git is not None:  # even empty: they replace those of an earlier try, or of a stage that is repeated
        texts["lineage/uncommitted.patch"] = git.diff
        texts["lineage/uncommitted_left_out.txt"] = "".join(f"{path}\n" for path in git.left_out)
    return texts


def as_text(value: Any) -> str:
    """A parameter's value as YAML would show it: null, true, 0.001, a list."""
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False, default=str)


@lru_cache(10_000)
def as_key(name: str) -> str:
    """The name with the characters that MLflow refuses replaced, "train@gru" to "train_gru"."""
    key = re.sub(r"[^A-Za-z0-9_\-. /]", "_", name).strip("/ ") or "_"
    return os.path.normpath(key)[:LONGEST_KEY].replace("..", "_")


def as_tags(tags: Mapping[str, Any]) -> dict[str, str]:
    """Tags that MLflow takes: allowed keys, short values, no passwords."""
    return {as_key(name): without_password(str(value))[:LONGEST_TAG] for name, value in tags.items()}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _packages() -> str:
    folders = [found for entry in sys.path for found in Path(entry or ".").glob("*.dist-info")]
    lines = {"==".join(folder.stem.split("-", 1)) for folder in folders}
    return "\n".join(sorted(lines, key=str.lower)) + "\n"


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
