"""Questions to the store that a person asks; nothing inside the pipeline does."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pipeline import lineage, locks
from pipeline.errors import InputError
from pipeline.tracking.addresses import store_address
from pipeline.tracking.client import MlflowException, MlflowRun
from pipeline.tracking.facts import as_text
from pipeline.tracking.makers import Maker, makers_of_file, makers_of_folder, own_stage
from pipeline.tracking.store import KEY, PARENT, Store, explain
from pipeline.tracking.views import View


class RunRecord(NamedTuple):
    """A run as MLflow has it.

    Attributes:
        run_id: MLflow's id.
        name: MLflow's name for it.
        status: FINISHED, FAILED, KILLED or RUNNING.
        params: Parameters of the training and of the stages that joined it, by name.
        figures: The latest value of each metric.
        tags: All tags.
        seconds: From its start to its end; None while it runs.
        joined: The evaluation or synthesis that is meant, which has written to this run; "" for the training itself.
        parent: Id of the training's run, where this is one below it; "" otherwise.
    """

    run_id: str
    name: str
    status: str
    params: dict[str, str]
    figures: dict[str, float]
    tags: dict[str, str]
    seconds: float | None
    joined: str
    parent: str


def find_run(text: str) -> RunRecord:
    """The run that `text` means.

    A run-id file, a run id, a key, the beginning of one, a name that only one run has, what a stage has made (a model
    folder, a sound) or a copy of it anywhere, or a stage in dvc.lock ("train_wayback", "v1:train_wayback").

    Raises:
        InputError: There is no such run, there are several, or the store does not answer.
    """
    with _answering() as store:
        found = _matches(store, text)
    if len(found) != 1:
        names = ", ".join(f"{run.info.run_id} ({run.info.run_name})" for run, _ in found[:5])
        raise InputError(
            f"{text} means {'several runs: ' + names if found else 'no run'}; give a run id from the MLflow UI"
        )
    return _record(*found[0])


def open_store() -> Store:
    """The store that runs of this repository go to.

    Raises:
        InputError: It does not answer.
    """
    root = lineage.main_root()
    try:
        return Store(store_address(root), root)
    except (MlflowException, ConnectionError) as error:
        raise InputError(f"the store of the runs does not answer: {explain(error)}") from error


def save_view(view: View) -> str:
    """Keeps a view of the runs table, in place of one of the same name; gives where it opens, after MLflow's address.

    Raises:
        InputError: The store does not answer, or forbids it.
    """
    with _answering() as store:
        return store.save_view(view)


def standard_views() -> dict[str, str]:
    """Where a view for each model opens, by its name.

    Raises:
        InputError: The store does not answer, or forbids it.
    """
    with _answering() as store:
        return store.standard_views()


@contextmanager
def _answering() -> Iterator[Store]:
    try:
        yield open_store()
    except MlflowException as error:
        raise InputError(f"the store of the runs does not answer: {explain(error)}") from error


def read_texts(record: RunRecord, folder: str = "lineage") -> dict[str, str]:
    """The run's text artifacts in a folder, by file name.

    Raises:
        InputError: The store does not give them.
    """
    client = open_store().client
    try:
        with tempfile.TemporaryDirectory() as scratch:
            paths = [item.path for item in client.list_artifacts(record.run_id, folder) if not item.is_dir]
            places = {Path(path).name: client.download_artifacts(record.run_id, path, scratch) for path in paths}
            return {name: Path(place).read_bytes().decode("utf-8", "surrogateescape") for name, place in places.items()}
    except (MlflowException, OSError) as error:
        raise InputError(f"the artifacts of run {record.run_id} cannot be read: {explain(error)}") from error


def all_params(record: RunRecord) -> dict[str, Any]:
    """Every parameter of the run, and those that are too long for MLflow's table as the artifact `lineage/stage.json` has them."""
    text = read_texts(record).get("stage.json")
    declared = json.loads(text)["params"] if text else {}
    return record.params | {name: as_text(value) for name, value in declared.items()}


def _matches(store: Store, text: str) -> list[tuple[MlflowRun, str]]:
    """The runs that a text can mean, and the joined stage where it means the work of one."""
    runs = store.client.search_runs([store.experiment_id], max_results=5000)
    path = Path(text)
    if path.exists():
        return [(maker.run, maker.stage) for maker in _of_path(path, runs, store)]
    exact = [run for run in runs if text in (run.info.run_id, run.data.tags.get(KEY))]
    begins = [run for run in runs if run.info.run_id.startswith(text) or run.data.tags.get(KEY, "").startswith(text)]
    found = exact or begins or _of_lock(text, runs) or [run for run in runs if run.info.run_name == text]
    return [(run, run.data.tags.get("dvc.stage", "") if PARENT in run.data.tags else "") for run in found]


def _of_path(path: Path, runs: list[MlflowRun], store: Store) -> list[Maker]:
    """Who made the output folder that the path is or lies in, or a file of the same bytes; the run of a run-id file."""
    key = _run_key(path)
    if key is not None:
        return [Maker(run, own_stage(run), "") for run in runs if run.data.tags.get(KEY) == key]
    for folder in _around(path.resolve()):
        made = makers_of_folder(lineage.path_md5(folder, folder), runs)
        if made:
            named = _run_key(folder.parent / "runs" / f"{folder.name}.json")
            return [maker for maker in made if maker.run.data.tags.get(KEY) == named] or made[:1]
    return makers_of_file(path, runs, store.client) if path.is_file() else []


def _around(path: Path) -> list[Path]:
    """The folder that the path is, and those that it lies in within this checkout's `data`."""
    data = lineage.code_root().resolve() / "data"
    inside = [folder for folder in path.parents if folder.is_relative_to(data) and folder != data]
    return [path, *inside] if path.is_dir() else inside


def _run_key(path: Path) -> str | None:
    if path.suffix != ".json" or not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))["run_key"]
    except (ValueError, KeyError, TypeError):
        return None


def _of_lock(text: str, runs: list[MlflowRun]) -> list[MlflowRun]:
    """The run of a stage in dvc.lock: by its run-id file where that is here, else by what the stage was made of."""
    revision, stage = locks.split_reference(text)
    root = lineage.code_root()
    lock = locks.read_lock(root, revision)
    if stage not in lock:
        return []
    entry = lock[locks.training_of(lock, stage)]
    key = locks.locked_run_key(root, entry)
    if key is not None:
        return [run for run in runs if run.data.tags.get(KEY) == key]
    digest = lineage.facts_digest(locks.locked_facts(entry))
    made = [run for run in runs if run.data.tags.get("dvc.digest") == digest and run.info.status == "FINISHED"]
    return sorted(made, key=lambda run: -run.info.start_time)[:1]


def _record(run: MlflowRun, joined: str) -> RunRecord:
    others = {name.partition("/params/")[2]: value for name, value in run.data.tags.items() if "/params/" in name}
    params = others | run.data.params
    info, ended = run.info, run.info.end_time
    seconds = (ended - info.start_time) / 1000.0 if ended else None
    tags, figures = run.data.tags, run.data.metrics
    return RunRecord(
        info.run_id, info.run_name, info.status, params, figures, tags, seconds, joined, tags.get(PARENT, "")
    )
