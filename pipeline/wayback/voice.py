"""A beginning -> what goes on from it, as everything that samples does it: `make sample`, and the model in the registry."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pipeline.audio.files import write_wav
from pipeline.audio.sequences import to_sequences
from pipeline.errors import InputError
from pipeline.outputs import new_file
from pipeline.wayback.sampling import continue_all
from pipeline.wayback.trained import Codec, Trained


def go_on(
    trained: Trained, primers: Sequence[np.ndarray], temperature: float, length: int, seed: int
) -> list[np.ndarray]:
    """Each primer with `length` sampled symbols behind it."""
    return [made for (made,) in continue_all(trained.model, primers, [temperature], length, seed)]


def from_nothing(codec: Codec) -> np.ndarray:
    """The primer of a sample from nothing: the symbol that sequences begin with."""
    return np.array([codec.first_symbol], np.uint8)


def symbols_of(path: Path, codec: Codec) -> np.ndarray:
    """A recording or file as the model's symbols, whole and however short.

    Raises:
        InputError: It cannot be used.
    """
    pieces, reason = to_sequences(path, codec.codes._replace(min_length=1, max_length=None))
    if not pieces:
        raise InputError(f"{path}: {reason}")
    return np.concatenate(pieces)


def write(path: Path, symbols: np.ndarray, codec: Codec) -> None:
    """Writes symbols as a sound, or as the bytes that they are."""
    with new_file(path) as partial:
        if codec.codes.kind == "wave":
            write_wav(partial, codec.waveform(symbols), codec.codes.sample_rate)
        else:
            partial.write_bytes(symbols.astype(np.uint8).tobytes())
