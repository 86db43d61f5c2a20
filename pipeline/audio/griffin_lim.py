"""A waveform whose log-mel is as given: magnitudes by non-negative least squares, phases by fast Griffin-Lim.

Griffin and Lim 1984; Perraudin, Balazs and Sondergaard 2013 for the momentum.
"""

import numpy as np
import scipy.fft
from scipy.sparse import csr_array

from pipeline.audio.mel import MelSettings, centred_hann

MOMENTUM = 0.99
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
    phases = np.exp(np.complex64(2j * np.pi) * turns)
    previous = np.zeros_like(phases)
    for _ in range(iterations):
        rebuilt = transform.forward(transform.with_padding(transform.inverse(magnitude * phases)))
        phases = rebuilt + np.float32(MOMENTUM) * (rebuilt - previous)
        phases /= np.maximum(np.abs(phases), TINY)
        previous = rebuilt
    return transform.without_padding(transform.inverse(magnitude * phases))


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
        norm = self._overlap(np.broadcast_to(np.square(self._window), (frames, settings.win_length)))
        self._norm = np.maximum(norm, np.float32(1e-3) * norm.max())

    def forward(self, waveform: np.ndarray) -> np.ndarray:
        frames = np.lib.stride_tricks.sliding_window_view(waveform, len(self._window))[:: self._hop]
        return scipy.fft.rfft(frames * self._window, self._n_fft, axis=1)

    def inverse(self, spectra: np.ndarray) -> np.ndarray:
        frames = scipy.fft.irfft(spectra, self._n_fft, axis=1)[:, : len(self._window)]
        return self._overlap(frames * self._window) / self._norm

    def with_padding(self, waveform: np.ndarray) -> np.ndarray:
        """Renews both ends by the padding that the analysis had, which keeps the edge frames true to it."""
        inner = self.without_padding(waveform)
        return np.pad(inner, (self._half, len(waveform) - self._half - len(inner)), mode=self._padding)

    def without_padding(self, waveform: np.ndarray) -> np.ndarray:
        return waveform[self._half : len(waveform) - len(self._window) + self._half]

    def _overlap(self, frames: np.ndarray) -> np.ndarray:
        padded = np.pad(frames, ((0, 0), (0, self._parts * self._hop - frames.shape[1])))
        rows = np.zeros((len(frames) + self._parts - 1, self._hop), np.float32)
        for part in range(self._parts):
            rows[part : part + len(frames)] += padded[:, part * self._hop : (part + 1) * self._hop]
        return rows.reshape(-1)[: self._samples]
