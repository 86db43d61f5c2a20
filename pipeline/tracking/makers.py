"""Which run made a folder or a file, told by hashes alone: wherever it lies now, and whatever it is called."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline import lineage, locks
from pipeline.tracking.client import MlflowClient, MlflowRun
from pipeline.tracking.run import EARLIER, OUTPUT
from pipeline.tracking.store import PARENT


class Maker(NamedTuple):
    """A run, and what it made.

    Attributes:
        run: As MLflow has it.
        output: Name of an output folder, which is that of its stage; with a part of its hash behind a slash where the
            run shows a later one of that name.
        md5: The output's hash.
    """

    run: MlflowRun
    output: str
    md5: str

    @property
    def stage(self) -> str:
        """The stage whose origin the run keeps for this output; "" for the training's own."""
        return "" if self.output == own_stage(self.run) or EARLIER in self.output else self.output


def own_stage(run: MlflowRun) -> str:
    """The stage of a training's run; "" for one below it."""
    return "" if PARENT in run.data.tags else run.data.tags.get("dvc.stage", "")


def makers_of_folder(md5: str | None, runs: Sequence[MlflowRun]) -> list[Maker]:
    """Who made a folder with this hash, the newest first: repeated trainings make the same."""
    return [maker for maker in _makers(runs) if maker.md5 == md5]


def makers_of_file(path: Path, runs: Sequence[MlflowRun], client: MlflowClient) -> list[Maker]:
    """Who made a file with these bytes: for each output that has held it the newest run.

    DVC's cache knows what was in most outputs; for others the runs' artifacts are asked, the newest first.
    """
    md5, makers = lineage.path_md5(path, path.parent), _makers(runs)
    root = lineage.main_root()
    listings = {output: locks.folder_listing(root, output) for output in {maker.md5 for maker in makers}}
    holders = {maker.md5: maker for maker in reversed(makers) if md5 in (listings[maker.md5] or {}).values()}
    if holders:
        return list(holders.values())
    elsewhere = (maker for maker in makers if listings[maker.md5] is None)
    return next(([maker] for maker in elsewhere if _is_artifact(path, maker, client)), [])


def _makers(runs: Sequence[MlflowRun]) -> list[Maker]:
    """Every output of every run, the newest run first; in a run what it no longer shows first."""
    return [
        Maker(run, name, md5)
        for run in sorted(runs, key=lambda run: -run.info.start_time)
        for name, md5 in sorted(_outputs(run).items(), reverse=True)
    ]


def _outputs(run: MlflowRun) -> dict[str, str]:
    made = {name.removeprefix(OUTPUT): md5 for name, md5 in run.data.tags.items() if name.startswith(OUTPUT)}
    return {name: md5 for name, md5 in made.items() if EARLIER not in name or md5 != made[name.partition(EARLIER)[0]]}


def _is_artifact(path: Path, maker: Maker, client: MlflowClient) -> bool:
    folder = "model" if maker.output == own_stage(maker.run) else maker.output.partition(EARLIER)[0]
    size, md5 = path.stat().st_size, lineage.path_md5(path, path.parent)
    alike = [item.path for item in client.list_artifacts(maker.run.info.run_id, folder) if item.file_size == size]
    with tempfile.TemporaryDirectory() as scratch:
        copies = (Path(client.download_artifacts(maker.run.info.run_id, name, scratch)) for name in alike)
        return any(lineage.path_md5(copy, copy.parent) == md5 for copy in copies)
