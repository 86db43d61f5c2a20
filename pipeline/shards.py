"""Features of many utterances in few files: arrays laid end to end, where each begins, and what made them.

A folder holds, for each split and shard, one `.npy` file an array ("train-00000.frames.npy"), `index.csv` and
`manifest.json`.
Arrays are memory-mapped when read, so that memory does not grow with the corpus.
"""

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from pipeline.errors import InputError

FORMAT = 1
SPLITS = ("train", "validation", "test")
SHARD_BYTES = 128 * 2**20
INDEX = "index.csv"
MANIFEST = "manifest.json"


class MelUtterance(NamedTuple):
    """One utterance of the mels.

    Attributes:
        id: Its name in the corpus.
        text: The transcript as in the corpus.
        symbol_ids: int32 [symbols], the end symbol included.
        frames: float32 [frames, n_mels], natural-log mel magnitudes, not normalised; read-only.
    """

    id: str
    text: str
    symbol_ids: np.ndarray
    frames: np.ndarray


class ArrayWriter:
    """A `.npy` file that grows along its first axis."""

    def __init__(self, path: Path, dtype: np.dtype, row_shape: tuple[int, ...]):
        self._file = path.open("wb")
        self._dtype, self._row_shape = dtype, row_shape
        self.rows = 0
        self._write_header()

    @property
    def bytes(self) -> int:
        return self.rows * int(np.prod(self._row_shape, initial=1)) * self._dtype.itemsize

    def append(self, rows: np.ndarray) -> int:
        """Adds rows [n, ...] and gives the place of the first one."""
        if rows.dtype != self._dtype or rows.shape[1:] != self._row_shape:
            raise ValueError(f"rows are {rows.dtype} {rows.shape[1:]}, not {self._dtype} {self._row_shape}")
        self._file.write(np.ascontiguousarray(rows).tobytes())
        offset, self.rows = self.rows, self.rows + len(rows)
        return offset

    def close(self) -> None:
        self._file.seek(0)
        self._write_header()
        self._file.close()

    def _write_header(self) -> None:
        # NumPy leaves room in the header for the first axis to grow, so that the final header fits over the first one.
        header = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self.rows, *self._row_shape),
        }
        np.lib.format.write_array_header_1_0(self._file, header)


class ShardWriter:
    """Writes the arrays of utterances into shards of about `shard_bytes`; use as a context manager.

    Args:
        folder: An empty folder.
        arrays: For each array its dtype and the shape of a row.
        columns: Further columns of the index.
        shard_bytes: A shard that has reached this size is followed by a new one.
    """

    def __init__(
        self,
        folder: Path,
        arrays: Mapping[str, tuple[type, tuple[int, ...]]],
        columns: tuple[str, ...] = (),
        shard_bytes: int = SHARD_BYTES,
    ):
        self._folder, self._shard_bytes = folder, shard_bytes
        self._arrays = {name: (np.dtype(dtype), shape) for name, (dtype, shape) in arrays.items()}
        self._open: dict[str, tuple[int, dict[str, ArrayWriter]]] = {}
        self._index_file = (folder / INDEX).open("w", encoding="utf-8", newline="")
        places = [f"{name}_{what}" for name in arrays for what in ("offset", "count")]
        self._index = csv.writer(self._index_file, lineterminator="\n")
        self._index.writerow(["id", "split", "shard", *places, *columns])

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _, writers in self._open.values():
            _close(writers)
        self._index_file.close()

    def add(self, identity: str, split: str, arrays: Mapping[str, np.ndarray], columns: tuple[str, ...] = ()) -> None:
        """Appends one utterance's arrays, each [n, ...] as declared, and its line of the index."""
        shard, writers = self._shard(split)
        places = [place for name in self._arrays for place in (writers[name].append(arrays[name]), len(arrays[name]))]
        self._index.writerow([identity, split, shard, *places, *columns])

    def _shard(self, split: str) -> tuple[int, dict[str, ArrayWriter]]:
        if split not in self._open:
            self._open[split] = self._new_shard(split, 0)
        shard, writers = self._open[split]
        if sum(writer.bytes for writer in writers.values()) >= self._shard_bytes:
            _close(writers)
            self._open[split] = self._new_shard(split, shard + 1)
        return self._open[split]

    def _new_shard(self, split: str, shard: int) -> tuple[int, dict[str, ArrayWriter]]:
        return shard, {
            name: ArrayWriter(_array_path(self._folder, split, shard, name), dtype, shape)
            for name, (dtype, shape) in self._arrays.items()
        }


@dataclass(frozen=True)
class _Rows:
    """The index of one split, and its arrays by shard."""

    folder: Path
    split: str
    index: list[dict[str, str]]

    def counts(self, name: str) -> np.ndarray:
        return np.array([int(row[f"{name}_count"]) for row in self.index], np.int64)

    def array(self, place: int, name: str) -> np.ndarray:
        row = self.index[place]
        offset, count = int(row[f"{name}_offset"]), int(row[f"{name}_count"])
        return self._mapped(int(row["shard"]), name)[offset : offset + count]

    def _mapped(self, shard: int, name: str) -> np.ndarray:
        key = (str(self.folder), self.split, shard, name)
        if key not in self._cache:
            path = _array_path(self.folder, self.split, shard, name)
            if not path.exists():
                raise InputError(f"{path} is missing: make the features again (dvc repro)")
            self._cache[key] = np.load(path, mmap_mode="r", allow_pickle=False)
        return self._cache[key]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_cache", {})


class MelSplit:
    """The utterances of one split, in the corpus' order.

    Attributes:
        ids: Names.
        texts: Transcripts as in the corpus.
        frame_counts: int64 [utterances].
        symbol_counts: int64 [utterances], the end symbol included.
    """

    def __init__(self, rows: _Rows):
        self._rows = rows
        self.ids = [row["id"] for row in rows.index]
        self.texts = [row["text"] for row in rows.index]
        self.frame_counts = rows.counts("frames")
        self.symbol_counts = rows.counts("symbols")

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, place: int) -> MelUtterance:
        symbol_ids, frames = self._rows.array(place, "symbols"), self._rows.array(place, "frames")
        return MelUtterance(self.ids[place], self.texts[place], symbol_ids, frames)

    def __iter__(self) -> Iterator[MelUtterance]:
        return (self[place] for place in range(len(self)))


class CodeSplit:
    """The sequences of one split, in the corpus' order.

    Attributes:
        ids: Names; a piece of a longer recording has its number after a `#`.
        lengths: int64 [sequences].
    """

    def __init__(self, rows: _Rows):
        self._rows = rows
        self.ids = [row["id"] for row in rows.index]
        self.lengths = rows.counts("codes")

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, place: int) -> np.ndarray:
        return self._rows.array(place, "codes")

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[place] for place in range(len(self)))


class Mels:
    """What stage mels wrote. `manifest` says what made it, and holds the training split's statistics."""

    def __init__(self, folder: Path, manifest: dict[str, Any]):
        self._index = _read_index(folder)
        self._folder, self.manifest = folder, manifest

    def split(self, name: str) -> MelSplit:
        """The split "train", "validation" or "test"; it may be empty."""
        return MelSplit(_Rows(self._folder, name, _of_split(self._index, name)))


class CodeSequences:
    """What stage codes wrote. `manifest` says what made it."""

    def __init__(self, folder: Path, manifest: dict[str, Any]):
        self._index = _read_index(folder)
        self._folder, self.manifest = folder, manifest

    def split(self, name: str) -> CodeSplit:
        """The split "train", "validation" or "test"; it may be empty."""
        return CodeSplit(_Rows(self._folder, name, _of_split(self._index, name)))


def open_mels(folder: Path) -> Mels:
    """Opens the log-mel frames and symbol ids that stage mels wrote.

    Raises:
        InputError: The folder holds none, or of another format.
    """
    return Mels(folder, _read_manifest(folder, "mels"))


def open_codes(folder: Path) -> CodeSequences:
    """Opens the categorical sequences that stage codes wrote.

    Raises:
        InputError: The folder holds none, or of another format.
    """
    return CodeSequences(folder, _read_manifest(folder, "codes"))


@contextmanager
def write_mels(folder: Path, n_mels: int, shard_bytes: int = SHARD_BYTES) -> Iterator[ShardWriter]:
    """Gives a writer of mel utterances: arrays `frames` float32 [n, n_mels] and `symbols` int32 [n], column `text`."""
    arrays = {"frames": (np.float32, (n_mels,)), "symbols": (np.int32, ())}
    with ShardWriter(folder, arrays, ("text",), shard_bytes) as writer:
        yield writer


@contextmanager
def write_codes(folder: Path, shard_bytes: int = SHARD_BYTES) -> Iterator[ShardWriter]:
    """Gives a writer of categorical sequences: array `codes` uint8 [n]."""
    with ShardWriter(folder, {"codes": (np.uint8, ())}, (), shard_bytes) as writer:
        yield writer


def _array_path(folder: Path, split: str, shard: int, name: str) -> Path:
    return folder / f"{split}-{shard:05d}.{name}.npy"


def _close(writers: Mapping[str, ArrayWriter]) -> None:
    for writer in writers.values():
        writer.close()


def _read_manifest(folder: Path, kind: str) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.exists():
        raise InputError(f"{path} is missing: stage {kind} makes it (dvc repro {kind})")
    manifest = json.loads(path.read_text(encoding="utf-8"))
    found = (manifest.get("content"), manifest.get("format"))
    if found != (kind, FORMAT):
        raise InputError(
            f"{path} describes {found[0]} of format {found[1]}, not {kind} of format {FORMAT}: dvc repro {kind}"
        )
    return manifest


def _read_index(folder: Path) -> list[dict[str, str]]:
    with (folder / INDEX).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _of_split(index: list[dict[str, str]], split: str) -> list[dict[str, str]]:
    if split not in SPLITS:
        raise ValueError(f"{split!r} is not a split; splits are {', '.join(SPLITS)}")
    return [row for row in index if row["split"] == split]
