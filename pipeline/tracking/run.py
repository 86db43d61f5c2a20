"""What a stage says about itself: parameters, figures by step, files."""

import hashlib
import json
import math
import os
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from pipeline import lineage
from pipeline.errors import InputError
from pipeline.outputs import write_json
from pipeline.params import load_runtime
from pipeline.sections.runtime import Runtime
from pipeline.tracking import addresses, facts, process, registry
from pipeline.tracking.courier import Courier
from pipeline.tracking.journal import POINTER, Journal, count_waiting, open_journal, read_pointer

SECONDS_FOR_AN_ID = 10.0
SECONDS_WHEN_KILLED = 5.0
LONGEST_WAIT = 10
LONGEST_REASON = 1000
OUTPUT, EARLIER = "dvc.out/", "/"
STOPPED = {128 + signal.SIGINT: "SIGINT", 128 + signal.SIGTERM: "SIGTERM"}


class Params(Protocol):
    """What load_params gives."""

    def flat(self) -> dict[str, Any]:
        """Values by full name."""


class Terminated(SystemExit):
    """SIGTERM arrived."""

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)


class Run:
    """A run of a stage. Every method returns at once and none raises for the store's or the disk's sake.

    Attributes:
        key: The run's name for itself, made here; in MLflow it is the tag `reprise.run_key`.
        attempt: 1, and one more each time that an interrupted training goes on.
    """

    def __init__(self, key: str, run_id: str | None, journal: Journal | None, courier: Courier | None, folder: str):
        self.key = key
        self.attempt = journal.attempt + 1 if journal else 1
        self._run_id, self._journal, self._courier, self._folder = run_id, journal, courier, folder
        self._not_finite: set[str] = set()

    def log_metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """Figures at a step.

        A figure that the run already has at this step stays as it is; one that is not finite becomes a tag.
        """
        if self._journal is None:
            return
        figures = {facts.as_key(name): float(value) for name, value in values.items()}
        known = self._journal.known
        new = {name: value for name, value in figures.items() if math.isfinite(value) and (name, step) not in known}
        if new:
            self._append("metrics", step=int(step), metrics=new)
        self._tag_not_finite(figures, step)
        self._courier.look_after()

    def log_artifact(self, path: Path, folder: str = "") -> None:
        """A file, or all that is in a folder, as it is now, put into `folder` of the run's artifacts."""
        self._keep("artifact", Path(path), folder)

    def log_output(self, path: Path, folder: str = "") -> None:
        """A folder that the stage makes: its files, and a tag with its hash, by which the run can be found from it."""
        self.log_artifact(path, folder)
        if self._journal is not None:
            self.set_tags({OUTPUT + Path(path).name.removeprefix(".partial."): lineage.path_md5(path, path)})

    def log_model(self, path: Path, step: int) -> None:
        """The folder of the trained model, an artifact `model/`, and a new version of the registered model.

        The version has this step and the figures that the run has of it.
        """
        self.log_output(path, "model")
        stage = path.name
        if self._journal is None or not registry.is_served(stage):
            return
        known = {name: entry for (name, at), entry in self._journal.known.items() if at == step and "/" not in name}
        try:
            with registry.packed(stage, path) as folder:
                self._keep("model", folder, "", stage=stage, step=int(step), figures=known)
        except (OSError, KeyError, TypeError, InputError) as error:
            _say(f"the model will not be registered in MLflow: {error}")

    def log_text(self, text: str, name: str) -> None:
        """A text as the artifact `name` ("lineage/packages.txt")."""
        if self._journal is None:
            return
        try:
            with tempfile.TemporaryDirectory() as scratch:
                path = Path(scratch, Path(name).name)
                path.write_text(addresses.without_password(text), encoding="utf-8", errors="surrogateescape")
                self.log_artifact(path, Path(name).parent.as_posix())
        except OSError as error:
            _say(f"{name} will be missing in MLflow: {error}")

    def log_checkpoint(self, path: Path, step: int, figures: Mapping[str, float]) -> None:
        """A checkpoint: the files at `path`, which nobody may change in place, and a model in MLflow.

        The model has this step and these figures, so that
        `MlflowClient.search_logged_models(order_by=...)` then finds the best by any of them.
        """
        if self._journal is None:
            return
        finite = {facts.as_key(name): float(value) for name, value in figures.items() if math.isfinite(value)}
        figures = {name: self._journal.known.get((name, int(step)), (_now(), value)) for name, value in finite.items()}
        self._keep("checkpoint", Path(path), f"checkpoints/step-{step:08d}", link=True, step=int(step), figures=figures)
        self.flush()

    def log_dataset(self, name: str, digest: str, source: str) -> None:
        """The data that the run read: its name, DVC's hash of it and where it lies."""
        self._append("dataset", name=name, digest=digest[:36], source=addresses.without_password(source))

    def set_tags(self, tags: Mapping[str, Any]) -> None:
        """Tags; a later value replaces an earlier one."""
        self._append("tags", tags=facts.as_tags(tags))

    def flush(self) -> None:
        """What was logged survives a loss of power from here on."""
        if self._journal is not None:
            self._journal.sync()

    def write_id(self, path: Path) -> None:
        """Writes the file by which later stages find this run.

        Its `run_id` is null while the store has not answered.
        """
        if self._run_id is None and self._courier is not None:
            self._run_id = self._courier.run_id(SECONDS_FOR_AN_ID)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {"experiment": addresses.EXPERIMENT, "run_id": self._run_id, "run_key": self.key})

    def _append(self, kind: str, **values: Any) -> None:
        if self._journal is not None:
            self._journal.append({"kind": kind, "time": _now(), **values})

    def _keep(self, kind: str, path: Path, folder: str, link: bool = False, **values: Any) -> None:
        if self._journal is None:
            return
        target = "/".join(part for part in (self._folder, folder) if part not in ("", "."))
        try:
            self._append(kind, source=self._journal.keep(path, link), folder=target, **values)
        except OSError as error:
            _say(f"{path} will be missing in MLflow: {error}")

    def _tag_not_finite(self, figures: Mapping[str, float], step: int) -> None:
        for name, value in figures.items():
            if not math.isfinite(value) and name not in self._not_finite:
                self._not_finite.add(name)
                self.set_tags({f"not_finite.{name}": f"{value} at step {step}"})


@contextmanager
def training_run(stage: str, params: Params, state: Path) -> Iterator[Run]:
    """A training's run: a new one, or that of the training which was interrupted in the same state folder.

    It ends FINISHED, FAILED on an error or an exit with another code than 0, KILLED on SIGINT or SIGTERM, each with
    the reason as a tag.

    Args:
        stage: Its name in dvc.yaml.
        params: What the stage may read, logged as the run's parameters.
        state: Where the training keeps what it resumes from; the run is that folder's.

    Raises:
        InputError: The address of the store cannot be used, or the settings demand delivery and the store has not got
            everything.
    """
    key = read_pointer(state) or uuid.uuid4().hex
    state.mkdir(parents=True, exist_ok=True)
    write_json(state / POINTER, {"run_key": key})
    with _open(stage, params, {"mode": "training", "run_key": key}, key, state) as run:
        yield run


@contextmanager
def join_run(run_file: Path, stage: str, params: Params) -> Iterator[Run]:
    """The run of the training that wrote `run_file`, for a later stage to add to.

    The stage's files go into the folder `<stage>/`.

    The first time, a stage writes to that run itself. When it is repeated with other parameters, it gets a run of its
    own below that one, and the training's run shows the latest.

    Raises:
        InputError: `run_file` is no run-id file; and as `training_run`.
    """
    try:
        found = json.loads(run_file.read_text(encoding="utf-8"))
        key, run_id = found["run_key"], found["run_id"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{run_file} must be the run-id file that a training writes ({error}): run that stage first"
        ) from error
    header = {"mode": "join", "run_key": key, "run_id": run_id}
    with _open(stage, params, header, uuid.uuid4().hex, None) as run:
        yield run


@contextmanager
def _open(stage: str, params: Params, header: dict[str, Any], name: str, state: Path | None) -> Iterator[Run]:
    runtime = load_runtime()
    if runtime.tracking == "off":
        yield Run(header["run_key"], header.get("run_id"), None, None, "")
        return
    root = lineage.main_root()
    address = addresses.store_address(root)
    outbox = root / ".work" / "outbox"
    journal = open_journal(outbox, name, state, process.identity(os.getpid()))
    header |= {"store": addresses.without_password(address), "attempt": journal.attempt + 1, "stage": stage}
    courier = Courier(journal.folder, address, root)
    run = Run(header["run_key"], header.get("run_id"), journal, courier, stage if header["mode"] == "join" else "")
    status, reason = "FINISHED", ""
    try:
        with _sigterm_raises():
            _log_start(run, header, params, runtime)
            yield run
    except BaseException as error:
        status, reason = _status(error)
        raise
    finally:
        _end(run, status, reason, runtime)


def _log_start(run: Run, header: Mapping[str, Any], params: Params, runtime: Runtime) -> None:
    stage = header["stage"]
    deps, git = facts.stage_facts(stage), lineage.git_facts()
    source = facts.as_tags(facts.source_tags(stage, deps, git))
    machine = facts.as_tags(facts.machine_tags(runtime.model_dump(mode="json")))
    values = {facts.as_key(name): facts.as_text(value) for name, value in params.flat().items()}
    values = {name: addresses.without_password(text) for name, text in values.items()}
    long = {name: text for name, text in values.items() if len(text) > facts.LONGEST_PARAM}
    short = values | {name: f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" for name, text in long.items()}
    digest = hashlib.sha256(lineage.canonical(params.flat()).encode()).hexdigest()[:16]
    opening = {**header, "process": process.identity(os.getpid()), "params": short, "digest": digest}
    run._append(
        "open", **opening, source_tags=source, machine_tags=machine, name=os.environ.get("DVC_EXP_NAME") or stage
    )
    texts = {f"params/{name.replace('/', '_')}.txt": text for name, text in long.items()}
    for name, text in (texts | facts.source_texts(deps, git)).items():
        run.log_text(text, name)
    if header["mode"] == "training" and run.attempt == 1 and deps is not None:
        for path, md5 in deps.deps.items():
            if md5 and (lineage.code_root() / path / "manifest.json").exists():
                run.log_dataset(Path(path).name, md5, path)


def _end(run: Run, status: str, reason: str, runtime: Runtime) -> None:
    journal, courier = run._journal, run._courier
    run._append("close", status=status, reason=addresses.without_password(reason)[:LONGEST_REASON])
    run.flush()
    journal.close()
    try:
        seconds = min(runtime.tracking_timeout, SECONDS_WHEN_KILLED) if status == "KILLED" else runtime.tracking_timeout
        complete = courier.finish(seconds, LONGEST_WAIT * seconds)
    except (KeyboardInterrupt, Terminated):
        complete = False
    run._run_id = run._run_id or next(iter(courier.delivered().runs), None)
    run._courier = None
    for refused in courier.delivered().lost:
        _say(f"MLflow refuses for good: {refused}")
    if complete and not journal.refused:
        return
    missing = _missing(journal, courier)
    _say(missing)
    if runtime.tracking_required and status == "FINISHED":
        raise InputError(f"tracking_required is true, and {missing}")


def _missing(journal: Journal, courier: Courier) -> str:
    waiting = count_waiting(journal.folder)
    error = courier.delivered().error
    refused = f"; the disk refused {journal.refused} more records" if journal.refused else ""
    why = f" ({error})" if error else ""
    return (
        f"{waiting.values} values and {waiting.files} files wait to be delivered to MLflow{why}{refused}; "
        "'make sync' or the next run delivers them"
    )


def _status(error: BaseException) -> tuple[str, str]:
    if isinstance(error, KeyboardInterrupt):
        return "KILLED", "SIGINT"
    if isinstance(error, SystemExit):
        if error.code in (None, 0):
            return "FINISHED", ""
        if error.code in STOPPED:
            return "KILLED", STOPPED[error.code]
        return "FAILED", f"exit({error.code})"
    return "FAILED", f"{type(error).__name__}: {error}"


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Within the block SIGTERM raises Terminated, unless somebody else already handles it."""
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if not ours:
        yield
        return

    def terminate(number: int, frame: FrameType | None) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is terminate:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _now() -> int:
    return int(time.time() * 1000)


def _say(line: str) -> None:
    print(f"tracking: {line}", file=sys.stderr, flush=True)
