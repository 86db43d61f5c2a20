"""Log-mel frames of a waveform: librosa's numbers, faster."""

import threading
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from pipeline.audio.basis import mel_filters

FRAMES_AT_ONCE = 64
"""Few enough that their samples and spectra stay in the processor's cache."""


class MelSettings(NamedTuple):
    """The mel analysis; the names and units are those of section `audio`.

    Attributes:
        sample_rate: Hz.
        n_fft: Samples.
        hop_length: Samples from frame to frame.
        win_length: Samples of the periodic Hann window, centred in n_fft.
        n_mels: Bands.
        fmin: Hz.
        fmax: Hz.
        padding: "reflect" or "constant" (zeros): n_fft // 2 samples on both sides.
        log_floor: Smallest mel magnitude before the logarithm.
    """

    sample_rate: int
    n_fft: int
    hop_length: int
    win_length: int
    n_mels: int
    fmin: float
    fmax: float
    padding: str
    log_floor: float

    @classmethod
    def from_section(cls, audio: Any) -> "MelSettings":
        """Takes the section `audio`."""
        return cls(**{name: getattr(audio, name) for name in cls._fields})

    def filters(self) -> csr_array:
        """The mel filters float32 [n_mels, n_fft // 2 + 1]."""
        return mel_filters(self.sample_rate, self.n_fft, self.n_mels, self.fmin, self.fmax)


def log_mel(waveform: np.ndarray, settings: MelSettings) -> np.ndarray:
    """Natural log of the mel magnitudes.

    Args:
        waveform: float32 [samples], at settings.sample_rate.
        settings: The analysis.

    Returns:
        float32 [1 + samples // hop_length, n_mels]; frame t is centred on sample t * hop_length.
    """
    return log_mel_through(settings.filters(), waveform, settings)


def log_mel_through(filters: csr_array, waveform: np.ndarray, settings: MelSettings) -> np.ndarray:
    """As `log_mel`, through filters made elsewhere: a worker process that gets them need not import librosa."""
    window = centred_hann(settings.win_length, settings.n_fft)
    padded = pad_centre(waveform, settings.n_fft, settings.padding)
    mel = np.empty((frame_count(len(waveform), settings.hop_length), settings.n_mels), np.float32)
    used = slice(int(filters.indices.min()), int(filters.indices.max()) + 1)
    for block, magnitude in _blocks_of_magnitudes(padded, window, settings.hop_length, used):
        mel[block] = (filters @ magnitude).T[: block.stop - block.start]
    return np.log(np.maximum(mel, np.float32(settings.log_floor), out=mel), out=mel)


def magnitudes(signal: np.ndarray, window: np.ndarray, hop_length: int) -> np.ndarray:
    """Magnitudes of the Fourier transform of windowed frames, without padding.

    Args:
        signal: float32 [samples], at least as long as the window.
        window: float64 [n_fft]: exact to float32, so that quiet bands agree with librosa in the logarithm.
        hop_length: Samples.

    Returns:
        float32 [1 + (samples - n_fft) // hop_length, n_fft // 2 + 1].
    """
    blocks = _blocks_of_magnitudes(signal, window, hop_length, slice(0, len(window) // 2 + 1))
    return np.concatenate([magnitude.T[: block.stop - block.start].copy() for block, magnitude in blocks])


def _blocks_of_magnitudes(
    signal: np.ndarray, window: np.ndarray, hop_length: int, used: slice
) -> Iterator[tuple[slice, np.ndarray]]:
    """Magnitudes float32 [frequencies, FRAMES_AT_ONCE] of some frames at a time: right for those frames and `used` frequencies.

    They lie in memory that the thread's next block reuses, frames last as the product with filters wants them: new
    memory and copies cost more than the work itself.
    """
    n_fft = len(window)
    shape, step = (1 + (len(signal) - n_fft) // hop_length, n_fft), signal.strides[0]
    frames = np.lib.stride_tricks.as_strided(signal, shape, (hop_length * step, step), writeable=False)
    heard = np.flatnonzero(window)
    heard = slice(int(heard[0]), int(heard[-1]) + 1)
    memory = _memory(FRAMES_AT_ONCE, n_fft, (heard.start, heard.stop), threading.get_ident())
    for first in range(0, len(frames), FRAMES_AT_ONCE):
        block = slice(first, min(first + FRAMES_AT_ONCE, len(frames)))
        windowed, exact = (array[: block.stop - first] for array in (memory.windowed, memory.exact))
        np.multiply(frames[block, heard], window[heard], out=windowed[:, heard])
        np.fft.rfft(windowed, axis=1, out=exact)
        spectrum, magnitude = (array[used, : len(exact)] for array in (memory.spectrum, memory.magnitude))
        spectrum[:] = exact[:, used].T
        np.abs(spectrum, out=magnitude)
        yield block, memory.magnitude


class _Memory(NamedTuple):
    """What the work on some frames needs.

    Attributes:
        windowed: float64 [frames, n_fft], 0 where the window is.
        exact: complex128 [frames, frequencies].
        spectrum: complex64 [frequencies, frames].
        magnitude: float32 [frequencies, frames].
    """

    windowed: np.ndarray
    exact: np.ndarray
    spectrum: np.ndarray
    magnitude: np.ndarray


@lru_cache(maxsize=8)
def _memory(frames: int, n_fft: int, heard: tuple[int, int], thread: int) -> _Memory:
    """The memory of one thread for one kind of window."""
    frequencies = n_fft // 2 + 1
    return _Memory(
        np.zeros((frames, n_fft)),
        np.zeros((frames, frequencies), np.complex128),
        np.zeros((frequencies, frames), np.complex64),
        np.zeros((frequencies, frames), np.float32),
    )


def frame_count(samples: int, hop_length: int) -> int:
    """Frames of a waveform: the one rule that frames, stop targets and durations share."""
    return 1 + samples // hop_length


@lru_cache(maxsize=8)
def centred_hann(win_length: int, n_fft: int) -> np.ndarray:
    """A periodic Hann window float64 [n_fft], zero outside its middle `win_length` samples."""
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(win_length) / win_length)
    left = (n_fft - win_length) // 2
    window = np.pad(hann, (left, n_fft - win_length - left))
    window.setflags(write=False)
    return window


def pad_centre(waveform: np.ndarray, n_fft: int, padding: str) -> np.ndarray:
    """Adds n_fft // 2 samples on both sides, mirrored ("reflect") or zero ("constant").

    Raises:
        ValueError: The waveform is empty.
    """
    if not len(waveform):
        raise ValueError("an empty waveform has no frames")
    half = n_fft // 2
    if padding == "reflect" and len(waveform) > half:  # as np.pad does, in a tenth of its time
        mirrored = (waveform[half:0:-1], waveform, waveform[-2 : -half - 2 : -1])
        return np.concatenate(mirrored, dtype=np.float32, casting="same_kind")
    return np.pad(np.asarray(waveform, np.float32), half, mode=padding)
