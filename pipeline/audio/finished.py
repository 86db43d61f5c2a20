"""What an interrupted stage had finished: a file for some recordings, named by all that decides their results."""

import contextlib
import hashlib
import os
import pickle
import shutil
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

LIBRARIES = ("numpy", "scipy", "soundfile", "soxr", "librosa")
CHECKSUM_BYTES = 4


@contextmanager
def finished_of(stage: str) -> Iterator[Path]:
    """Gives the folder of `.work` for what the stage finishes; it is removed when the block ends without an error.

    Names are by content, so that stages of several checkouts may share it.
    """
    from pipeline import lineage  # worker processes do without

    folder = lineage.work_folder() / stage
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


class Finished:
    """Finds results again by the recordings' content, the settings, the code and the libraries.

    Args:
        folder: Where they lie, for every process that works.
        settings: All else that decides the results; its repr must tell them apart.
    """

    def __init__(self, folder: Path, settings: Any):
        self._folder = folder
        self._made_by = f"{fingerprint()}; {settings!r}".encode()

    def place_of(self, paths: Sequence[Path]) -> Path:
        """Where the results of these recordings, as they are now, belong."""
        digest = hashlib.sha256(self._made_by)
        for path in paths:
            digest.update(f"\n{path.name} ".encode())
            digest.update(_content_digest(path))
        return self._folder / digest.hexdigest()


def load(place: Path) -> list[Any] | None:
    """The results that `keep` left at a place; None when there are none, or damaged ones."""
    try:
        content = place.read_bytes()
    except FileNotFoundError:
        return None
    checksum, payload = content[:CHECKSUM_BYTES], content[CHECKSUM_BYTES:]
    return pickle.loads(payload) if checksum == _checksum(payload) else None


def keep(place: Path, results: Sequence[Any]) -> None:
    """Leaves results at a place, whole; what the disk has no room for will be made again."""
    payload = pickle.dumps(list(results))
    partial = place.with_name(f".partial.{place.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(_checksum(payload) + payload)
        partial.replace(place)


@cache
def fingerprint() -> str:
    """The code and the libraries that turn recordings into features here: equal ones give equal results."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return ", ".join([f"code {digest.hexdigest()[:16]}", *(f"{name} {version(name)}" for name in LIBRARIES)])


def _content_digest(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        return repr(error.errno).encode()


def _checksum(payload: bytes) -> bytes:
    return zlib.crc32(payload).to_bytes(CHECKSUM_BYTES, "big")
