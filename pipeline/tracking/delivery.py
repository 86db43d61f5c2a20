"""Delivers one journal: reads on from where the last try ended, sends a batch, remembers how far it came.

Everything can be sent twice without being there twice, because a batch may have arrived although its answer did not: a
metric value keeps the time of its logging, a run is found by its key, a checkpoint by its tag.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.tracking import addresses, registry
from pipeline.tracking import client as mlflow
from pipeline.tracking.facts import as_key
from pipeline.tracking.journal import (
    Delivered,
    first_opening,
    ownership,
    put_away,
    read_delivered,
    read_records,
    records_size,
    sign_of_life,
    sole_delivery,
    waiting_journals,
    write_delivered,
)
from pipeline.tracking.run import EARLIER, OUTPUT
from pipeline.tracking.store import HEARTBEAT, KEY, PARENT, PROCESS, REASON, Store, explain, time_for_files

METRICS_IN_A_BATCH = 1000
PARAMS_OR_TAGS_IN_A_BATCH = 100
BYTES_READ = 500_000
SECONDS_BETWEEN_HEARTBEATS = 30.0
FILES_NEVER_ACCEPTED = (400, 413, 414, 422)
NEVER_ACCEPTED = ("INVALID_PARAMETER_VALUE", "BAD_REQUEST")
CHECKPOINT = "reprise.checkpoint"
JOINED = "reprise.joined."
VERSION_TAGS = ("dvc.digest", "dvc.stage", OUTPUT, "git.")
SOURCE = ("dvc.digest", "dvc.experiment", "git.")
DIGITS = 8
LONGEST_LOSS = 300
LOSSES_REMEMBERED = 10
VANISHED = "the training process vanished without ending its run (kill -9, out of memory, a crash)"


class Delivery:
    """The delivery of one journal to one store.

    Args:
        folder: The journal's.
        store: Where its records go.
        say: Takes a line for the log.
    """

    def __init__(self, folder: Path, store: Store, say: Callable[[str], None]):
        self.folder, self._store, self._client, self._say = folder, store, store.client, say
        self.done = read_delivered(folder)
        if self.done.store != store.address:
            self.done = Delivered(store=store.address)
        self._header = first_opening(folder)
        self._heartbeat = 0.0

    @property
    def waits(self) -> bool:
        """Whether there are records to deliver."""
        return self.done.offset < records_size(self.folder)

    def advance(self) -> bool:
        """Delivers a batch, or one record that stands alone; says whether there was anything whole to deliver.

        Raises:
            Exception: Whatever keeps the store from taking it; nothing is lost, the next call tries again.
        """
        records = list(read_records(self.folder, self.done.offset, BYTES_READ))
        if not records:
            return False
        batch = list(_leading_batch(records))
        try:
            if batch:
                self._send_batch([record for record, _ in batch])
                self._remember(offset=batch[-1][1], files=0)
            else:
                record, offset = records[0]
                self._send(record)
                self._remember(offset=offset, files=0)
                self._remove_file(record)
        except mlflow.MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            self._say("the run is no longer in the store; it is made again")
            self._remember(offset=0, files=0, runs=())
            raise
        return True

    def beat(self) -> None:
        """Tells the store now and then that the run is alive."""
        own = self._header.get("mode") == "training" or len(self.done.runs) > 1
        if own and self.done.runs and time.monotonic() - self._heartbeat > SECONDS_BETWEEN_HEARTBEATS:
            self._client.set_tag(self.done.runs[-1], HEARTBEAT, f"{time.time():.0f}")
            self._heartbeat = time.monotonic()

    def failed(self, error: str) -> None:
        """Remembers why the last try failed."""
        if error != self.done.error:
            self._remember(error=error)

    def still_runs(self) -> None:
        """Says so to the store, where another process may have taken a long silence for the end."""
        if self.done.runs and self._header.get("mode") == "training":
            self._client.update_run(self.done.runs[0], "RUNNING")

    def end_as_killed(self) -> None:
        """Ends a run whose process is gone and has not said how it ended."""
        attempt, _, closed = self.owner()
        last = max((record.get("time", 0) for record, _ in read_records(self.folder)), default=0)
        if self.done.runs and not closed and self.done.ended < attempt:
            self._close({"status": "KILLED", "reason": VANISHED, "time": last})
            self._remember(ended=attempt)

    def owner(self) -> tuple[int, str, bool]:
        """Number of the last attempt, its process, and whether it has said how it ended."""
        return ownership(self.folder)

    def _send(self, record: Mapping[str, Any]) -> None:
        senders = {
            "open": self._open,
            "artifact": self._send_files,
            "checkpoint": self._send_checkpoint,
            "model": self._send_model,
            "dataset": self._send_dataset,
            "close": self._close,
        }
        if record["kind"] == "claim":
            return
        if record["kind"] == "open":
            self._header = self._header or record
        sender = senders.get(record["kind"])
        if sender is None or (record["kind"] != "open" and not self.done.runs):
            self._lose(f"a record of the kind {record['kind']!r}")
            return
        try:
            sender(record)
        except mlflow.MlflowException as error:
            if error.error_code not in NEVER_ACCEPTED:
                raise
            self._lose(f"{record['kind']}: {error}")
        except mlflow.HTTPError as error:
            if error.response is None or error.response.status_code not in FILES_NEVER_ACCEPTED:
                raise
            self._lose(f"{record.get('source', record['kind'])}: {error}")

    def _open(self, record: Mapping[str, Any]) -> None:
        if record["mode"] == "training":
            self._open_training(record)
        else:
            self._open_joined(record)
        self._remember(error="")

    def _open_training(self, record: Mapping[str, Any]) -> None:
        run = self._store.find_or_create(record["run_key"], record["name"], record["time"], {})
        self._remember(runs=(run.info.run_id,))
        if record["attempt"] > 1 or run.info.status != "RUNNING":
            self._client.update_run(run.info.run_id, "RUNNING")
        if REASON in run.data.tags:
            self._client.delete_tag(run.info.run_id, REASON)
        tags = _tags_while_running(record) | {"reprise.attempts": str(record["attempt"])}
        self._give_params(run, record["params"], tags, f"resume-{record['attempt'] - 1}")

    def _open_joined(self, record: Mapping[str, Any]) -> None:
        """Writes to the training's run.

        When the stage has already written there with other parameters, writes to a run below that one too. The hash of
        what it made there before stays.
        """
        stage, digest = record["stage"], record["digest"]
        parent = self._parent(record)
        runs = [parent.info.run_id]
        first = parent.data.tags.get(JOINED + stage, digest)
        if first != digest:
            key = f"{record['run_key']}/{stage}/{digest}"
            child = self._store.find_or_create(key, stage, record["time"], {PARENT: runs[0]})
            runs.append(child.info.run_id)
            self._client.update_run(child.info.run_id, "RUNNING")
            self._give_params(child, record["params"], _tags_while_running(record), "repeat")
        shown = {f"{stage}/params/{name}": value for name, value in record["params"].items()}
        shown |= {f"{stage}/{name}": value for name, value in record["source_tags"].items() if name.startswith(SOURCE)}
        made = parent.data.tags.get(OUTPUT + stage)
        if made is not None:
            shown[f"{OUTPUT}{stage}{EARLIER}{made[:DIGITS]}"] = made
        unlike = {name: value for name, value in shown.items() if parent.data.tags.get(name) != value}
        self._set_tags(runs[0], {as_key(name): value for name, value in unlike.items()} | {JOINED + stage: first})
        self._remember(runs=tuple(runs))

    def _parent(self, record: Mapping[str, Any]) -> mlflow.MlflowRun:
        run = self._store.get(record["run_id"]) if record["run_id"] else None
        if run is None or run.data.tags.get(KEY) != record["run_key"]:
            run = self._store.find(record["run_key"])
        if run is not None:
            return run
        note = {"reprise.note": "the training's own values are not in this store"}
        run = self._store.find_or_create(record["run_key"], record["name"], record["time"], note)
        self._client.set_terminated(run.info.run_id, "FINISHED", record["time"])
        return run

    def _give_params(
        self, run: mlflow.MlflowRun, params: Mapping[str, str], tags: dict[str, str], changed: str
    ) -> None:
        """Logs the parameters that the run lacks.

        One that it has with another value, which MLflow would refuse, becomes a tag.
        """
        present = run.data.params
        new = {name: value for name, value in params.items() if name not in present}
        other = {name: value for name, value in params.items() if _number(present.get(name, value)) != _number(value)}
        tags |= {as_key(f"{changed}/{name}"): value for name, value in other.items()}
        self._log_params(run.info.run_id, new)
        self._set_tags(run.info.run_id, tags)

    def _send_batch(self, records: list[Mapping[str, Any]]) -> None:
        if not self.done.runs:
            self._lose(f"{len(records)} records before the run was opened")
            return
        metrics = [
            mlflow.Metric(name, value, record["time"], record["step"])
            for record in records
            for name, value in record.get("metrics", {}).items()
        ]
        tags = {name: value for record in records for name, value in record.get("tags", {}).items()}
        joined = self._header.get("mode") == "join"
        for run_id in self.done.runs:
            self._log_metrics(run_id, self._unlike_present(run_id, metrics) if joined else metrics)
            self._set_tags(run_id, tags)
        if joined:
            self._tell_models(metrics)

    def _tell_models(self, metrics: list[mlflow.Metric]) -> None:
        """Gives what evaluation measured to the registered model of the run, too."""
        run_id = self.done.runs[0]
        query = f"name = '{registry.model_name(self._parent_stage(run_id))}' and run_id = '{run_id}'"
        for version in self._client.search_model_versions(query):
            for metric in metrics:
                self._client.set_model_version_tag(version.name, version.version, metric.key, f"{metric.value:.6g}")

    def _parent_stage(self, run_id: str) -> str:
        return self._client.get_run(run_id).data.tags.get("dvc.stage", "")

    def _unlike_present(self, run_id: str, metrics: list[mlflow.Metric]) -> list[mlflow.Metric]:
        """The metrics without those that the run shows already.

        A stage repeated gives the same values again, at a later time.
        """
        present = self._client.get_run(run_id).data.metrics
        return [metric for metric in metrics if present.get(metric.key) != metric.value]

    def _send_files(self, record: Mapping[str, Any]) -> None:
        source = self.folder / record["source"]
        if not source.exists():
            self._lose(f"{record['source']} is no longer there")
            return
        files = sorted(path for path in source.rglob("*") if path.is_file()) if source.is_dir() else [source]
        base = source if source.is_dir() else source.parent
        for number, path in enumerate(files[self.done.files :], self.done.files + 1):
            inner = path.parent.relative_to(base)
            target = "/".join(part for part in (record["folder"], inner.as_posix()) if part not in ("", "."))
            for run_id in self.done.runs:
                with time_for_files():
                    self._client.log_artifact(run_id, str(path), target or None)
            self._remember(files=number)

    def _send_checkpoint(self, record: Mapping[str, Any]) -> None:
        self._send_files(record)
        run_id = self.done.runs[0]
        name = f"{self._header['stage']}-step-{record['step']:08d}"
        model_id = self._checkpoint(run_id, name, record)
        metrics = [
            mlflow.Metric(key, value, logged, record["step"], model_id=model_id)
            for key, (logged, value) in record["figures"].items()
        ]
        self._log_metrics(run_id, metrics)

    def _checkpoint(self, run_id: str, name: str, record: Mapping[str, Any]) -> str:
        """Id of the checkpoint's entry among the logged models, made now if there is none."""
        mark = f"{self._header['run_key']}/{record['step']}"
        found = self._client.search_logged_models([self._store.experiment_id], f"tags.`{CHECKPOINT}` = '{mark}'")
        if found:
            return found[0].model_id
        model = self._client.create_logged_model(
            self._store.experiment_id,
            name=name,
            source_run_id=run_id,
            tags={CHECKPOINT: mark, KEY: self._header["run_key"], "mlflow.model.isExternal": "true"},
            params={"step": str(record["step"]), "artifacts": record["folder"], "stage": self._header["stage"]},
        )
        with tempfile.TemporaryDirectory() as scratch:
            mlflow.external_model(model).save(str(Path(scratch, "MLmodel")))
            self._client.log_model_artifacts(model.model_id, scratch)
        self._client.finalize_logged_model(model.model_id, "READY")
        self._client.log_outputs(run_id, [mlflow.LoggedModelOutput(model.model_id, record["step"])])
        return model.model_id

    def _send_model(self, record: Mapping[str, Any]) -> None:
        """Registers the trained model as a new version, once."""
        run_id, name = self.done.runs[0], registry.model_name(record["stage"])
        versions = self._client.search_model_versions(f"name = '{name}' and run_id = '{run_id}'")
        if versions:
            return
        facts = self._client.get_run(run_id).data.tags
        lineage = {key: value for key, value in facts.items() if key.startswith(VERSION_TAGS)}
        model_id = self._model(run_id, name, record, lineage)
        metrics = [
            mlflow.Metric(key, value, logged, record["step"], model_id=model_id)
            for key, (logged, value) in record["figures"].items()
        ]
        self._log_metrics(run_id, metrics)
        tags = {"step": str(record["step"]), KEY: self._header["run_key"], **lineage}
        try:
            self._client.create_registered_model(name)
        except mlflow.MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        self._client.create_model_version(name, f"models:/{model_id}", run_id, tags=tags, model_id=model_id)

    def _model(self, run_id: str, name: str, record: Mapping[str, Any], tags: Mapping[str, str]) -> str:
        """Id of the model's entry among the logged models, whole."""
        mark = f"{self._header['run_key']}/model"
        found = self._client.search_logged_models([self._store.experiment_id], f"tags.`{CHECKPOINT}` = '{mark}'")
        model = (
            found[0]
            if found
            else self._client.create_logged_model(
                self._store.experiment_id,
                name=name,
                source_run_id=run_id,
                tags={**tags, CHECKPOINT: mark, KEY: self._header["run_key"]},
                params={"step": str(record["step"]), "stage": record["stage"]},
                model_type="pyfunc",
            )
        )
        if model.status == "READY":
            return model.model_id
        with sign_of_life(self.folder), tempfile.TemporaryDirectory() as scratch, time_for_files():
            folder = Path(scratch, "model")
            known = registry.write_model(self.folder / record["source"], record["stage"], folder)
            self._client.set_logged_model_tags(model.model_id, known)
            self._client.log_model_artifacts(model.model_id, str(folder))
        self._client.finalize_logged_model(model.model_id, "READY")
        self._client.log_outputs(run_id, [mlflow.LoggedModelOutput(model.model_id, record["step"])])
        return model.model_id

    def _send_dataset(self, record: Mapping[str, Any]) -> None:
        source = json.dumps({"uri": record["source"]})
        dataset = mlflow.Dataset(record["name"], record["digest"], "local", source)
        use = "training" if self._header["mode"] == "training" else "evaluation"
        entry = mlflow.DatasetInput(dataset, [mlflow.InputTag("mlflow.data.context", use)])
        for run_id in self.done.runs:
            self._client.log_inputs(run_id, datasets=[entry])

    def _close(self, record: Mapping[str, Any]) -> None:
        stage = self._header["stage"]
        if self._header["mode"] == "training":
            self._store.end(self.done.runs[0], record["status"], record["reason"], record["time"])
            return
        for child in self.done.runs[1:]:
            self._store.end(child, record["status"], record["reason"], record["time"])
        told = f"{record['status']}: {record['reason']}" if record["reason"] else record["status"]
        self._client.set_tag(self.done.runs[0], as_key(f"{stage}/status"), told)

    def _log_metrics(self, run_id: str, metrics: Iterable[mlflow.Metric]) -> None:
        for part in _parts(metrics, METRICS_IN_A_BATCH):
            self._try_together(run_id, "metrics", part)

    def _log_params(self, run_id: str, params: Mapping[str, str]) -> None:
        for part in _parts((mlflow.Param(name, value) for name, value in params.items()), PARAMS_OR_TAGS_IN_A_BATCH):
            self._try_together(run_id, "params", part)

    def _set_tags(self, run_id: str, tags: Mapping[str, str]) -> None:
        for part in _parts((mlflow.RunTag(name, value) for name, value in tags.items()), PARAMS_OR_TAGS_IN_A_BATCH):
            self._try_together(run_id, "tags", part)

    def _try_together(self, run_id: str, kind: str, entries: list[Any]) -> None:
        """Sends entries in one request.

        When the store refuses them for good, one by one, to lose only what it refuses.
        """
        try:
            self._client.log_batch(run_id, **{kind: entries})
        except mlflow.MlflowException as error:
            if error.error_code not in NEVER_ACCEPTED:
                raise
            if len(entries) == 1 or self._client.get_run(run_id).info.lifecycle_stage == "deleted":
                self._lose(f"{kind}: {', '.join(entry.key for entry in entries)}: {error}")
                return
            for entry in entries:
                self._try_together(run_id, kind, [entry])

    def _lose(self, what: str) -> None:
        text = addresses.without_password(what)[:LONGEST_LOSS]
        self._say(f"the store will never take {text}")
        self._remember(lost=(*self.done.lost, text)[-LOSSES_REMEMBERED:])

    def _remember(self, **changes: Any) -> None:
        self.done = self.done._replace(**changes)
        write_delivered(self.folder, self.done)

    def _remove_file(self, record: Mapping[str, Any]) -> None:
        if "source" in record:
            shutil.rmtree((self.folder / record["source"]).parent, ignore_errors=True)


def deliver_waiting(
    root: Path, address: str, say: Callable[[str], None], own: Path | None, progressed: Callable[[], None]
) -> dict[Path, str]:
    """Delivers the journals in the outbox that nobody writes any more, the oldest first.

    Args:
        root: The main checkout.
        address: The store that is used now. A journal goes to the store that it was written for: to this one where
            they are
            the same but for a password, else to the address in the journal, if that needs none.
        say: Takes lines for a log.
        own: A journal to leave alone.
        progressed: Called after each batch.

    Returns:
        Why it failed, for each journal that still waits.
    """
    failures: dict[Path, str] = {}
    stores: dict[str, Store | Exception] = {}
    for folder in waiting_journals(root / ".work" / "outbox"):
        with sole_delivery(folder) as alone:
            if folder == own or not alone:
                continue
            try:
                _deliver_whole(folder, _store_of(folder, root, address, stores), say, progressed)
            except Exception as error:  # whatever keeps the store from answering
                failures[folder] = explain(error)
                say(f"{folder.name}: {failures[folder]}")
    return failures


def _deliver_whole(folder: Path, store: Store, say: Callable[[str], None], progressed: Callable[[], None]) -> None:
    delivery = Delivery(folder, store, say)
    while delivery.advance():
        progressed()
    delivery.end_as_killed()
    put_away(folder)


def _store_of(folder: Path, root: Path, address: str, stores: dict[str, Store | Exception]) -> Store:
    """The store that a journal was written for, opened once; one that did not answer is not asked again."""
    written_for = first_opening(folder).get("store", "")
    if written_for in ("", addresses.without_password(address)):
        written_for = address
    elif addresses.HIDDEN in written_for:
        raise InputError(f"these runs belong to {written_for}: set {addresses.VARIABLE} to it, with its password")
    if written_for not in stores:
        try:
            stores[written_for] = Store(written_for, root)
        except Exception as error:  # whatever keeps the store from answering
            stores[written_for] = error
    store = stores[written_for]
    if isinstance(store, Exception):
        raise store
    return store


def _tags_while_running(record: Mapping[str, Any]) -> dict[str, str]:
    signs = {PROCESS: record["process"], HEARTBEAT: f"{record['time'] / 1000:.0f}"}
    return {**record["source_tags"], **record["machine_tags"], **signs}


def _leading_batch(records: Iterable[tuple[Mapping[str, Any], int]]) -> Iterator[tuple[Mapping[str, Any], int]]:
    count = 0
    for record, offset in records:
        if record["kind"] not in ("metrics", "tags") or count >= METRICS_IN_A_BATCH:
            return
        count += len(record.get("metrics", {}))
        yield record, offset


def _parts(entries: Iterable[Any], size: int) -> Iterator[list[Any]]:
    iterator = iter(entries)
    while part := list(islice(iterator, size)):
        yield part


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
