"""Mozilla Common Voice: a TSV with `client_id path sentence ... locale`, and the recordings in a folder (`clips`)."""

from pathlib import Path, PurePosixPath

from pipeline.corpora.rows import Listing, Recordings, Row, id_problem, one_line, stem_of
from pipeline.corpora.tables import Record, read_table
from pipeline.sections.corpus import Corpus


def read(folder: Path, corpus: Corpus) -> Listing:
    """Reads corpus.metadata (validated.tsv); quotes mean themselves."""
    listing = Listing(tried=f"{corpus.metadata} and {corpus.audio_folder or '.'}/<path>")
    recordings = Recordings(folder, corpus.audio_folder)
    records, listing.blank_lines = read_table(
        folder / corpus.metadata, corpus.metadata, "\t", ("client_id", "path", "sentence")
    )
    listing.rows = [_row(record, corpus.metadata, recordings) for record in records]
    return listing


def _row(record: Record, file: str, recordings: Recordings) -> Row:
    values = {name: one_line(value) for name, value in record.values.items()}
    path = values.get("path", "")
    identity = stem_of(PurePosixPath(path)) if path else ""
    audio, missing = recordings.find(path)
    problem = record.problem or id_problem(identity) or missing
    speaker, language = values.get("client_id", ""), values.get("locale", "")
    return Row(identity, values.get("sentence", ""), audio, speaker, language, file, record.line, problem)
