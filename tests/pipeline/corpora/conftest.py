"""Small corpora, written where a test says."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.sections.corpus import Corpus

DEFAULTS = {
    "path": "data/corpora/x",
    "format": "ljspeech",
    "metadata": "metadata.csv",
    "audio_folder": "wavs",
    "column_id": None,
    "column_text": "text",
    "column_audio": "audio_path",
    "column_speaker": None,
    "column_separator": ",",
    "speakers": [],
    "on_reject": "skip",
}


@pytest.fixture
def layout() -> Callable[..., Corpus]:
    """Makes section `corpus` with some values changed."""
    return lambda **changes: Corpus(**(DEFAULTS | changes))


@pytest.fixture
def record(tmp_path) -> Callable[..., None]:
    """Writes a good recording, another one for each path."""

    def write(*paths: str, seconds: float = 0.3) -> None:
        for path in paths:
            target: Path = tmp_path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            noise = np.random.default_rng(sum(map(ord, path))).normal(size=round(16000 * seconds))
            soundfile.write(target, 0.1 * noise, 16000)

    return write


@pytest.fixture
def write(tmp_path) -> Callable[[str, str | bytes], None]:
    """Writes a file of text, or of bytes as they are."""

    def write(path: str, content: str | bytes) -> None:
        target: Path = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)

    return write
