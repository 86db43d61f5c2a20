"""Sound files in and out, through libsndfile and soxr."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import soundfile
import soxr

from pipeline.errors import InputError

AUDIO_SUFFIXES = (
    ".wav",
    ".flac",
    ".ogg",
    ".opus",
    ".oga",
    ".mp3",
    ".aiff",
    ".aif",
    ".au",
    ".caf",
    ".w64",
    ".rf64",
    ".sph",
)
UNREADABLE_SUFFIXES = (".m4a", ".mp4", ".aac", ".wma", ".amr", ".webm", ".ape", ".mka")
RESAMPLER = "soxr_hq"
STREAMED_LENGTHS = (0, 0xFFFFFFFF, 0xFFFFFFFE)
"""Data lengths that a program writes into a WAV header when it cannot go back to correct it."""


class RecordingError(InputError):
    """One recording cannot be used; the message is a reason without the file's name: its kind, a colon, details."""


def read_audio(path: Path, sample_rate: int) -> np.ndarray:
    """Reads a recording of any rate and channel count as mono at `sample_rate`.

    Channels are averaged; another rate is resampled by soxr, quality HQ.

    Args:
        path: Any file that libsndfile reads.
        sample_rate: Wanted rate in Hz.

    Returns:
        float32 [samples], full scale at 1.

    Raises:
        RecordingError: The file is missing, empty, truncated, no audio, or holds NaN or infinity.
    """
    with open_sound(path) as sound:
        samples = sound.read(dtype="float32", always_2d=True)
        if len(samples) < sound.frames:
            raise RecordingError(
                f"truncated: the header promises {sound.frames} samples, and {len(samples)} can be read"
            )
        rate = sound.samplerate
    if not np.isfinite(samples).all():
        raise RecordingError("not finite: samples are NaN or infinite")
    return resample(to_mono(samples), rate, sample_rate)


@contextmanager
def open_sound(path: Path) -> Iterator[soundfile.SoundFile]:
    """Opens a recording for reading; what libsndfile cannot read, or a WAV that ends early, is a RecordingError."""
    check_container(path)
    try:
        with soundfile.SoundFile(str(path)) as sound:
            if sound.frames <= 0:
                raise RecordingError("empty: a header without samples")
            yield sound
    except soundfile.LibsndfileError as error:
        reason = " ".join(error.error_string.split()).rstrip(".")
        raise RecordingError(f"unreadable: {reason}; convert it to wav or flac") from error


def check_container(path: Path) -> None:
    """Refuses what is no file, has no bytes, or is a WAV shorter than its own header says.

    Raises:
        RecordingError: With the reason.
    """
    if not path.exists():
        raise RecordingError("missing: there is no such file")
    if not path.is_file():
        raise RecordingError("unreadable: not a file")
    if path.stat().st_size == 0:
        raise RecordingError("empty: 0 bytes")
    if path.suffix.lower() in UNREADABLE_SUFFIXES:
        raise RecordingError(f"unreadable: {path.suffix} is not supported; convert it to wav or flac")
    with path.open("rb") as file:
        missing = _missing_wav_bytes(file, path.stat().st_size)
    if missing:
        raise RecordingError(f"truncated: {missing} bytes that the header promises are missing")


def _missing_wav_bytes(file: BinaryIO, size: int) -> int:
    """How many bytes of its data chunk a WAV file lacks. libsndfile reads such files without a word."""
    riff, _, wave = struct.unpack("<4sI4s", file.read(12).ljust(12, b"\0"))
    if (riff, wave) != (b"RIFF", b"WAVE"):
        return 0
    while len(header := file.read(8)) == 8:
        name, length = struct.unpack("<4sI", header)
        if name == b"data":
            streamed = length in STREAMED_LENGTHS
            return 0 if streamed else max(0, file.tell() + length - size)
        file.seek(length + length % 2, 1)
    return 0


def to_mono(samples: np.ndarray) -> np.ndarray:
    """The mean of the channels: float32 [samples, channels] -> float32 [samples]."""
    if samples.shape[1] == 1:
        return samples[:, 0]
    return samples.mean(axis=1, dtype=np.float64).astype(np.float32)


def resample(waveform: np.ndarray, from_rate: int, to_rate: int) -> np.ndarray:
    """The same sound at another rate in Hz: float32 [samples] -> float32 [about samples * to_rate / from_rate]."""
    if from_rate == to_rate:
        return waveform
    return soxr.resample(waveform, from_rate, to_rate, quality="HQ").astype(np.float32, copy=False)


def write_wav(path: Path, waveform: np.ndarray, sample_rate: int) -> None:
    """Writes 16-bit PCM; what exceeds full scale is clipped, never wrapped.

    Args:
        path: Ends in .wav.
        waveform: float [samples], full scale at 1.
        sample_rate: Hz.

    Raises:
        ValueError: The waveform is not one-dimensional, or holds NaN or infinity.
    """
    if waveform.ndim != 1:
        raise ValueError(f"a waveform has one axis, [samples]; this has the shape {waveform.shape}")
    if not np.isfinite(waveform).all():
        raise ValueError(f"{path.name}: the waveform holds NaN or infinity")
    pcm = np.clip(np.round(np.asarray(waveform, np.float64) * 32767), -32767, 32767).astype(np.int16)
    soundfile.write(str(path), pcm, sample_rate, subtype="PCM_16", format="WAV")
