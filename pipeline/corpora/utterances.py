"""utterances.csv and rejects.csv, between stage prepare and those that follow."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import InputError

UTTERANCES = "utterances.csv"
REJECTS = "rejects.csv"


class Utterance(NamedTuple):
    """A usable utterance.

    Attributes:
        id: Unique name.
        split: "train", "validation" or "test".
        speaker: Name; empty where there is one only.
        language: Code.
        text: As in the corpus, white space collapsed; empty for recordings without text.
        audio: POSIX path relative to the corpus folder.
        seconds: Duration, 0 for files that are no recordings.
        sample_rate: Of the file, Hz; 0 for files that are no recordings.
    """

    id: str
    split: str
    speaker: str
    language: str
    text: str
    audio: str
    seconds: float
    sample_rate: int


class Reject(NamedTuple):
    """A row that is left out, where it stands, and why."""

    id: str
    file: str
    line: int
    reason: str


def write_utterances(folder: Path, utterances: Iterable[Utterance]) -> None:
    """Writes utterances.csv, seconds to a tenth of a millisecond."""
    rows = (utterance._replace(seconds=f"{utterance.seconds:.4f}") for utterance in utterances)  # type: ignore[arg-type]
    _write(folder / UTTERANCES, Utterance._fields, rows)


def write_rejects(folder: Path, rejects: Iterable[Reject]) -> None:
    """Writes rejects.csv."""
    _write(folder / REJECTS, Reject._fields, rejects)


def read_utterances(folder: Path) -> list[Utterance]:
    """Reads what `write_utterances` wrote.

    Raises:
        InputError: The file is missing.
    """
    path = folder / UTTERANCES
    if not path.exists():
        raise InputError(f"{path} is missing: stage prepare makes it (dvc repro prepare)")
    with path.open(encoding="utf-8", newline="") as file:
        rows = [Utterance(**row) for row in csv.DictReader(file)]
    return [row._replace(seconds=float(row.seconds), sample_rate=int(row.sample_rate)) for row in rows]


def _write(path: Path, columns: tuple[str, ...], rows: Iterable[tuple]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
