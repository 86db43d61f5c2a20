"""Stage prepare: a corpus in any layout -> utterances with a split, and rejects with a reason."""

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pipeline import stage
from pipeline.audio.finished import Finished, finished_of
from pipeline.audio.inspection import Inspection, Limits, inspect_recording
from pipeline.audio.parallel import map_in_order
from pipeline.corpora import read_corpus
from pipeline.corpora.rows import KINDS, Listing, Row
from pipeline.corpora.utterances import Reject, Utterance, write_rejects, write_utterances
from pipeline.errors import InputError
from pipeline.outputs import new_folder, write_json
from pipeline.params import load_params, load_runtime
from pipeline.sections.corpus import Corpus
from pipeline.sections.prepare import Prepare
from pipeline.shards import SPLITS

LONGEST_TEXT = 10_000
REJECTS_SHOWN = 10
NOT_SELECTED = "speaker: "


class Verdict(NamedTuple):
    """A row of the corpus, and what is known of its recording; an empty reason keeps it."""

    row: Row
    reason: str
    inspection: Inspection


def main(corpus: Path, prepared: Path, metrics: Path) -> None:
    """Reads the corpus, judges every row, splits what is kept."""
    params = load_params("prepare")
    require_inside(corpus)
    listing = read_corpus(corpus, params.corpus)
    with finished_of("prepare") as finished:
        verdicts = judge(corpus, listing, params.corpus, params.prepare, load_runtime().pool, finished)
        utterances, rejects = divide(verdicts, params.prepare, params.text.language)
        require_usable(listing, utterances, rejects, params.corpus, params.prepare)
        with new_folder(prepared) as folder:
            write_utterances(folder, utterances)
            write_rejects(folder, rejects)
        write_json(metrics, summarise(listing, verdicts, utterances, rejects))
    print(describe(utterances, rejects))


def require_inside(corpus: Path) -> None:
    """Refuses a corpus that lies outside the repository: DVC could not bring it back.

    Raises:
        InputError: With the command that brings it in.
    """
    if corpus.is_absolute() or ".." in corpus.parts:
        raise InputError(
            f"corpus.path {corpus} lies outside the repository, where its content cannot be tracked: "
            f"run 'make corpus FROM={corpus} NAME={corpus.name or 'name'}'"
        )


def judge(
    path: Path, listing: Listing, corpus: Corpus, limits: Prepare, workers: int | str, finished: Path | None = None
) -> list[Verdict]:
    """A verdict on every row, from its metadata and one pass over its recording.

    Args:
        path: The corpus folder.
        listing: Its rows.
        corpus: Chooses speakers.
        limits: What a recording must satisfy.
        workers: Processes, or the address of a Dask scheduler; they change nothing but the time.
        finished: Folder of what an interrupted process had finished; None keeps nothing.
    """
    problems = _problems_of_rows(listing, corpus)
    good = [row for row, problem in zip(listing.rows, problems, strict=True) if not problem]
    inspect = partial(_inspect, workers=workers, finished=finished) if listing.has_audio else _measure_files
    inspections = iter(inspect(path, good, limits))
    verdicts = []
    for row, problem in zip(listing.rows, problems, strict=True):
        inspection = Inspection("") if problem else next(inspections)
        verdicts.append(Verdict(row, problem or inspection.reason, inspection))
    return verdicts


def divide(verdicts: Sequence[Verdict], prepare: Prepare, language: str) -> tuple[list[Utterance], list[Reject]]:
    """Kept utterances with their split, and rejects, both in the corpus' order. Every row is one or the other."""
    utterances, rejects = [], []
    for row, reason, inspection in verdicts:
        if reason:
            rejects.append(Reject(row.id, row.file, row.line, reason))
            continue
        split = split_of(row.id, prepare.validation_fraction, prepare.test_fraction)
        utterances.append(
            Utterance(
                row.id,
                split,
                row.speaker,
                row.language or language,
                row.text,
                row.audio,
                inspection.seconds,
                inspection.sample_rate,
            )
        )
    return utterances, rejects


def split_of(identity: str, validation_fraction: float, test_fraction: float) -> str:
    """The split of an id, by its hash alone: other recordings never move it."""
    place = _place(identity)
    if place < test_fraction:
        return "test"
    return "validation" if place < test_fraction + validation_fraction else "train"


def require_usable(
    listing: Listing, utterances: Sequence[Utterance], rejects: Sequence[Reject], corpus: Corpus, prepare: Prepare
) -> None:
    """Stops where the corpus cannot be used as it is.

    Raises:
        InputError: Nothing is left, a row is faulty though on_reject is "fail", or a split is too small.
    """
    faulty = [reject for reject in rejects if not reject.reason.startswith(NOT_SELECTED)]
    if corpus.on_reject == "fail" and faulty:
        raise InputError(
            f"{len(faulty)} of {len(listing.rows)} rows are faulty (corpus.on_reject is fail):\n{_listed(faulty)}"
        )
    if not utterances:
        raise InputError(
            f"none of {len(listing.rows)} rows is usable (looked for {listing.tried}):\n{_listed(rejects)}"
        )
    counts = Counter(utterance.split for utterance in utterances)
    if min(counts[split] for split in SPLITS) < prepare.min_per_split:
        found = ", ".join(f"{split} {counts[split]}" for split in SPLITS)
        raise InputError(
            f"the splits are too small: {found}; each needs prepare.min_per_split = {prepare.min_per_split}. "
            + _advice([utterance.id for utterance in utterances], prepare.min_per_split)
        )


def summarise(
    listing: Listing, verdicts: Sequence[Verdict], utterances: Sequence[Utterance], rejects: Sequence[Reject]
) -> dict[str, float]:
    """The metrics of the stage: the same keys for every corpus."""
    by_kind = Counter(reject.reason.split(":")[0] for reject in rejects)
    digests = Counter(
        verdict.inspection.digest for verdict in verdicts if not verdict.reason and verdict.inspection.digest
    )
    metrics: dict[str, float] = {
        "rows": len(listing.rows),
        "blank_lines": listing.blank_lines,
        "kept_utterances": len(utterances),
        "kept_hours": _hours(utterances),
        "rejected_rows": len(rejects),
        "speakers": len({utterance.speaker for utterance in utterances}),
        "repeated_recordings": sum(count - 1 for count in digests.values()),
        "longest_seconds": round(max((utterance.seconds for utterance in utterances), default=0.0), 3),
    }
    for split in SPLITS:
        part = [utterance for utterance in utterances if utterance.split == split]
        metrics |= {f"{split}_utterances": len(part), f"{split}_hours": _hours(part)}
    return metrics | {f"rejected_{kind.replace(' ', '_')}": by_kind[kind] for kind in KINDS}


def describe(utterances: Sequence[Utterance], rejects: Sequence[Reject]) -> str:
    """A few lines for the terminal."""
    counts = Counter(utterance.split for utterance in utterances)
    splits = ", ".join(f"{split} {counts[split]}" for split in SPLITS)
    lines = [f"{len(utterances)} utterances kept ({_hours(utterances):.2f} h): {splits}"]
    if rejects:
        lines.append(f"{len(rejects)} rows rejected:\n{_listed(rejects)}")
    return "\n".join(lines)


def _problems_of_rows(listing: Listing, corpus: Corpus) -> list[str]:
    """What is wrong with each row before its recording is read; "" for nothing."""
    speakers = {row.speaker for row in listing.rows}
    absent = [name for name in corpus.speakers if name not in speakers]
    if absent:
        raise InputError(
            f"corpus.speakers names {', '.join(absent)}; "
            f"the corpus has {', '.join(sorted(speakers - {''})) or 'one speaker'}"
        )
    first_with_id: dict[str, Row] = {}
    first_with_audio: dict[str, Row] = {}
    return [_problem(row, listing, corpus, first_with_id, first_with_audio) for row in listing.rows]


def _problem(
    row: Row, listing: Listing, corpus: Corpus, first_with_id: dict[str, Row], first_with_audio: dict[str, Row]
) -> str:
    if row.problem:
        return row.problem
    if first_with_id.setdefault(row.id, row) is not row:
        return f"duplicate: the id stands already at {_where(first_with_id[row.id])}"
    if first_with_audio.setdefault(row.audio, row) is not row:
        return f"duplicate: {row.audio} belongs already to {_where(first_with_audio[row.audio])}"
    if corpus.speakers and row.speaker not in corpus.speakers:
        return f"{NOT_SELECTED}{row.speaker or 'unnamed'} is not among corpus.speakers"
    if listing.has_text and not row.text:
        return "no text: the transcript is empty"
    if len(row.text) > LONGEST_TEXT:
        return f"text: {len(row.text)} characters, more than {LONGEST_TEXT}"
    return ""


def _inspect(
    path: Path, rows: Sequence[Row], prepare: Prepare, workers: int | str, finished: Path | None
) -> list[Inspection]:
    limits = Limits(**{name: getattr(prepare, name) for name in Limits._fields})
    work = partial(inspect_recording, limits=limits)
    paths = [(path / row.audio).absolute() for row in rows]
    known = Finished(finished, limits) if finished else None
    return list(map_in_order(work, paths, workers, "checking recordings", "recordings", known))


def _measure_files(path: Path, rows: Sequence[Row], _: Prepare) -> list[Inspection]:
    sizes = [(path / row.audio).stat().st_size for row in rows]
    return [Inspection("" if size else "empty: 0 bytes") for size in sizes]


def _place(identity: str) -> float:
    """Where the id falls in [0, 1)."""
    return int.from_bytes(hashlib.sha256(identity.encode("utf-8")).digest()[:8], "big") / 2**64


def _advice(identities: Sequence[str], minimum: int) -> str:
    """Fractions under which every split has its minimum."""
    places = sorted(map(_place, identities))
    if len(places) < 3 * minimum:
        return f"{len(places)} recordings cannot fill three splits of {minimum}: lower prepare.min_per_split"
    test = _rounded_up(places[minimum - 1])
    rest = [place for place in places if place >= test]
    validation = _rounded_up(rest[minimum - 1] - test) if len(rest) > minimum else 1.0
    if sum(place >= test + validation for place in places) < minimum:
        return "Lower prepare.min_per_split, or add recordings"
    return (
        f"Set prepare.test_fraction: {test:g} and prepare.validation_fraction: {validation:g}, "
        "or lower prepare.min_per_split"
    )


def _rounded_up(fraction: float) -> float:
    return math.floor(fraction * 100 + 1) / 100


def _hours(utterances: Sequence[Utterance]) -> float:
    return round(sum(utterance.seconds for utterance in utterances) / 3600, 4)


def _where(row: Row) -> str:
    return f"{row.file}, line {row.line}" if row.line else row.file


def _listed(rejects: Sequence[Reject]) -> str:
    lines = [
        f"  {reject.id or '(no id)'} ({reject.file}, line {reject.line}): {reject.reason}"
        for reject in rejects[:REJECTS_SHOWN]
    ]
    if len(rejects) > REJECTS_SHOWN:
        lines.append(f"  and {len(rejects) - REJECTS_SHOWN} more")
    return "\n".join(lines)


if __name__ == "__main__":
    stage.run(main)
