"""Stage codes: recordings, or any files -> sequences of categories in shards."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from pipeline import stage
from pipeline.audio.files import RESAMPLER
from pipeline.audio.finished import Finished, finished_of
from pipeline.audio.parallel import map_in_order
from pipeline.audio.quantisation import decode
from pipeline.audio.sequences import CodeSettings, to_sequences
from pipeline.corpora.utterances import Reject, Utterance, read_utterances, write_rejects
from pipeline.errors import InputError
from pipeline.outputs import new_folder, write_json
from pipeline.params import load_params, load_runtime
from pipeline.sections.codes import Codes
from pipeline.shards import FORMAT, MANIFEST, SPLITS, write_codes

LIBRARIES = ("numpy", "soundfile", "soxr")
CATEGORIES_OF_BYTES = 256


def main(corpus: Path, prepared: Path, codes: Path) -> None:
    """Makes the sequences that Wayback learns from."""
    params = load_params("codes")
    with finished_of("codes") as finished, new_folder(codes) as folder:
        write_sequences(folder, corpus, read_utterances(prepared), params.codes, load_runtime().pool, finished)


def write_sequences(
    folder: Path,
    corpus: Path,
    utterances: Sequence[Utterance],
    codes: Codes,
    workers: int | str,
    finished: Path | None = None,
) -> None:
    """Writes shards, index, manifest and rejects of all sequences into an empty folder.

    One pass over the recordings, in memory that does not grow with their number. The bytes written do not depend on
    who works, nor on an interruption.

    Args:
        folder: Empty.
        corpus: The corpus folder.
        utterances: From stage prepare.
        codes: The quantisation.
        workers: Processes, or the address of a Dask scheduler.
        finished: Folder of what an interrupted process had finished; None keeps nothing.

    Raises:
        InputError: The files are no recordings though codes.kind is "wave", or a split has nothing left.
    """
    if codes.kind == "wave" and not any(utterance.sample_rate for utterance in utterances):
        raise InputError("the corpus holds files of any kind, not recordings: set codes.kind to bytes")
    paths = [(corpus / utterance.audio).absolute() for utterance in utterances]
    settings = CodeSettings.from_section(codes)
    known = Finished(finished, settings) if finished else None
    made = map_in_order(
        partial(to_sequences, settings=settings), paths, workers, "categorical sequences", "files", known
    )
    counts = {name: Counter({"sequences": 0, "symbols": 0}) for name in SPLITS}
    rejects = []
    with write_codes(folder) as writer:
        for utterance, (pieces, reason) in zip(utterances, made, strict=True):
            if reason:
                rejects.append(Reject(utterance.id, utterance.audio, 0, reason))
            for identity, piece in _named(utterance.id, pieces):
                writer.add(identity, utterance.split, {"codes": piece})
                counts[utterance.split].update({"sequences": 1, "symbols": len(piece)})
    _require_all_splits(counts, rejects)
    write_rejects(folder, rejects)
    write_json(folder / MANIFEST, _manifest(codes, counts, rejects))
    print(_describe(counts, rejects))


def _named(identity: str, pieces: Sequence[np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    if len(pieces) == 1:
        return iter([(identity, pieces[0])])
    return ((f"{identity}#{number:04d}", piece) for number, piece in enumerate(pieces))


def _require_all_splits(counts: dict[str, Counter[str]], rejects: Sequence[Reject]) -> None:
    if all(part["sequences"] for part in counts.values()):
        return
    left = ", ".join(f"{name} {part['sequences']}" for name, part in counts.items())
    raise InputError(
        f"a split has no sequence left: {left}; {len(rejects)} left out (codes.min_length, prepare.*_fraction)"
    )


def _manifest(codes: Codes, counts: dict[str, Counter[str]], rejects: Sequence[Reject]) -> dict[str, Any]:
    return {
        "content": "codes",
        "format": FORMAT,
        "kind": codes.kind,
        "categories": CATEGORIES_OF_BYTES if codes.kind == "bytes" else 2**codes.bit_depth,
        "bit_depth": codes.bit_depth,
        "encoding": codes.encoding,
        "sample_rate": codes.sample_rate,
        "parameters": {"codes": codes.model_dump(mode="json")},
        "counts": {name: dict(part) for name, part in counts.items()},
        "rejected": dict(Counter(reject.reason.split(":")[0] for reject in rejects)),
        "levels": []
        if codes.kind == "bytes"
        else decode(np.arange(2**codes.bit_depth), codes.encoding, codes.bit_depth).tolist(),
        "resampler": RESAMPLER,
        "versions": {name: version(name) for name in LIBRARIES} | {"libsndfile": soundfile.__libsndfile_version__},
    }


def _describe(counts: dict[str, Counter[str]], rejects: Sequence[Reject]) -> str:
    parts = (f"{name} {part['sequences']} ({part['symbols']} symbols)" for name, part in counts.items())
    return f"sequences of {', '.join(parts)}; {len(rejects)} left out"


if __name__ == "__main__":
    stage.run(main)
