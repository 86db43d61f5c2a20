"""A table with a header: columns of the text and the recording's path, and, where named, of id and speaker."""

from pathlib import Path, PurePosixPath

from pipeline.corpora.rows import Listing, Recordings, Row, id_problem, one_line, stem_of
from pipeline.corpora.tables import Record, read_table
from pipeline.sections.corpus import Corpus


def read(folder: Path, corpus: Corpus) -> Listing:
    """Reads corpus.metadata by the names of its columns."""
    listing = Listing(tried=f"{corpus.metadata} with a header")
    optional = (corpus.column_id, corpus.column_speaker)
    columns = (corpus.column_text, corpus.column_audio, *(name for name in optional if name is not None))
    recordings = Recordings(folder, corpus.audio_folder)
    records, listing.blank_lines = read_table(
        folder / corpus.metadata, corpus.metadata, corpus.column_separator, columns
    )
    listing.rows = [_row(record, corpus, recordings) for record in records]
    return listing


def _row(record: Record, corpus: Corpus, recordings: Recordings) -> Row:
    values = {name: one_line(value) for name, value in record.values.items()}
    path = values.get(corpus.column_audio, "").replace("\\", "/")
    identity = values.get(corpus.column_id, "") if corpus.column_id else stem_of(PurePosixPath(path)) if path else ""
    speaker = values.get(corpus.column_speaker, "") if corpus.column_speaker else ""
    audio, missing = recordings.find(path)
    problem = record.problem or id_problem(identity) or missing
    return Row(identity, values.get(corpus.column_text, ""), audio, speaker, "", corpus.metadata, record.line, problem)
