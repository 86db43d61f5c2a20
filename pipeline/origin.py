"""What a run keeps of its origin: enough to show it and to make it again."""

import json
from pathlib import Path
from typing import NamedTuple

from pipeline import lineage
from pipeline.errors import InputError
from pipeline.tracking.queries import RunRecord, read_texts


class Origin(NamedTuple):
    """What a training, or what a later stage has written to its run, was made of.

    Attributes:
        stage: Its name in dvc.yaml.
        commit: Hash of the commit that was checked out.
        facts: Command, hashes of dependencies, parameters.
        patch: From the commit to the files as they were; "" for no difference.
        lock: dvc.lock as it was when the stage began; None when there was none.
        left_out: Untracked files that were too large for the patch.
        packages: Installed packages, "name==version".
    """

    stage: str
    commit: str
    facts: lineage.StageFacts
    patch: str
    lock: str | None
    left_out: list[str]
    packages: list[str]


def origin_of(run: RunRecord) -> Origin:
    """The origin of a run.

    Raises:
        InputError: The run does not say what it was made of.
    """
    folder = f"{run.joined}/" if run.joined and not run.parent else ""
    commit, texts = run.tags.get(f"{folder}git.commit"), read_texts(run, Path(run.joined, "lineage").as_posix())
    missing = [name for name, kept in (("commit", commit), ("stage", "stage.json" in texts)) if not kept]
    if missing:
        raise InputError(
            f"run {run.run_id} ({run.name}) does not say its {' and '.join(missing)}: it was made outside git or DVC, "
            "or not all of it has been delivered (make sync)"
        )
    return Origin(
        stage=run.joined or run.tags["dvc.stage"],
        commit=commit,
        facts=lineage.StageFacts(**json.loads(texts["stage.json"])),
        patch=texts.get("uncommitted.patch", ""),
        lock=texts.get("dvc.lock"),
        left_out=texts.get("uncommitted_left_out.txt", "").splitlines(),
        packages=texts.get("packages.txt", "").splitlines(),
    )
