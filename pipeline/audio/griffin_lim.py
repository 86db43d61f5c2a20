"""A waveform whose log-mel is as given: magnitudes by non-negative least squares, phases by fast Griffin-Lim.

Griffin and Lim 1984; Perraudin, Balazs and Sondergaard 2013 for the momentum.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.fft
from scipy.sparse import csr_array

from pipeline.audio.mel import MelSettings, centred_hann

MOMENTUM = np.float32(0.99)
FRAMES_AT_ONCE = 128
"""Work of one thread. A frame's arithmetic does not depend on the frames beside it, nor the result on the threads."""
LEAST_SQUARES_STEPS = 100
LARGEST_LOG_MEL = 10.0
TINY = np.float32(1e-12)


def griffin_lim(log_mel: np.ndarray, settings: MelSettings, iterations: int, power: float, seed: int) -> np.ndarray:
    """Makes a waveform from log-mel frames; the same arguments give the same bits.

    Args:
        log_mel: float32 [frames, n_mels], natural log of magnitudes.
        settings: The analysis that the frames come from.
        iterations: Rounds of Griffin-Lim.
        power: Magnitudes are raised to it first; above 1 (1.2 to 1.5) sharpens a smooth prediction.
        seed: Of the first phases.

    Returns:
        float32 [(frames - 1) * hop_length], no sample beyond 1: a louder result is scaled down as a whole.

    Raises:
        ValueError: The frames hold NaN or infinity, or there are none.
    """
    if log_mel.ndim != 2 or log_mel.shape[1] != settings.n_mels or not len(log_mel):
        raise ValueError(f"log-mel frames have the shape [frames, {settings.n_mels}]; these have {log_mel.shape}")
    if not np.isfinite(log_mel).all():
        raise ValueError("the log-mel frames hold NaN or infinity")
    mel = np.exp(np.minimum(np.asarray(log_mel, np.float32), LARGEST_LOG_MEL))
    magnitude = magnitude_from_mel(mel, settings.filters()) ** np.float32(power)
    waveform = phases_to_waveform(magnitude, settings, iterations, seed)
    return waveform / max(float(np.abs(waveform).max(initial=0.0)), 1.0)


def magnitude_from_mel(mel: np.ndarray, filters: csr_array) -> np.ndarray:
    """The non-negative spectrum whose mel is nearest to `mel` (multiplicative updates of Lee and Seung 2001).

    Args:
        mel: float32 [frames, n_mels], magnitudes.
        filters: float32 [n_mels, n_fft // 2 + 1].

    Returns:
        float32 [frames, n_fft // 2 + 1].
    """
    target = np.ascontiguousarray(mel.T)
    transposed = filters.T.tocsr()
    wanted = transposed @ target
    spectrum = wanted / np.maximum(transposed @ filters.sum(axis=1)[:, None], TINY)
    for _ in range(LEAST_SQUARES_STEPS):
        spectrum *= wanted / np.maximum(transposed @ (filters @ spectrum), TINY)
    return spectrum.T


def phases_to_waveform(magnitude: np.ndarray, settings: MelSettings, iterations: int, seed: int) -> np.ndarray:
    """Finds phases under which overlapping frames agree, and overlaps them.

    Args:
        magnitude: float32 [frames, n_fft // 2 + 1].
        settings: hop_length, win_length and n_fft count.
        iterations: Rounds.
        seed: Of the first phases.

    Returns:
        float32 [(frames - 1) * hop_length].
    """
    transform = _Transform(len(magnitude), settings)
    magnitude = np.ascontiguousarray(magnitude, np.float32)
    turns = np.random.default_rng(seed).random(magnitude.shape, np.float32)
    spectra = magnitude * np.exp(np.complex64(2j * np.pi) * turns)
    previous = np.zeros_like(spectra)
    blocks = [slice(first, first + FRAMES_AT_ONCE) for first in range(0, len(magnitude), FRAMES_AT_ONCE)]
    frames = np.empty((len(magnitude), settings.win_length), np.float32)

    def to_frames(block: slice) -> None:
        frames[block] = transform.inverse(spectra[block])

    def to_spectra(block: slice) -> None:
        rebuilt = transform.forward(waveform, block)
        spectra[block] = _with_magnitude((1 + MOMENTUM) * rebuilt - MOMENTUM * previous[block], magnitude[block])
        previous[block] = rebuilt

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for _ in range(iterations):
            list(threads.map(to_frames, blocks))
            waveform = transform.with_padding(transform.overlap(frames))
            list(threads.map(to_spectra, blocks))
        list(threads.map(to_frames, blocks))
    return transform.without_padding(transform.overlap(frames))


def _with_magnitude(spectra: np.ndarray, magnitude: np.ndarray) -> np.ndarray:
    spectra *= magnitude / np.maximum(np.abs(spectra), TINY)
    return spectra


class _Transform:
    """Frames of a window's length <-> spectra of n_fft, and their overlap.

    A frame begins with its window: where in n_fft the window stands changes phases only, and these are unknown anyway.
    """

    def __init__(self, frames: int, settings: MelSettings):
        self._hop, self._n_fft = settings.hop_length, settings.n_fft
        self._half, self._padding = settings.win_length // 2, settings.padding if frames > 1 else "constant"
        self._window = centred_hann(settings.win_length, settings.win_length).astype(np.float32)
        self._parts = -(-settings.win_length // self._hop)
        self._samples = (frames - 1) * self._hop + settings.win_length
        norm = self._sum(np.broadcast_to(np.square(self._window), (frames, settings.win_length)))
        self._norm = np.maximum(norm, np.float32(1e-3) * norm.max())

    def forward(self, waveform: np.ndarray, block: slice) -> np.ndarray:
        """Spectra of the frames of a block: complex64 [frames, n_fft // 2 + 1]."""
        frames = np.lib.stride_tricks.sliding_window_view(waveform, len(self._window))[:: self._hop][block]
        return scipy.fft.rfft(frames * self._window, self._n_fft, axis=1)

    def inverse(self, spectra: np.ndarray) -> np.ndarray:
        """Windowed frames float32 [frames, win_length] of spectra."""
        return scipy.fft.irfft(spectra, self._n_fft, axis=1)[:, : len(self._window)] * self._window

    def overlap(self, frames: np.ndarray) -> np.ndarray:
        """The waveform float32 [samples] whose frames are nearest to these."""
        return self._sum(frames) / self._norm

    def with_padding(self, waveform: np.ndarray) -> np.ndarray:
        """Renews both ends by the padding that the analysis had, which keeps the edge frames true to it."""
        inner = self.without_padding(waveform)
        return np.pad(inner, (self._half, len(waveform) - self._half - len(inner)), mode=self._padding)

    def without_padding(self, waveform: np.ndarray) -> np.ndarray:
        return waveform[self._half : len(waveform) - len(self._window) + self._half]

    def _sum(self, frames: np.ndarray) -> np.ndarray:
        rows = np.zeros((len(frames) + self._parts - 1, self._hop), np.float32)
        for part in range(self._parts):
            slice_of_each = frames[:, part * self._hop : (part + 1) * self._hop]
            rows[part : part + len(frames), : slice_of_each.shape[1]] += slice_of_each
        return rows.reshape(-1)[: self._samples]
