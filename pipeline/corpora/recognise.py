"""Which layout a folder has, by trying them."""

from pathlib import Path

from pipeline.corpora import read_corpus
from pipeline.errors import InputError
from pipeline.sections.corpus import Corpus

PLACES = {
    "ljspeech": {"metadata": "metadata.csv", "audio_folder": "wavs"},
    "commonvoice": {"metadata": "validated.tsv", "audio_folder": "clips"},
    "csv": {"metadata": "metadata.csv", "audio_folder": ""},
    "vctk": {},
    "libritts": {},
    "folder": {},
    "audio": {},
}
"""The layouts that are tried, in this order, and where each usually has its metadata and recordings."""


def recognise_layout(folder: Path, corpus: Corpus) -> Corpus:
    """The section `corpus` with the layout under which most rows are good; of equal ones its own, then the first.

    Args:
        folder: The corpus folder.
        corpus: Its other values stay.

    Raises:
        InputError: Under no layout is any row good.
    """
    tried = [corpus] if corpus.format != "files" else []
    tried += [corpus.model_copy(update={"format": name, **places}) for name, places in PLACES.items()]
    best = max(tried, key=lambda candidate: _good_rows(folder, candidate))
    if _good_rows(folder, best) == (0, 0):
        raise InputError(
            f"{folder} has none of the layouts {', '.join(PLACES)}: no row of a transcript leads to a recording; "
            "set corpus.format and the keys that belong to it"
        )
    return best


def _good_rows(folder: Path, corpus: Corpus) -> tuple[int, int]:
    """Good rows with text, then good rows."""
    try:
        rows = [row for row in read_corpus(folder, corpus.model_copy(update={"speakers": []})).rows if not row.problem]
    except InputError:
        return 0, 0
    return sum(bool(row.text) for row in rows), len(rows)
