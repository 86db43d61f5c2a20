"""What dvc.yaml says, and what the code needs: read from the files, nothing is run."""

import ast
import re
from functools import cache
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("pipeline", "models")

# These cannot change an output: tracking and progress only watch, lineage and runtime settings name and place things.
# tests/end_to_end shows that outputs are equal with tracking off.
WATCHERS = ("pipeline/tracking/", "pipeline/progress.py", "pipeline/lineage.py", "pipeline/sections/runtime.py")


def stages() -> dict[str, dict]:
    """The stages of dvc.yaml."""
    return YAML(typ="safe").load(ROOT / "dvc.yaml")["stages"]


def entry(stage: dict) -> str:
    """The module that a stage runs, as a path."""
    module = re.search(r"-m (\S+)", stage["cmd"]).group(1)
    return module_path(module)


def code_deps(stage: dict) -> set[str]:
    """The modules that dvc.yaml declares for a stage."""
    return {
        path
        for path in stage["deps"]
        if path.startswith(tuple(f"{name}/" for name in PACKAGES)) and path.endswith(".py")
    }


def closure(path: str) -> set[str]:
    """The module and all of ours that it imports, directly or not, except the watchers and empty files."""
    found, waiting = set(), [path]
    while waiting:
        current = waiting.pop()
        if current in found or current.startswith(WATCHERS):
            continue
        found.add(current)
        waiting += imports(current)
    return {name for name in found if (ROOT / name).read_text(encoding="utf-8").strip()}


@cache
def imports(path: str) -> frozenset[str]:
    """Our modules that a module names in an import anywhere, and the packages that hold them."""
    names = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    ours = {name for name in names if name.split(".")[0] in PACKAGES}
    parents = {name.rsplit(".", count)[0] for name in ours for count in range(name.count(".") + 1)}
    return frozenset(found for name in ours | parents if (found := module_path(name)))


def imported_roots(path: str) -> set[str]:
    """Top-level names of everything that a module imports."""
    roots = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            roots.add(node.module.split(".")[0])
    return roots


def module_path(module: str) -> str | None:
    """Where a module of ours lies, or None."""
    base = module.replace(".", "/")
    for candidate in (f"{base}.py", f"{base}/__init__.py"):
        if (ROOT / candidate).exists():
            return candidate
    return None


def modules(package: str) -> list[str]:
    """All module files below a folder."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / package).rglob("*.py"))
