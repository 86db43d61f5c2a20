"""Command `make show RUN=...`: what a run was made of, and where that is still to be found."""

import textwrap
from collections.abc import Mapping

from pipeline import lineage, locks, stage
from pipeline.origin import Origin, origin_of
from pipeline.tracking.queries import RunRecord, find_run

WIDTH = 120
VERSION, OUTPUT = "version.", "dvc.out/"


def main(run: str) -> None:
    """Prints commit, places, parameters, hashes, versions and the difference from the commit."""
    record = find_run(run)
    origin = origin_of(record)
    print("\n".join(heading(record, origin)))
    print(section("parameters", origin.facts.params))
    print(section("dependencies (MD5)", origin.facts.deps))
    print(section("outputs (MD5)", _starting(record.tags, OUTPUT)))
    print(section("versions", _starting(record.tags, VERSION)))
    print(
        "\npackages\n" + textwrap.fill(", ".join(origin.packages), WIDTH, initial_indent="  ", subsequent_indent="  ")
    )
    if origin.left_out:
        print("\nuntracked, and too large to keep\n" + "\n".join(f"  {path}" for path in origin.left_out))
    print(f"\ndifference from the commit\n{origin.patch}" if origin.patch else "\nno difference from the commit")


def heading(record: RunRecord, origin: Origin) -> list[str]:
    """The lines that say which run, which code and where dvc.lock has it."""
    root = lineage.main_root()
    subject = lineage.git(root, "log", "-1", "--format=%s", origin.commit)
    branches = lineage.git(root, "for-each-ref", "--format=%(refname:short)", "--contains", origin.commit, "refs/heads")
    digest = lineage.facts_digest(origin.facts)
    lines = {
        "run": f"{record.run_id}  {record.name}  {record.status}",
        "stage": origin.stage,
        "training": f"make show RUN={record.parent or record.run_id}" if record.joined else "",
        "experiment": record.tags.get("dvc.experiment", ""),
        "commit": f"{origin.commit}  {(subject or 'not in this repository').strip()}",
        "on": ", ".join((branches or "").split()) or "no branch",
        "dvc.lock": ", ".join(locks.places_of(lineage.code_root(), origin.stage, origin.facts))
        or "in no dvc.lock here",
        "command": origin.facts.command,
        "digest": digest,
    }
    return [f"{name:<11} {value}" for name, value in lines.items() if value]


def section(title: str, values: Mapping[str, object]) -> str:
    """Names and values in two columns under a title."""
    width = max(map(len, values), default=0)
    return "\n".join([f"\n{title}", *(f"  {name:<{width}}  {value}" for name, value in values.items())])


def _starting(tags: Mapping[str, str], beginning: str) -> dict[str, str]:
    return {name.removeprefix(beginning): tags[name] for name in sorted(tags) if name.startswith(beginning)}


if __name__ == "__main__":
    stage.run(main)
