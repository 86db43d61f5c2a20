"""Command `make restore RUN=... TO=folder`: a work tree with the code, parameters and data that a run was made of."""

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

from pipeline import lineage, stage
from pipeline.errors import InputError
from pipeline.origin import Origin, origin_of
from pipeline.tracking.queries import find_run

NOT_INHERITED = ("DVC_ROOT", "DVC_STAGE", "DVC_EXP_NAME", "DVC_EXP_BASELINE_REV")
LOCAL_CONFIG = Path(".dvc/config.local")
PINNED = "requirements.txt"


def main(run: str, to: Path) -> None:
    """Builds the work tree and proves every dependency's hash; what is in the folder already is never touched."""
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise InputError(f"{to} is there already; TO must be a new folder")
    record = find_run(run)
    origin = origin_of(record)
    main_checkout = lineage.main_root()
    checkout = add_work_tree(main_checkout, to.resolve(), origin)
    share_cache(main_checkout, checkout)
    bring_data(checkout, origin)
    differing = differences(checkout, origin)
    if differing:
        raise InputError(f"{checkout} is not what run {record.run_id} was made of:\n" + "\n".join(differing))
    print(f"{checkout}: run {record.run_id} ({record.name}), {len(origin.facts.deps)} dependencies and ")
    print(f"{len(origin.facts.params)} parameters proven equal. To make it again:")
    print(how_to_repeat(main_checkout, checkout, origin.stage))


def how_to_repeat(main_checkout: Path, checkout: Path, stage_name: str) -> str:
    """The command line: with the packages that run now, or with the work tree's own where it pins others."""
    pinned = [path.read_bytes() if path.exists() else b"" for path in (main_checkout / PINNED, checkout / PINNED)]
    place, python = shlex.quote(str(checkout)), shlex.quote(sys.executable)
    if pinned[0] != pinned[1]:
        return f"cd {place} && make venv && .venv/bin/dvc repro {stage_name}"
    return f"cd {place} && REPRISE_PYTHON={python} {python} -m dvc repro {stage_name}"


def add_work_tree(main_checkout: Path, to: Path, origin: Origin) -> Path:
    """Checks out the run's commit with its changes and its dvc.lock; gives the folder of dvc.yaml in it.

    Raises:
        InputError: The commit is gone, or the changes do not fit it.
    """
    if lineage.git(main_checkout, "cat-file", "-e", f"{origin.commit}^{{commit}}") is None:
        raise InputError(f"commit {origin.commit} is not in this repository; fetch it (git fetch --all) and try again")
    inside = (lineage.git(main_checkout, "rev-parse", "--show-prefix") or "").strip("\n")
    _must(main_checkout, "git", "worktree", "add", "--quiet", "--detach", str(to), origin.commit)
    if origin.patch:
        _must(to, "git", "apply", "--binary", "--whitespace=nowarn", "-", stdin=origin.patch)
    checkout = to / inside
    if origin.lock is not None:
        (checkout / lineage.LOCK).write_text(origin.lock, encoding="utf-8")
    return checkout


def share_cache(main_checkout: Path, checkout: Path) -> None:
    """Lets DVC in the work tree use the main checkout's cache and remotes."""
    local = main_checkout / LOCAL_CONFIG
    if local.exists():
        shutil.copy(local, checkout / LOCAL_CONFIG)
    dvc(checkout, "cache", "dir", "--local", dvc(main_checkout, "cache", "dir").strip())
    for name, folder in remote_folders(main_checkout).items():
        dvc(checkout, "remote", "modify", "--local", name, "url", folder)


def remote_folders(checkout: Path) -> dict[str, str]:
    """The remotes that are folders on this machine: absolute path by name. DVC has them relative to `.dvc`."""
    config = configparser.ConfigParser(interpolation=None, strict=False)
    config.read([checkout / ".dvc/config", checkout / LOCAL_CONFIG], encoding="utf-8")
    named = {section: re.fullmatch(r"'remote \"(.+)\"'", section) for section in config.sections()}
    addresses = {found[1]: config[section].get("url", "") for section, found in named.items() if found}
    return {
        name: os.path.normpath(checkout / ".dvc" / address)
        for name, address in addresses.items()
        if address and "://" not in address
    }


def bring_data(checkout: Path, origin: Origin) -> None:
    """Fills in the stages' outputs from the cache, and from the remote what the cache lacks."""
    _try(checkout, "checkout", "--allow-missing", "--quiet")
    if _unequal_deps(checkout, origin) and dvc(checkout, "remote", "list").strip():
        _try(checkout, "pull", "--allow-missing", "--quiet")


def differences(checkout: Path, origin: Origin) -> list[str]:
    """A line for each dependency, parameter and command that is not what the run was made of."""
    now = lineage.stage_facts(origin.stage, checkout)
    lines = [
        f"  {path}: {now.deps.get(path) or 'missing'} instead of {origin.facts.deps[path]}"
        for path in _unequal_deps(checkout, origin)
    ]
    names = sorted(now.params.keys() | origin.facts.params.keys())
    lines += [
        f"  {name}: {now.params.get(name)} instead of {origin.facts.params.get(name)}"
        for name in names
        if lineage.canonical(now.params.get(name)) != lineage.canonical(origin.facts.params.get(name))
    ]
    if now.command != origin.facts.command:
        lines.append(f"  command: {now.command} instead of {origin.facts.command}")
    missing = [f"  {path} was untracked and too large to keep with the run" for path in origin.left_out]
    return lines + missing if lines else []


def _unequal_deps(checkout: Path, origin: Origin) -> list[str]:
    now = lineage.stage_facts(origin.stage, checkout).deps
    return [
        path for path in sorted(now.keys() | origin.facts.deps.keys()) if now.get(path) != origin.facts.deps.get(path)
    ]


def dvc(folder: Path, *arguments: str) -> str:
    """What `dvc ARGUMENTS` prints in a folder.

    Raises:
        InputError: It fails.
    """
    return _must(folder, sys.executable, "-m", "dvc", *arguments)


def _try(folder: Path, *arguments: str) -> None:
    """Runs DVC; what it could not bring is found by the proof that follows."""
    try:
        dvc(folder, *arguments)
    except InputError as error:
        print(f"warning: {error}", file=sys.stderr)


def _must(folder: Path, *command: str, stdin: str = "") -> str:
    environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    result = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        input=stdin.encode("utf-8", "surrogateescape"),
        capture_output=True,
        check=False,
    )
    if result.returncode:
        said = textwrap.shorten(result.stderr.decode("utf-8", "replace"), 500)
        raise InputError(f"{' '.join(command[:5])} failed in {folder}: {said}")
    return result.stdout.decode("utf-8")


if __name__ == "__main__":
    stage.run(main)
