"""Any files, for Wayback over bytes (codes.kind: bytes)."""

from pathlib import Path

from pipeline.corpora.rows import Listing, Row, in_order, walk
from pipeline.sections.corpus import Corpus


def read(folder: Path, corpus: Corpus) -> Listing:
    """One row a file; its id is its path."""
    listing = Listing(tried="any file at any depth", has_text=False, has_audio=False)
    listing.rows = in_order(Row(str(path), "", str(path), "", "", str(path), 0, "") for path in walk(folder))
    return listing
