"""Readers of corpus layouts, by the names that corpus.format takes.

A new layout is a module here, its line in LAYOUTS, and its name in section `corpus`.
"""

from collections.abc import Callable
from pathlib import Path

from pipeline.corpora import audio, commonvoice, csv, files, folder, libritts, ljspeech, vctk
from pipeline.corpora.rows import Listing
from pipeline.errors import InputError
from pipeline.sections.corpus import Corpus

LAYOUTS: dict[str, Callable[[Path, Corpus], Listing]] = {
    "audio": audio.read,
    "commonvoice": commonvoice.read,
    "csv": csv.read,
    "files": files.read,
    "folder": folder.read,
    "libritts": libritts.read,
    "ljspeech": ljspeech.read,
    "vctk": vctk.read,
}


def read_corpus(path: Path, corpus: Corpus) -> Listing:
    """Lists every row of a corpus, with what is wrong with it as far as its metadata tell.

    Args:
        path: The corpus folder.
        corpus: Its layout.

    Raises:
        InputError: There is no such folder, its metadata cannot be read at all, or there is no row.
    """
    if not path.is_dir():
        raise InputError(
            f"corpus.path {path} is not a folder: put a corpus there with 'make corpus FROM=folder NAME=name'"
        )
    listing = LAYOUTS[corpus.format](path, corpus)
    if not listing.rows:
        raise InputError(
            f"{path} has no rows in the layout {corpus.format}: looked for {listing.tried}; set corpus.format"
        )
    return listing
