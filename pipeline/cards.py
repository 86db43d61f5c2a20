"""A samples.json and the files that it names, as cards to show.

The file is a list with an entry a sample. In an entry, a value that names a file of the folder (or a list or mapping
of such values) is shown as what it is: a picture, a sound, a text. `text` is the sentence, `title` a heading, `stopped`
and `seconds` get words of their own, what a recogniser heard is quoted, and the other short values are shown under
their names.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.errors import InputError
from pipeline.page import embed, show_number

INDEX = "samples.json"
PICTURES = (".png", ".svg")
SOUNDS = (".wav",)
WRITINGS = (".txt",)
LONGEST_FACT = 48
SHOWN_APART = ("text", "title", "id", "stopped", "seconds", "normalised", "pieces")
LONGEST_WRITING = 2000


class Media(NamedTuple):
    """An embedded picture or sound, with a caption and what to say where it cannot be seen or played."""

    source: str
    caption: str
    alt: str


class Fact(NamedTuple):
    """A few words about a sample; `verdict` is "good", "poor" or empty."""

    text: str
    verdict: str = ""


class Card(NamedTuple):
    """One sample."""

    title: str
    text: str
    facts: list[Fact]
    sounds: list[Media]
    pictures: list[Media]
    writings: list[str]


def read_entries(folder: Path) -> list[dict[str, Any]]:
    """The entries of the folder's samples.json; none where there is no such file.

    Raises:
        InputError: The file is not a list of mappings.
    """
    path = folder / INDEX
    if not path.exists():
        return []
    entries = json.loads(path.read_text(encoding="utf-8"))
    if not (isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)):
        raise InputError(f"{path} must hold a list with a mapping a sample; run dvc repro -f -s {folder.name}")
    return entries


def make_card(folder: Path, entry: Mapping[str, Any]) -> Card:
    """An entry of the folder's samples.json with its files embedded.

    Raises:
        InputError: A file that the entry names is missing.
    """
    files = [(name, Path(value)) for name, value in _leaves(entry) if _names_file(value)]
    text = str(entry.get("text") or "")
    title = str(entry.get("title") or entry.get("id") or _title_of(files))
    about = text or title
    return Card(
        title=title,
        text=text,
        facts=list(_facts(entry)),
        sounds=[_media(folder, name, path, about) for name, path in files if path.suffix in SOUNDS],
        pictures=[_media(folder, name, path, about) for name, path in files if path.suffix in PICTURES],
        writings=[_read(folder / path) for _, path in files if path.suffix in WRITINGS],
    )


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves(each, str(key))
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each, name)
    else:
        yield name, value


def _names_file(value: Any) -> bool:
    return isinstance(value, str) and Path(value).suffix in (*PICTURES, *SOUNDS, *WRITINGS) and "\n" not in value


def _title_of(files: list[tuple[str, Path]]) -> str:
    return files[0][1].stem.replace("_", " ") if files else "sample"


def _media(folder: Path, name: str, path: Path, about: str) -> Media:
    caption = _words(path.stem if name in ("file", "files", "picture", "pictures") else name)
    return Media(embed(folder / path), caption, f"{caption}: {about}")


def _read(path: Path) -> str:
    if not path.is_file():
        raise InputError(f"{path} is missing, though {INDEX} names it: run dvc checkout, or dvc repro")
    text = path.read_bytes().decode("utf-8", "replace")
    return text if len(text) <= LONGEST_WRITING else f"{text[:LONGEST_WRITING]} …"


def _facts(entry: Mapping[str, Any]) -> Iterator[Fact]:
    if isinstance(entry.get("stopped"), bool):
        yield Fact("stopped by itself", "good") if entry["stopped"] else Fact("ran to the cap", "poor")
    if isinstance(entry.get("seconds"), int | float):
        yield Fact(f"{entry['seconds']:.1f} s")
    for name, value in entry.items():
        if name in SHOWN_APART or _names_file(value) or value is None:
            continue
        if name == "heard" or name.endswith("_heard"):
            yield Fact(f"{_words(name)}: “{value}”")
        elif isinstance(value, bool | int | float) or (isinstance(value, str) and 0 < len(value) <= LONGEST_FACT):
            yield Fact(f"{_words(name)} {show_number(value)}")


def _words(name: str) -> str:
    return name.replace("_", " ").replace(".", " ")
