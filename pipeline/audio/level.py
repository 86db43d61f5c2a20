"""Where speech begins and ends in a clip, and how loud it is, both relative to the clip's own peak."""

import numpy as np

WINDOW_SECONDS = 0.032
HOPS_PER_WINDOW = 4


def trim(waveform: np.ndarray, sample_rate: int, trim_db: float, margin: float) -> np.ndarray:
    """Cuts off the ends that are quieter than `trim_db` below the loudest 32 ms of the clip.

    Args:
        waveform: float32 [samples].
        sample_rate: Hz.
        trim_db: dB below the loudest window's power; the level of the whole clip does not matter.
        margin: Seconds kept on both sides of what is found.

    Returns:
        float32 [fewer samples], never empty: the loudest window is inside. A constant clip comes back whole.
    """
    loud, hop = _loud_windows(waveform, sample_rate, trim_db)
    if not len(loud):
        return waveform
    kept = round(margin * sample_rate)
    first, last = loud[0] * hop, (loud[-1] + HOPS_PER_WINDOW) * hop
    return waveform[max(first - kept, 0) : last + kept]


def quietest_cut(waveform: np.ndarray, sample_rate: int, earliest: int, latest: int) -> int:
    """The sample in [earliest, latest) whose surrounding 32 ms are quietest: where to cut a long recording."""
    power, hop = _window_power(waveform[earliest:latest], sample_rate)
    return earliest + int(np.argmin(power)) * hop + hop * HOPS_PER_WINDOW // 2 if len(power) else latest


def set_peak(waveform: np.ndarray, peak: float) -> np.ndarray:
    """Scales float32 [samples] so that its largest magnitude is `peak`; silence stays as it is."""
    largest = float(np.abs(waveform).max(initial=0.0))
    return waveform if largest == 0.0 else (waveform * np.float32(peak / largest)).astype(np.float32)


def remove_mean(waveform: np.ndarray) -> np.ndarray:
    """Takes the mean off float32 [samples]."""
    return (waveform - waveform.mean(dtype=np.float64)).astype(np.float32) if len(waveform) else waveform


def _loud_windows(waveform: np.ndarray, sample_rate: int, trim_db: float) -> tuple[np.ndarray, int]:
    power, hop = _window_power(remove_mean(waveform), sample_rate)
    loudest = power.max(initial=0.0)
    if loudest <= 0.0:
        return np.zeros(0, np.int64), hop
    return np.flatnonzero(power > loudest * 10 ** (-trim_db / 10)), hop


def _window_power(waveform: np.ndarray, sample_rate: int) -> tuple[np.ndarray, int]:
    """Energy of overlapping windows [windows], and the hop in samples; the last window may be partly empty."""
    hop = max(round(WINDOW_SECONDS * sample_rate / HOPS_PER_WINDOW), 1)
    blocks = -(-len(waveform) // hop)
    squares = np.zeros(blocks * hop)
    squares[: len(waveform)] = np.square(waveform, dtype=np.float64)
    energy = squares.reshape(blocks, hop).sum(axis=1)
    windows = max(blocks - HOPS_PER_WINDOW + 1, 1) if blocks else 0
    padded = np.concatenate([energy, np.zeros(HOPS_PER_WINDOW)])
    return sum(padded[shift : shift + windows] for shift in range(HOPS_PER_WINDOW)), hop
