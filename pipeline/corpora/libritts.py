"""LibriTTS: <speaker>/<chapter>/<id>.wav beside <id>.normalized.txt (else <id>.original.txt), below any folder."""

from pathlib import Path, PurePosixPath

from pipeline.corpora.rows import Listing, Row, in_order, is_recording, stem_of, walk
from pipeline.corpora.transcripts import read_transcript
from pipeline.sections.corpus import Corpus

TRANSCRIPTS = (".original.txt", ".normalized.txt")
"""Their endings, the better one last."""


def read(folder: Path, corpus: Corpus) -> Listing:
    """One row a recording, and one a transcript that has none; an id begins with the speaker's number."""
    listing = Listing(tried="<speaker>/<chapter>/<id>.wav beside <id>.normalized.txt")
    files = walk(folder)
    recordings = [path for path in files if is_recording(path)]
    transcripts = {
        str(path).removesuffix(ending): path for ending in TRANSCRIPTS for path in files if str(path).endswith(ending)
    }
    alone = set(transcripts) - {stem_of(path) for path in recordings}
    if transcripts:
        rows = [_row(folder, transcripts.get(stem_of(path)), path) for path in recordings]
        rows += [_row(folder, transcripts[stem], None) for stem in sorted(alone)]
        listing.rows = in_order(rows)
    return listing


def _row(folder: Path, transcript: PurePosixPath | None, recording: PurePosixPath | None) -> Row:
    place = transcript or recording
    identity = place.name.split(".")[0]
    text, problem = read_transcript(folder, str(transcript)) if transcript else ("", "no text: no transcript beside it")
    problem = problem or ("" if recording else "missing: no recording beside this transcript")
    return Row(identity, text, str(recording or ""), identity.split("_")[0], "en", str(place), 0, problem)
