"""LJSpeech's layout: `id|text` or `id|text|normalised text` a line, and a recording named after each id."""

from pathlib import Path

from pipeline.corpora.lines import read_lines
from pipeline.corpora.rows import Listing, Recordings, Row, id_problem, one_line, reject
from pipeline.sections.corpus import Corpus

SEPARATOR = "|"


def read(folder: Path, corpus: Corpus) -> Listing:
    """Splits each line at every `|`: quotes mean themselves. The last column is the text, unless it is empty."""
    listing = Listing(tried=f"{corpus.metadata} and {corpus.audio_folder or '.'}/<id>.wav, .flac, ...")
    recordings = Recordings(folder, corpus.audio_folder)
    for number, line in read_lines(folder / corpus.metadata, corpus.metadata):
        if line.strip():
            listing.rows.append(_row(line, number, corpus.metadata, recordings))
        else:
            listing.blank_lines += 1
    return listing


def _row(line: str, number: int, file: str, recordings: Recordings) -> Row:
    identity, *texts = (one_line(column) for column in line.split(SEPARATOR))
    if len(texts) not in (1, 2):
        columns = len(texts) + 1
        hint = "; is there a | inside the text?" if columns > 3 else ""
        return reject(
            identity, f"row: {columns} column{'s' * (columns > 1)} where 2 or 3 are expected{hint}", file, number
        )
    text = texts[-1] or texts[0]
    problem = id_problem(identity)
    audio, missing = ("", "") if problem else recordings.find(identity)
    return Row(identity, text, audio, "", "", file, number, problem or missing)
