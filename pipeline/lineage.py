"""Where a result comes from: git's and DVC's facts about this checkout, as they are now.

Tried on DVC 3.67: a file's hash is the MD5 of its bytes; a folder's is the MD5 of the JSON list of its files' hashes
and relative paths with ".dir" behind it, without what .dvcignore names. So the hashes here equal those that dvc.lock
gets, for a tenth of the time that `import dvc` takes.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pathspec

from pipeline.errors import InputError
from pipeline.params import read_yaml

GRAPH = "dvc.yaml"
PARAMS = "params.yaml"
LOCK = "dvc.lock"
EXPERIMENT_FOLDER = (".dvc", "tmp", "exps")
LARGEST_UNTRACKED_SOURCE = 1_000_000
LONGEST_GIT = 60.0


def code_root() -> Path:
    """The checkout whose pipeline is running: the nearest folder at or above the current one that holds dvc.yaml."""
    here = Path.cwd()
    candidates = (here, *here.parents, Path(__file__).resolve().parents[1])
    return next((folder for folder in candidates if (folder / GRAPH).exists()), candidates[-1])


def main_root() -> Path:
    """The main checkout: the same from DVC's temporary experiment folders, from git work trees and from sub-folders."""
    root = Path(os.environ.get("DVC_ROOT") or code_root()).resolve()
    for folder in (root, *root.parents):
        if folder.parts[-len(EXPERIMENT_FOLDER) :] == EXPERIMENT_FOLDER:
            root = folder.parents[len(EXPERIMENT_FOLDER) - 1]
            break
    common = git(root, "rev-parse", "--path-format=absolute", "--git-common-dir")
    toplevel = git(root, "rev-parse", "--path-format=absolute", "--show-toplevel")
    if common is None or toplevel is None:
        return root
    shared = Path(common.strip("\n")).resolve()
    inside = root.relative_to(Path(toplevel.strip("\n")).resolve())
    main = shared.parent / inside
    return main if shared.name == ".git" and (main / GRAPH).exists() else root


def work_folder() -> Path:
    """Where states and journals lie: `.work` in the main checkout."""
    return main_root() / ".work"


class StageFacts(NamedTuple):
    """What decides a stage's outputs.

    Attributes:
        command: The command line.
        deps: Hash of each dependency by its path in dvc.yaml; None for what is missing.
        params: Value of each declared parameter by its full name ("train_wayback.clip_norm").
    """

    command: str
    deps: dict[str, str | None]
    params: dict[str, Any]


def stage_facts(stage: str, checkout: Path | None = None) -> StageFacts:
    """What dvc.yaml, the parameters and the files of a checkout (the running one) say now about a stage.

    Raises:
        InputError: dvc.yaml has no such stage.
    """
    root = checkout or code_root()
    definition = _stage_definition(root, stage)
    deps = {path: path_md5(root / path, root) for path in sorted(definition.get("deps", []))}
    return StageFacts(as_line(definition["cmd"]), deps, _declared_params(root, definition.get("params", [])))


def stage_digest(stage: str, without: Collection[str] = ()) -> str:
    """A digest of the stage's command, dependencies and parameters, leaving out the parameters in `without`.

    Equal numbers (1, 1.0, 1e0) give equal digests, as DVC holds them for unchanged.
    """
    command, deps, params = stage_facts(stage)
    return facts_digest(StageFacts(command, deps, {name: params[name] for name in params if name not in without}))


def facts_digest(facts: StageFacts) -> str:
    """16 hexadecimal digits that differ when the command, a dependency or a parameter differs."""
    return hashlib.sha256(canonical(facts._asdict()).encode()).hexdigest()[:16]


def canonical(value: Any) -> str:
    """JSON with sorted keys in which equal numbers are written alike."""
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False)


def stage_outputs(root: Path) -> list[str]:
    """The paths that the stages of dvc.yaml write."""
    stages = read_yaml(root / GRAPH).get("stages", {}) if (root / GRAPH).exists() else {}
    values = _template_values(root)
    kinds = ("outs", "metrics", "plots")
    entries = [entry for stage in stages.values() for kind in kinds for entry in stage.get(kind, [])]
    paths = [path for entry in entries for path in (entry if isinstance(entry, dict) else (entry,))]
    filled = []
    for path in paths:
        with contextlib.suppress(InputError):  # a path of a matrix, whose items are not here
            filled.append(_fill(path, values))
    return filled


def path_md5(path: Path, root: Path) -> str | None:
    """DVC's hash of a file or folder below `root`; None when there is nothing."""
    if path.is_file():
        return _file_md5(path)
    if not path.is_dir():
        return None
    files = sorted(_folder_files(path, root), key=lambda file: file.relative_to(path).as_posix())
    with ThreadPoolExecutor(2) as threads:
        hashes = list(threads.map(_file_md5, files))
    listing = [
        {"md5": md5, "relpath": file.relative_to(path).as_posix()} for file, md5 in zip(files, hashes, strict=True)
    ]
    return hashlib.md5(json.dumps(listing, sort_keys=True).encode()).hexdigest() + ".dir"


class GitFacts(NamedTuple):
    """What git says about the code.

    Attributes:
        commit: Hash of HEAD.
        dirty: Whether anything but parameters, outputs and dvc.lock differs from it.
        diff: Patch from HEAD to the files as they are, untracked sources included; `git apply` restores them.
        left_out: Untracked files that are too large for the patch.
    """

    commit: str
    dirty: bool
    diff: str
    left_out: list[str]


def git_facts() -> GitFacts | None:
    """What git says about the running code, or None outside git or before the first commit.

    Changes nothing in the repository.
    """
    root = code_root()
    commit = git(root, "rev-parse", "HEAD")
    if commit is None:
        return None
    top = Path((git(root, "rev-parse", "--path-format=absolute", "--show-toplevel") or str(root)).strip("\n"))
    outputs = [f":(exclude,literal){path}" for path in (*stage_outputs(root), LOCK)]
    listing = git(root, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--", ".", *outputs)
    entries = [(entry[:2], entry[3:]) for entry in (listing or "").split("\0") if entry]
    left_out = [path for code, path in entries if code == "??" and _size(top / path) > LARGEST_UNTRACKED_SOURCE]
    dirty = any(PurePosixPath(path).name != PARAMS for _, path in entries)
    changed = [path for _, path in entries if path not in left_out]
    return GitFacts(commit.strip(), dirty, _patch(top, changed) if changed else "", left_out)


def _patch(top: Path, changed: list[str]) -> str:
    """The patch from HEAD to the changed files, made with an index and object folder of its own."""
    objects = git(top, "rev-parse", "--path-format=absolute", "--git-path", "objects")
    with tempfile.TemporaryDirectory() as folder:
        own = {
            "GIT_INDEX_FILE": str(Path(folder, "index")),
            "GIT_OBJECT_DIRECTORY": str(Path(folder, "objects")),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted_alternate((objects or "").strip("\n")),
        }
        Path(folder, "objects").mkdir()
        names = "\0".join(changed)
        git(top, "read-tree", "HEAD", **own)
        git(
            top, "--literal-pathspecs", "add", "-A", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=names, **own
        )
        return git(top, "diff", "--cached", "--binary", "--no-ext-diff", "--no-textconv", "HEAD", **own) or ""


def _quoted_alternate(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def git(folder: Path, *arguments: str, stdin: str = "", **environment: str) -> str | None:
    """What git prints when it is run in `folder`; None where it fails, or is not installed."""
    if shutil.which("git") is None or not folder.is_dir():
        return None
    settings = ["-c", "core.quotePath=false", "-c", "core.fsmonitor=false", "--no-optional-locks"]
    try:
        result = subprocess.run(
            ["git", *settings, *arguments],
            cwd=folder,
            env=os.environ | {"LC_ALL": "C"} | environment,
            input=stdin.encode("utf-8", "surrogateescape"),
            capture_output=True,
            check=False,
            timeout=LONGEST_GIT,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.decode("utf-8", "surrogateescape") if result.returncode == 0 else None


def _stage_definition(root: Path, stage: str) -> Mapping[str, Any]:
    stages = read_yaml(root / GRAPH).get("stages", {})
    if stage not in stages:
        raise InputError(f"{GRAPH} has no stage {stage}; it has {', '.join(stages)}")
    return _fill(stages[stage], _template_values(root))


def _template_values(root: Path) -> dict[str, Any]:
    return read_yaml(root / PARAMS) if (root / PARAMS).exists() else {}


def _fill(value: Any, values: Mapping[str, Any]) -> Any:
    """`value` with each ${section.name} replaced, as DVC does."""
    if isinstance(value, str):
        return re.sub(r"\$\{\s*([^}\s]+)\s*\}", lambda found: str(_look_up(values, found[1])), value)
    if isinstance(value, Mapping):
        return {_fill(key, values): _fill(entry, values) for key, entry in value.items()}
    return [_fill(entry, values) for entry in value] if isinstance(value, list) else value


def _declared_params(root: Path, declared: list[Any]) -> dict[str, Any]:
    params: dict[str, Any] = {}
    for entry in declared:
        files = entry if isinstance(entry, Mapping) else {PARAMS: [entry]}
        for file, names in files.items():
            values = read_yaml(root / file) if (root / file).exists() else {}
            for name in values if names is None else names:
                params |= flat(name, _look_up(values, name))
    return dict(sorted(params.items()))


def _look_up(values: Any, name: str) -> Any:
    for part in name.split("."):
        if not isinstance(values, Mapping) or part not in values:
            raise InputError(f"{GRAPH} names the parameter {name}, which {PARAMS} does not have")
        values = values[part]
    return values


def flat(name: str, value: Any) -> dict[str, Any]:
    """The leaves of a nested value by their full names ("train_wayback.clip_norm")."""
    if not isinstance(value, Mapping):
        return {name: value}
    return {full: leaf for key, entry in value.items() for full, leaf in flat(f"{name}.{key}", entry).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_line(command: str | list[str]) -> str:
    """A stage's command, or commands, in one line."""
    return command if isinstance(command, str) else " && ".join(command)


def _folder_files(folder: Path, root: Path) -> Iterator[Path]:
    ignored = _ignore_rules(root)
    for name, folders, files in os.walk(folder, followlinks=True):
        here = Path(name)
        folders[:] = [each for each in folders if not _is_ignored(here / each, root, ignored, "/")]
        yield from (here / each for each in files if not _is_ignored(here / each, root, ignored))


def _ignore_rules(root: Path) -> pathspec.GitIgnoreSpec:
    file = root / ".dvcignore"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return pathspec.GitIgnoreSpec.from_lines([".hg/", ".git/", ".git", ".dvc/", *lines])


def _is_ignored(path: Path, root: Path, rules: pathspec.GitIgnoreSpec, suffix: str = "") -> bool:
    return path.is_relative_to(root) and rules.match_file(path.relative_to(root).as_posix() + suffix)


_known_md5: dict[tuple[str, int, int, int], str] = {}


def _file_md5(path: Path) -> str:
    """The file's MD5; read once a process while its size, time and inode stay."""
    status = path.stat()
    key = (str(path), status.st_size, status.st_mtime_ns, status.st_ino)
    if key not in _known_md5:
        with path.open("rb") as file:
            _known_md5[key] = hashlib.file_digest(file, "md5").hexdigest()
    return _known_md5[key]


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
