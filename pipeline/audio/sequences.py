"""From a recording or any file to categories: all that a worker process of stage codes does and imports."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipeline.audio.files import RecordingError, read_audio
from pipeline.audio.level import quietest_cut, remove_mean, set_peak, trim
from pipeline.audio.quantisation import encode

EARLIEST_CUT = 0.5
"""A long wave is cut at the quietest place in the last half of each piece."""


class Sequences(NamedTuple):
    """The pieces of one recording or file, each uint8 [length], or the reason that there are none."""

    pieces: list[np.ndarray]
    reason: str


class CodeSettings(NamedTuple):
    """The quantisation; the names and units are those of section `codes`."""

    kind: str
    sample_rate: int
    encoding: str
    bit_depth: int
    trim_db: float | None
    trim_margin: float
    peak_level: float | None
    min_length: int
    max_length: int | None

    @classmethod
    def from_section(cls, codes: Any) -> "CodeSettings":
        """Takes the section `codes`."""
        return cls(**{name: getattr(codes, name) for name in cls._fields})


def to_sequences(path: Path, settings: CodeSettings) -> Sequences:
    """The categories of one recording or file, in pieces of min_length to max_length."""
    try:
        pieces = _pieces_of_bytes(path, settings) if settings.kind == "bytes" else _pieces_of_wave(path, settings)
    except RecordingError as error:
        return Sequences([], str(error))
    kept = [piece for piece in pieces if len(piece) >= settings.min_length]
    length = sum(map(len, pieces))
    return Sequences(
        kept, "" if kept else f"too short: {length} symbols are below codes.min_length {settings.min_length}"
    )


def waveform_to_quantise(path: Path, settings: CodeSettings) -> np.ndarray:
    """A recording as it is quantised: float32 [samples] at the settings' rate, without its mean, trimmed, its peak set.

    What primes a sample passes through here as well.

    Raises:
        RecordingError: The file cannot be used.
    """
    waveform = remove_mean(read_audio(path, settings.sample_rate))
    if settings.trim_db is not None:
        waveform = trim(waveform, settings.sample_rate, settings.trim_db, settings.trim_margin)
    return waveform if settings.peak_level is None else set_peak(waveform, settings.peak_level)


def _pieces_of_wave(path: Path, settings: CodeSettings) -> list[np.ndarray]:
    parts = _cut_at_silence(waveform_to_quantise(path, settings), settings)
    return [encode(part, settings.encoding, settings.bit_depth) for part in parts]


def _cut_at_silence(waveform: np.ndarray, settings: CodeSettings) -> Iterator[np.ndarray]:
    longest = settings.max_length
    while longest is not None and len(waveform) > longest:
        cut = quietest_cut(waveform, settings.sample_rate, int(longest * EARLIEST_CUT), longest)
        yield waveform[:cut]
        waveform = waveform[cut:]
    yield waveform


def _pieces_of_bytes(path: Path, settings: CodeSettings) -> list[np.ndarray]:
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    step = settings.max_length or max(len(whole), 1)
    return [whole[first : first + step] for first in range(0, len(whole), step)]
