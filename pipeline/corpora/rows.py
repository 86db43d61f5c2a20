"""One row of a corpus, and how rows name recordings without leaving the corpus folder."""

import os
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pipeline.audio.files import AUDIO_SUFFIXES, UNREADABLE_SUFFIXES

KINDS = (
    "row", "id", "path", "duplicate", "speaker", "no text", "text", "missing", "empty", "unreadable", "truncated",
    "not finite", "sample rate", "too short", "too long", "silent", "level", "clipped", "cancelling",
)  # fmt: skip
"""What a reason for rejecting a row begins with; details follow after a colon."""


class Row(NamedTuple):
    """A row of a corpus as its metadata give it.

    Attributes:
        id: Name of the utterance.
        text: Transcript; empty where the layout has none.
        audio: POSIX path of the recording, relative to the corpus folder.
        speaker: Name; empty where the layout knows one speaker only.
        language: Code; empty where the layout does not say.
        file: POSIX path, relative to the corpus folder, of the file in which the row stands.
        line: Its line there, from 1; 0 for a row that is a file of its own.
        problem: Why it cannot be used; empty for a good row.
    """

    id: str
    text: str
    audio: str
    speaker: str
    language: str
    file: str
    line: int
    problem: str


@dataclass
class Listing:
    """What a reader found.

    Attributes:
        tried: Where it looked, for messages.
        rows: In the order of the corpus.
        blank_lines: Lines without anything on them.
        has_text: Whether the layout has transcripts.
        has_audio: Whether the layout's files are recordings.
    """

    tried: str
    rows: list[Row] = field(default_factory=list)
    blank_lines: int = 0
    has_text: bool = True
    has_audio: bool = True


class Recordings:
    """The recordings below a folder of the corpus, found by their path without its ending."""

    def __init__(self, corpus: Path, below: str):
        self._below = PurePosixPath(below)
        self.paths = [
            path for path in walk(corpus, below) if path.suffix.lower() in (*AUDIO_SUFFIXES, *UNREADABLE_SUFFIXES)
        ]
        self._by_name = {_composed(str(path)): path for path in self.paths}
        self._by_stem = {
            _composed(str(path.with_suffix(""))): path for path in sorted(self.paths, key=_preference, reverse=True)
        }

    def find(self, name: str) -> tuple[str, str]:
        """The recording called `name`, with or without an ending; an ending that is not there may be another.

        Returns:
            Its path relative to the corpus folder, and "" or the problem.
        """
        problem = path_problem(name)
        if problem:
            return "", problem
        wanted = _composed(str(self._below / name.replace("\\", "/")))
        stem = wanted.rsplit(".", 1)[0] if wanted.lower().endswith(AUDIO_SUFFIXES) else wanted
        found = self._by_name.get(wanted) or self._by_stem.get(wanted) or self._by_stem.get(stem)
        if found is None:
            return "", f"missing: no recording {wanted}{'' if stem != wanted else '.wav, .flac, ...'}"
        return str(found), ""


def walk(corpus: Path, below: str = "") -> list[PurePosixPath]:
    """The files below a folder of the corpus, sorted, relative to the corpus; hidden ones left out."""
    found = []
    for folder, folders, files in os.walk(corpus / below):
        folders[:] = [name for name in folders if not name.startswith(".")]
        relative = PurePosixPath(Path(folder).relative_to(corpus).as_posix())
        found += [relative / name for name in files if not name.startswith(".")]
    return sorted(found)


def path_problem(path: str) -> str:
    """Why a name from metadata cannot be a path inside the corpus folder; empty if it can."""
    parts = path.replace("\\", "/").split("/")
    if not path.strip():
        return "path: empty"
    if any(unicodedata.category(character) == "Cc" for character in path):
        return f"path: {path!r} holds control characters"
    if parts[0] == "" or ".." in parts or ":" in parts[0]:
        return f"path: {path!r} leads outside the corpus folder"
    return ""


def id_problem(identity: str) -> str:
    """Why a name from metadata cannot be an id; empty if it can."""
    if not identity:
        return "id: empty"
    problem = path_problem(identity)
    return problem.replace("path:", "id:", 1)


def is_recording(path: PurePosixPath) -> bool:
    """Whether a file's ending is that of a sound."""
    return path.suffix.lower() in (*AUDIO_SUFFIXES, *UNREADABLE_SUFFIXES)


def stem_of(path: PurePosixPath) -> str:
    """An id for a file: its path without the ending."""
    return str(path.with_suffix(""))


def one_line(text: str) -> str:
    """The text with its white space collapsed."""
    return " ".join(text.split())


def reject(identity: str, problem: str, file: str, line: int, text: str = "") -> Row:
    """A row that cannot be used."""
    return Row(identity, text, "", "", "", file, line, problem)


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows sorted by id, for layouts whose rows are files."""
    return sorted(rows, key=lambda row: row.id)


def _preference(path: PurePosixPath) -> tuple[int, str]:
    suffix = path.suffix.lower()
    return (AUDIO_SUFFIXES.index(suffix) if suffix in AUDIO_SUFFIXES else len(AUDIO_SUFFIXES), str(path))


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)
