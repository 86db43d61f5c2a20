"""Questions to the store that a person asks; nothing inside the pipeline does."""

import json
from pathlib import Path
from typing import NamedTuple

from pipeline import lineage
from pipeline.errors import InputError
from pipeline.tracking.addresses import store_address
from pipeline.tracking.client import MlflowException, MlflowRun
from pipeline.tracking.store import KEY, Store, explain


class RunRecord(NamedTuple):
    """A run as MLflow has it.

    Attributes:
        run_id: MLflow's id.
        name: MLflow's name for it.
        params: Parameters of the training and of the stages that joined it, by name.
        figures: The latest value of each metric.
        tags: All tags.
    """

    run_id: str
    name: str
    params: dict[str, str]
    figures: dict[str, float]
    tags: dict[str, str]


def find_run(text: str) -> RunRecord:
    """The run that `text` means: a run-id file, an id, a key, the beginning of one, or a name that only one run has.

    Raises:
        InputError: There is no such run, there are several, or the store does not answer.
    """
    root = lineage.main_root()
    try:
        store = Store(store_address(root), root)
        found = _matches(store, text)
    except MlflowException as error:
        raise InputError(f"the store of the runs does not answer: {explain(error)}") from error
    if len(found) != 1:
        names = ", ".join(f"{run.info.run_id} ({run.info.run_name})" for run in found[:5])
        raise InputError(
            f"{text} means {'several runs: ' + names if found else 'no run'}; give a run id from the MLflow UI"
        )
    return _record(found[0])


def _matches(store: Store, text: str) -> list[MlflowRun]:
    if Path(text).is_file():
        text = json.loads(Path(text).read_text(encoding="utf-8"))["run_key"]
    runs = store.client.search_runs([store.experiment_id], max_results=5000)
    exact = [run for run in runs if text in (run.info.run_id, run.data.tags.get(KEY))]
    begins = [run for run in runs if run.info.run_id.startswith(text) or run.data.tags.get(KEY, "").startswith(text)]
    return exact or begins or [run for run in runs if run.info.run_name == text]


def _record(run: MlflowRun) -> RunRecord:
    joined = {name.partition("/params/")[2]: value for name, value in run.data.tags.items() if "/params/" in name}
    return RunRecord(run.info.run_id, run.info.run_name, joined | run.data.params, run.data.metrics, run.data.tags)
