"""Recordings without text, in folders of any depth: for Wayback."""

from pathlib import Path

from pipeline.corpora.rows import Listing, Row, in_order, is_recording, stem_of, walk
from pipeline.sections.corpus import Corpus


def read(folder: Path, corpus: Corpus) -> Listing:
    """One row a recording."""
    listing = Listing(tried="recordings (.wav, .flac, .ogg, .mp3, ...) at any depth", has_text=False)
    found = [path for path in walk(folder) if is_recording(path)]
    listing.rows = in_order(Row(stem_of(path), "", str(path), "", "", str(path), 0, "") for path in found)
    return listing
