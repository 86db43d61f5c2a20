"""Transcripts that are a file each."""

from pathlib import Path

from pipeline.corpora.lines import read_text
from pipeline.corpora.rows import one_line
from pipeline.errors import InputError


def read_transcript(corpus: Path, file: str) -> tuple[str, str]:
    """The text of a transcript's file in one line, and "" or what is wrong: a bad file costs its own row only."""
    try:
        return one_line(read_text(corpus / file, file)), ""
    except InputError as error:
        return "", f"text: {error}"
