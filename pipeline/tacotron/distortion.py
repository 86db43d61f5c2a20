"""Mel cepstral distortion: how far one sound's timbre is from another's, whatever their timing."""

import numpy as np
import scipy.fft

COEFFICIENTS = 13
DECIBELS = 10.0 / np.log(10.0)


def mel_cepstral_distortion(frames: np.ndarray, reference: np.ndarray) -> float:
    """Mean distance in dB of mel cepstra 1 to 13 along the best dynamic time warping (Kubichek 1993).

    10 / ln 10 * sqrt(2 * sum over n of (c[n] - c'[n])^2); coefficient 0, the level, is left out.

    Args:
        frames, reference: Natural-log mel magnitudes [frames, n_mels], each of its own length.
    """
    cost = DECIBELS * np.sqrt(2.0) * _distances(mel_cepstra(frames), mel_cepstra(reference))
    path = warping_path(cost)
    return float(cost[path[:, 0], path[:, 1]].mean())


def mel_cepstra(frames: np.ndarray) -> np.ndarray:
    """c[1..13] of ln magnitude = c[0] + sum over n of c[n] cos(n w), with w along the mel axis [frames, coefficients]."""
    bands = frames.shape[1]
    return scipy.fft.dct(frames.astype(np.float64), axis=1, norm="ortho")[:, 1 : COEFFICIENTS + 1] * np.sqrt(
        2.0 / bands
    )


def warping_path(cost: np.ndarray) -> np.ndarray:
    """The cheapest path from one corner to the other, each step one ahead in either or both [length, 2]."""
    rows, columns = cost.shape
    total = np.full((rows + 1, columns + 1), np.inf)
    total[0, 0] = 0.0
    for diagonal in range(rows + columns - 1):
        i = np.arange(max(0, diagonal - columns + 1), min(rows, diagonal + 1))
        j = diagonal - i
        before = np.minimum(np.minimum(total[i, j], total[i, j + 1]), total[i + 1, j])
        total[i + 1, j + 1] = cost[i, j] + before
    i, j = rows, columns
    path = []
    while i > 0 and j > 0:
        path.append((i - 1, j - 1))
        i, j = min(((i - 1, j - 1), (i - 1, j), (i, j - 1)), key=lambda place: total[place])
    return np.array(path[::-1])


def _distances(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    squared = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1) - 2.0 * left @ right.T
    return np.sqrt(np.maximum(squared, 0.0))
