"""Each recording beside its transcript: a/b.flac and a/b.txt, in folders of any depth."""

from pathlib import Path, PurePosixPath

from pipeline.corpora.rows import Listing, Row, in_order, is_recording, stem_of, walk
from pipeline.corpora.transcripts import read_transcript
from pipeline.sections.corpus import Corpus


def read(folder: Path, corpus: Corpus) -> Listing:
    """One row a recording, and one a transcript that has none."""
    listing = Listing(tried="recordings beside .txt files of the same name")
    files = walk(folder)
    transcripts = {stem_of(path): path for path in files if path.suffix.lower() == ".txt"}
    recordings = [path for path in files if is_recording(path)]
    alone = set(transcripts) - {stem_of(path) for path in recordings}
    if not recordings:
        return listing
    rows = [_row(folder, path, transcripts.get(stem_of(path))) for path in recordings]
    rows += [_without_recording(transcripts[stem]) for stem in alone]
    listing.rows = in_order(rows)
    return listing


def _row(folder: Path, recording: PurePosixPath, transcript: PurePosixPath | None) -> Row:
    text, problem = (
        read_transcript(folder, str(transcript)) if transcript else ("", "no text: there is no .txt file beside it")
    )
    return Row(stem_of(recording), text, str(recording), "", "", str(transcript or recording), 0, problem)


def _without_recording(transcript: PurePosixPath) -> Row:
    return Row(stem_of(transcript), "", "", "", "", str(transcript), 0, "missing: no recording beside this transcript")
