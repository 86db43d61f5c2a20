"""The store that MLflow keeps runs in: made once, asked with short patience."""

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from pipeline.tracking import addresses, process
from pipeline.tracking.client import (
    SECONDS_FOR_AN_ANSWER,
    VERSION,
    MlflowClient,
    MlflowException,
    MlflowRun,
    ViewType,
    get_default_host_creds,
    http_request,
)
from pipeline.tracking.journal import exclusive
from pipeline.tracking.views import STANDARD, TAG, View, view_path, view_tags

SECONDS_FOR_A_FILE = "60"
KEY = "reprise.run_key"
HEARTBEAT = "reprise.heartbeat"
PROCESS = "reprise.process"
REASON = "reprise.reason"
SECONDS_WITHOUT_HEARTBEAT = 600.0
PARENT = "mlflow.parentRunId"
OLDEST_SERVER = 3
SIGNS = {
    "Connection refused": "no server answers at that address",
    "Failed to resolve": "the server's name is not known",
    "timed out": "the server does not answer in time",
    "Invalid Host header": "the server refuses the name that it is called by; start it with --allowed-hosts",
    "too many 500 error responses": "the server answers with error 500",
    "error code 401": "the server asks who you are: set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD",
}


class Store:
    """The experiment `reprise` in a store.

    Attributes:
        client: MLflow's.
        experiment_id: Of the experiment.
        address: Without passwords.
    """

    def __init__(self, address: str, root: Path):
        self.address = addresses.without_password(address)
        self._lock = root / ".work" / "store.lock"
        _check_version(address)
        if _is_made(address):
            self.client = MlflowClient(address, address)
            self.experiment_id = self._experiment(address, root)
            return
        with exclusive(_making_lock(address, root)):
            self.client = MlflowClient(address, address)
            self.experiment_id = self._experiment(address, root)

    def find(self, key: str) -> MlflowRun | None:
        """The run with this key."""
        found = self.client.search_runs([self.experiment_id], f"tags.`{KEY}` = '{key}'", max_results=1)
        return found[0] if found else None

    def find_or_create(self, key: str, name: str, started: int, tags: Mapping[str, str]) -> MlflowRun:
        """The run with this key, made now if there is none; two processes at once get the same."""
        if run := self.find(key):
            return run
        with exclusive(self._lock):
            if run := self.find(key):
                return run
            tags = {**tags, KEY: key, "mlflow.runName": name}
            return self.client.create_run(self.experiment_id, start_time=started, tags=tags, run_name=name)

    def get(self, run_id: str) -> MlflowRun | None:
        """The run with this id; None when this store has none."""
        try:
            return self.client.get_run(run_id)
        except MlflowException as error:
            if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                return None
            raise

    def close_orphans(self) -> list[str]:
        """Ends as KILLED the runs whose process is gone without having said so, and gives their ids."""
        clause = f"attributes.status = 'RUNNING' and tags.`{PROCESS}` != ''"
        running = self.client.search_runs([self.experiment_id], clause, ViewType.ACTIVE_ONLY, max_results=500)
        closed = []
        for run in running:
            seen = float(run.data.tags.get(HEARTBEAT) or run.info.start_time / 1000)
            gone = process.is_gone(run.data.tags[PROCESS])
            silent = time.time() - seen
            if gone or (gone is None and silent > SECONDS_WITHOUT_HEARTBEAT):
                reason = "its process is gone" if gone else f"no sign of life for {silent / 60:.0f} minutes"
                self.end(run.info.run_id, "KILLED", reason, int(seen * 1000))
                closed.append(run.info.run_id)
        return closed

    def end(self, run_id: str, status: str, reason: str, ended: int) -> None:
        """Gives a run its final status."""
        if reason:
            self.client.set_tag(run_id, REASON, reason)
        self.client.set_terminated(run_id, status, ended)

    def save_view(self, view: View) -> str:
        """Keeps a view of the runs table, in place of one of the same name; gives where it opens."""
        for name, value in view_tags([view], int(time.time() * 1000)).items():
            self.client.set_experiment_tag(self.experiment_id, name, value)
        return view_path(self.experiment_id, view)

    def standard_views(self) -> dict[str, str]:
        """Where the standard views open, by their names; those that a user has changed stay so."""
        kept = self.client.get_experiment(self.experiment_id).tags
        return {
            view.name: view_path(self.experiment_id, view) if TAG + view.key in kept else self.save_view(view)
            for view in STANDARD
        }

    def _experiment(self, address: str, root: Path) -> str:
        experiment = self.client.get_experiment_by_name(addresses.EXPERIMENT)
        if experiment is None:
            location = addresses.artifact_location(address, root)
            try:
                tags = view_tags(STANDARD, int(time.time() * 1000))
                return self.client.create_experiment(addresses.EXPERIMENT, location, tags)
            except MlflowException as error:
                if error.error_code != "RESOURCE_ALREADY_EXISTS":
                    raise
                experiment = self.client.get_experiment_by_name(addresses.EXPERIMENT)
        if experiment.lifecycle_stage == "deleted":
            self.client.restore_experiment(experiment.experiment_id)
        return experiment.experiment_id


def explain(error: Exception) -> str:
    """What went wrong, in a line without passwords."""
    text = " ".join(str(error).split())
    for sign, meaning in SIGNS.items():
        if sign in text:
            return meaning
    return addresses.without_password(f"{type(error).__name__}: {text}")[:300]


@contextmanager
def time_for_files() -> Iterator[None]:
    """Within the block the store may take longer to answer."""
    os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] = SECONDS_FOR_A_FILE
    try:
        yield
    finally:
        os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] = SECONDS_FOR_AN_ANSWER


def _check_version(address: str) -> None:
    """Raises a ConnectionError that names both versions when a server is too old to know models with metrics."""
    if not address.startswith(("http://", "https://")):
        return
    answer = http_request(get_default_host_creds(address), "/version", "GET")
    version = answer.text.strip()
    if answer.ok and version.partition(".")[0].isdigit() and int(version.partition(".")[0]) < OLDEST_SERVER:
        raise ConnectionError(f"the server runs MLflow {version}; this is {VERSION} and needs {OLDEST_SERVER} or later")


def _making_lock(address: str, root: Path) -> Path:
    file = addresses.database_file(address)
    return root / ".work" / "store.lock" if file in (None, str(root / addresses.DATABASE)) else Path(f"{file}.lock")


def _is_made(address: str) -> bool:
    """Whether the SQLite file has its tables and the experiment.

    MLflow's own migration must not run in two processes at once.
    """
    file = addresses.database_file(address)
    if file is None or not Path(file).exists():
        return False
    try:
        with closing(sqlite3.connect(f"{Path(file).as_uri()}?mode=ro", uri=True)) as database:
            query = "select count(*) from experiments where name = ?"
            return database.execute(query, (addresses.EXPERIMENT,)).fetchone()[0] > 0
    except sqlite3.Error:
        return False
