"""What a run logs, on disk: one JSON record a line, appended, and the files that go with it.

    <outbox>/<id>/records.jsonl    the records
    <outbox>/<id>/files/           copies of artifacts not yet delivered
    <outbox>/<id>/delivered.json   how far delivery has come; replaced whole, by whoever holds `lock`
    <outbox>/<id>/deliver.log      what delivery had to say

A journal lies in the outbox until all of it is delivered. Then it is put away: back into the state folder of its
training, which an interrupted training reads on, or, when there is none, removed. So what is in the outbox still
waits, and removing a state folder loses nothing.
"""

import contextlib
import fcntl
import json
import math
import os
import shutil
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.tracking import process

RECORDS = "records.jsonl"
FILES = "files"
DELIVERED = "delivered.json"
SIGN = "sign"
POINTER = "run.json"
PUT_AWAY = "journal"
LONGEST_END = 20_000


class Journal:
    """The writing end. Appending never raises: what the disk refuses is counted in `refused`.

    Attributes:
        folder: Where the journal lies.
        attempt: Number of the last attempt in it.
        known: Time and value of each metric already in it, by name and step.
        refused: Number of records that could not be written.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.refused = 0
        self.known: dict[tuple[str, int], tuple[int, float]] = {}
        self.attempt = 0
        self._guard = threading.Lock()
        _drop_torn_line(folder / RECORDS)
        for record, _ in read_records(folder):
            self._remember(record)
        self._file = os.open(folder / RECORDS, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def append(self, record: Mapping[str, Any]) -> None:
        """Adds a record; it survives the end of this process from here on."""
        line = (json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8", "replace")
        with self._guard:
            try:
                before = self.size
                if os.write(self._file, line) != len(line):
                    os.ftruncate(self._file, before)
                    raise OSError("the disk is full")
                self._remember(record)
            except OSError:
                self.refused += 1

    def keep(self, source: Path, link: bool = False) -> str:
        """Copies a file or folder into the journal, so that what is delivered later is what is there now.

        Args:
            source: What to keep.
            link: Make hard links where the disk can; only for files that nobody changes in place.

        Returns:
            Its path relative to the journal.

        Raises:
            OSError: There is no such file, or the disk is full.
        """
        name = f"{FILES}/{uuid.uuid4().hex}/{source.name}"
        target = self.folder / name
        target.parent.mkdir(parents=True)
        copy = _link_or_copy if link else shutil.copyfile
        try:
            if source.is_dir():
                shutil.copytree(source, target, copy_function=copy)
            else:
                copy(source, target)
        except OSError:
            shutil.rmtree(target.parent, ignore_errors=True)
            raise
        return name

    def sync(self) -> None:
        """What was appended survives a loss of power from here on."""
        with self._guard:
            try:
                os.fsync(self._file)
            except OSError:
                self.refused += 1

    @property
    def size(self) -> int:
        """Bytes written."""
        return os.fstat(self._file).st_size

    def close(self) -> None:
        """Ends writing."""
        os.close(self._file)

    def _remember(self, record: Mapping[str, Any]) -> None:
        if record["kind"] == "open":
            self.attempt = record["attempt"]
        for name, value in record.get("metrics", {}).items():
            self.known.setdefault((name, record["step"]), (record["time"], value))


class Delivered(NamedTuple):
    """How far delivery has come.

    Attributes:
        store: Address of the store, without passwords.
        offset: Bytes of records.jsonl that are delivered.
        files: Files of the next record's folder that are delivered.
        runs: Ids of the runs that records go to, the first being the one that readers should look at.
        ended: Number of the attempt whose end is delivered.
        lost: What the store will never take, the last few.
        error: Why the last try failed; empty after a success.
    """

    store: str = ""
    offset: int = 0
    files: int = 0
    runs: tuple[str, ...] = ()
    ended: int = 0
    lost: tuple[str, ...] = ()
    error: str = ""


def read_delivered(folder: Path) -> Delivered:
    """How far delivery of the journal in `folder` has come; nothing yet when nothing can be read."""
    try:
        values = json.loads((folder / DELIVERED).read_text(encoding="utf-8"))
        return Delivered(**{name: tuple(each) if isinstance(each, list) else each for name, each in values.items()})
    except (OSError, ValueError, TypeError, AttributeError):
        return Delivered()


def write_delivered(folder: Path, delivered: Delivered) -> None:
    """Replaces what `read_delivered` gives, whole or not at all."""
    partial = folder / f".partial.{DELIVERED}"
    partial.write_text(json.dumps(delivered._asdict()), encoding="utf-8")
    partial.replace(folder / DELIVERED)


def read_records(folder: Path, offset: int = 0, limit: int | None = None) -> Iterator[tuple[dict[str, Any], int]]:
    """Yields each whole record from a byte offset on, with the offset behind it; what is not JSON is passed over.

    Args:
        folder: The journal's.
        offset: Where to begin.
        limit: Bytes to read at most; None reads to the end.
    """
    path = folder / RECORDS
    if not path.exists():
        return
    with path.open("rb") as file:
        file.seek(offset)
        end = math.inf if limit is None else offset + limit
        for line in file:
            if not line.endswith(b"\n"):
                return
            offset += len(line)
            try:
                record = json.loads(line)
            except ValueError:
                record = {"kind": "unreadable"}
            yield record, offset
            if offset >= end:
                return


def records_size(folder: Path) -> int:
    """Bytes in records.jsonl."""
    try:
        return (folder / RECORDS).stat().st_size
    except OSError:
        return 0


class Waiting(NamedTuple):
    """What a journal has that is not delivered.

    Attributes:
        values: Number of metric values.
        files: Number of artifacts.
        others: Number of other records.
    """

    values: int
    files: int
    others: int


def count_waiting(folder: Path) -> Waiting:
    """What the journal has that is not delivered."""
    values = files = others = 0
    for record, _ in read_records(folder, read_delivered(folder).offset):
        values += len(record.get("metrics", {}))
        files += "source" in record
        others += record["kind"] != "metrics" and "source" not in record
    return Waiting(values, files, others)


def is_closed(folder: Path) -> bool:
    """Whether the last whole record is the end of an attempt."""
    try:
        with (folder / RECORDS).open("rb") as file:
            file.seek(max(0, records_size(folder) - LONGEST_END))
            lines = file.read().splitlines(keepends=True)
        return bool(lines) and lines[-1].endswith(b"\n") and json.loads(lines[-1])["kind"] == "close"
    except (OSError, ValueError):
        return False


def give_sign(folder: Path) -> None:
    """Tells who waits for the journal's delivery that something is being done."""
    with contextlib.suppress(OSError):
        (folder / SIGN).touch()


def last_sign(folder: Path) -> int:
    """Changes with each `give_sign`."""
    try:
        return (folder / SIGN).stat().st_mtime_ns
    except OSError:
        return 0


@contextmanager
def sign_of_life(folder: Path) -> Iterator[None]:
    """Within the block tells the training that this process is at work.

    A new store takes MLflow ten seconds, without a word.
    """
    done = threading.Event()

    def tell() -> None:
        while not done.wait(0.5):
            give_sign(folder)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def open_journal(outbox: Path, name: str, state: Path | None, writer: str) -> Journal:
    """The journal of that name, ready for writing: a new one, or the one that was put away in the state folder.

    Its first record from this process names `writer`, the process, and keeps others from putting it away.
    """
    folder = outbox / name
    with exclusive(outbox / ".lock"):
        if state is not None and (state / PUT_AWAY).is_dir() and not folder.exists():
            shutil.move(state / PUT_AWAY, folder)
        folder.mkdir(parents=True, exist_ok=True)
        journal = Journal(folder)
        place = os.path.relpath(state, folder) if state else None
        journal.append({"kind": "claim", "process": writer, "state": place, "time": int(time.time() * 1000)})
        return journal


def put_away(folder: Path) -> bool:
    """Takes a journal out of the outbox if all of it is delivered, and says whether it was."""
    with exclusive(folder.parent / ".lock"):
        if not folder.exists():
            return True
        if read_delivered(folder).offset < records_size(folder):
            return False
        state = state_of(folder)
        if state is None:
            shutil.rmtree(folder)
        else:
            shutil.rmtree(state / PUT_AWAY, ignore_errors=True)
            shutil.move(folder, state / PUT_AWAY)
        return True


def state_of(folder: Path) -> Path | None:
    """The state folder that a journal belongs to; None when it has none any more."""
    header = next(read_records(folder), ({}, 0))[0]
    if not header.get("state"):
        return None
    state = Path(os.path.normpath(folder / header["state"]))
    return state if read_pointer(state) == folder.name else None


def read_pointer(state: Path) -> str | None:
    """Name of the journal that the state folder's training writes."""
    try:
        return json.loads((state / POINTER).read_text(encoding="utf-8"))["run_key"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextmanager
def sole_delivery(folder: Path) -> Iterator[bool]:
    """Whether this process is the only one that delivers the journal within the block."""
    with (folder / "lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


def waiting_journals(outbox: Path) -> list[Path]:
    """The journals that no living process writes, the oldest first."""
    folders = [path for path in outbox.glob("*") if (path / RECORDS).exists() and _is_left_behind(path)]
    return sorted(folders, key=_opened)


def first_opening(folder: Path) -> Mapping[str, Any]:
    """The first record in which a run is opened; empty when there is none."""
    return next((record for record, _ in read_records(folder) if record["kind"] == "open"), {})


def ownership(folder: Path) -> tuple[int, str, bool]:
    """Number of the last attempt, the process that writes or wrote it, and whether it has said how it ended."""
    attempt, writer, closed = 0, "", False
    for record, _ in read_records(folder):
        if record["kind"] == "claim":
            writer, closed = record["process"], False
        attempt = record.get("attempt", attempt)
        closed |= record["kind"] == "close"
    return attempt, writer, closed


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Waits until no other process is in a block with the same path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _drop_torn_line(path: Path) -> None:
    if not path.exists():
        return
    with path.open("rb+") as file:
        content = file.read()
        if not content.endswith(b"\n"):
            file.truncate(content.rfind(b"\n") + 1)


def _link_or_copy(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _is_left_behind(folder: Path) -> bool:
    _, writer, closed = ownership(folder)
    return closed or process.is_gone(writer) is True


def _opened(folder: Path) -> int:
    return next(read_records(folder), ({}, 0))[0].get("time", 0)
