"""Command `make why STAGE=...`: what changed since a stage last ran here, or since a run of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline import lineage, locks
from pipeline import stage as command
from pipeline.errors import InputError

SHOWN = 5
SINCE_LAST = ""


def main(stage: str, run: str = SINCE_LAST) -> None:
    """Prints each dependency, parameter and output that changed, and which stage makes it."""
    root = lineage.code_root()
    now = lineage.stage_facts(stage)
    lock = locks.read_lock(root)
    if run:
        before, outputs = _of_run(run, stage), {}
    elif stage in lock:
        before = locks.locked_facts(lock[stage])
        outputs = {out["path"]: out.get("md5") for out in lock[stage].get("outs", [])}
    else:
        raise InputError(
            f"{stage} has never run here: {lineage.LOCK} does not have it; compare with a run: make why STAGE=.. RUN=.."
        )
    lines = changes(root, before, now, dict(locks.locked_outputs(lock)))
    lines += output_changes(root, outputs)
    since = f"run {run}" if run else "its last run here"
    print("\n".join([f"{stage}: since {since} {'there changed' if lines else 'nothing changed'}", *lines]))


def changes(root: Path, before: lineage.StageFacts, now: lineage.StageFacts, makers: Mapping[str, str]) -> list[str]:
    """A line for each part of what the stage is made of that is not as before."""
    lines = []
    if before.command != now.command:
        lines.append(f"  command     {before.command}\n           -> {now.command}")
    for name in sorted(before.params.keys() | now.params.keys()):
        old, new = (_value(facts.params, name) for facts in (before, now))
        if lineage.canonical(old) != lineage.canonical(new):
            lines.append(f"  parameter   {name}: {old} -> {new}")
    for path in sorted(before.deps.keys() | now.deps.keys()):
        old, new = before.deps.get(path), now.deps.get(path)
        if old != new:
            made = f" (made by {makers[path]})" if path in makers else ""
            lines.append(f"  dependency  {path}{made}: {_told(old)} -> {_told(new)}{_files(root, path, old)}")
    return lines


def output_changes(root: Path, outputs: Mapping[str, str | None]) -> list[str]:
    """A line for each output that is not what the stage wrote."""
    found = {path: lineage.path_md5(root / path, root) for path in outputs}
    return [
        f"  output      {path}: {'is missing' if found[path] is None else 'was changed after the stage wrote it'}"
        for path, md5 in sorted(outputs.items())
        if found[path] != md5
    ]


def _of_run(run: str, stage: str) -> lineage.StageFacts:
    from pipeline.origin import origin_of
    from pipeline.tracking.queries import find_run

    origin = origin_of(find_run(run))
    if origin.stage != stage:
        raise InputError(f"run {run} is one of stage {origin.stage}, not of {stage}")
    return origin.facts


def _files(root: Path, path: str, old: str | None) -> str:
    """Which files of a folder differ, where the cache still knows what was in it."""
    before = locks.folder_listing(lineage.main_root(), old)
    if before is None or not (root / path).is_dir():
        return ""
    names = {file.relative_to(root / path).as_posix() for file in (root / path).rglob("*") if file.is_file()}
    changed = sorted(
        name for name in names | before.keys() if lineage.path_md5(root / path / name, root) != before.get(name)
    )
    more = f" and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
    return f"; {', '.join(changed[:SHOWN])}{more}"


def _value(params: Mapping[str, Any], name: str) -> Any:
    return params.get(name, "absent")


def _told(md5: str | None) -> str:
    return md5[:8] if md5 else "absent"


if __name__ == "__main__":
    command.run(main)
