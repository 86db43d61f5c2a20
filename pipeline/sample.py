"""Command: recordings or files, or nothing -> what the newest trained model goes on with."""

from pathlib import Path

import numpy as np

from pipeline import stage
from pipeline.audio.files import write_wav
from pipeline.audio.sequences import to_sequences
from pipeline.errors import InputError
from pipeline.outputs import new_file
from pipeline.params import load_params
from pipeline.synthesize_wayback import STAGE
from pipeline.training.device import set_up_device
from pipeline.wayback.sampling import continue_all
from pipeline.wayback.trained import Codec, read_trained

FROM_NOTHING = Path()


def main(out: Path, primer: Path = FROM_NOTHING, trained: Path = Path("data/train_wayback")) -> None:
    """Goes on from a primer as stage synthesize_wayback would, at its first temperature, and writes the sample.

    With a folder as the primer, goes on from every file in it, and writes the samples under the same names into the
    folder `out`.
    """
    params = load_params(STAGE)
    section = params.synthesize_wayback
    set_up_device(section.threads)
    model, codec = read_trained(trained)
    primers = read_primers(primer, out, codec)
    made = continue_all(
        model, list(primers.values()), section.temperatures[:1], section.continuation_length, params.seed
    )
    for path, (symbols,) in zip(primers, made, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, symbols, codec)
        print(f"{path}: {len(primers[path])} symbols of primer, {len(symbols) - len(primers[path])} sampled")


def read_primers(primer: Path, out: Path, codec: Codec) -> dict[Path, np.ndarray]:
    """The symbols of each primer, by where its sample goes.

    Raises:
        InputError: A file cannot be used.
    """
    if primer == FROM_NOTHING:
        return {out: np.array([codec.first_symbol], np.uint8)}
    if not primer.is_dir():
        return {out: symbols_of(primer, codec)}
    files = sorted(path for path in primer.iterdir() if path.is_file())
    if not files:
        raise InputError(f"{primer} holds no file to go on from")
    suffix = ".wav" if codec.codes.kind == "wave" else ""
    return {out / (path.stem + suffix if suffix else path.name): symbols_of(path, codec) for path in files}


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


if __name__ == "__main__":
    stage.run(main)
