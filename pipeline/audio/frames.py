"""From a recording's file to log-mel frames: all that a worker process of stage mels does and imports."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from pipeline.audio.files import RecordingError, read_audio
from pipeline.audio.level import set_peak, trim
from pipeline.audio.mel import MelSettings, log_mel_through


class Frames(NamedTuple):
    """A recording as frames float32 [frames, n_mels], or the reason that there are none; seconds after trimming."""

    frames: np.ndarray | None
    seconds: float
    reason: str


class Clip(NamedTuple):
    """Which part of a recording counts, and how loud; the names and units are those of section `mels`."""

    trim_db: float | None
    trim_margin: float
    peak_level: float | None
    max_seconds: float


def to_frames(path: Path, settings: MelSettings, filters: csr_array, clip: Clip) -> Frames:
    """Log-mel frames of one recording, trimmed and scaled. What is wrong with the file becomes the reason."""
    try:
        waveform = read_audio(path, settings.sample_rate)
    except RecordingError as error:
        return Frames(None, 0.0, str(error))
    if clip.trim_db is not None:
        waveform = trim(waveform, settings.sample_rate, clip.trim_db, clip.trim_margin)
    seconds = len(waveform) / settings.sample_rate
    if seconds > clip.max_seconds:
        return Frames(None, seconds, f"too long: {seconds:.2f} s exceed mels.max_seconds {clip.max_seconds:g}")
    if clip.peak_level is not None:
        waveform = set_peak(waveform, clip.peak_level)
    return Frames(log_mel_through(filters, waveform, settings), seconds, "")
