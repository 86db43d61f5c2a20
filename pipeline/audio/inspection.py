"""A verdict on one recording, from one pass over it in bounded memory."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.audio.files import RecordingError, open_sound

BLOCK = 2**18
FULL_SCALE = 0.999
LOUDEST_FLOAT = 4.0


class Limits(NamedTuple):
    """What a recording must satisfy; the names are those of section `prepare`."""

    min_seconds: float
    max_seconds: float | None
    min_sample_rate: int
    min_peak_db: float
    max_clipped_fraction: float
    max_cancellation_db: float


class Inspection(NamedTuple):
    """What is known of a recording.

    Attributes:
        reason: Why it cannot be used; empty for a good one.
        seconds: Duration, 0 when unreadable.
        sample_rate: Hz, 0 when unreadable.
        channels: Their number.
        encoding: Container and sample format, as libsndfile names them.
        peak_db: dB re full scale, after the mean is taken off.
        rms_db: dB re full scale of the mono mix, after the mean is taken off.
        clipped_fraction: Share of samples at full scale.
        digest: Of the decoded samples: equal for equal sound.
    """

    reason: str
    seconds: float = 0.0
    sample_rate: int = 0
    channels: int = 0
    encoding: str = ""
    peak_db: float = -np.inf
    rms_db: float = -np.inf
    clipped_fraction: float = 0.0
    digest: str = ""


def inspect_recording(path: Path, limits: Limits) -> Inspection:
    """Reads the whole recording in blocks and says whether it can be used. Never raises for what the file holds."""
    try:
        with open_sound(path) as sound:
            rate, seconds = sound.samplerate, sound.frames / sound.samplerate
            known = Inspection("", seconds, rate, sound.channels, f"{sound.format} {sound.subtype}")
            reason = _reject_by_header(seconds, rate, limits)
            if reason:
                return known._replace(reason=reason)
            measured = _Measure(sound.channels)
            for block in sound.blocks(BLOCK, dtype="float32", always_2d=True):
                measured.add(block)
            expected = sound.frames
    except RecordingError as error:
        return Inspection(str(error))
    except (OSError, RuntimeError) as error:
        return Inspection(f"unreadable: {error}")
    known = known._replace(
        reason=_reject_by_samples(measured, expected, rate, limits),
        seconds=measured.count / rate,
        digest=measured.digest.hexdigest(),
    )
    if not measured.finite:
        return known
    return known._replace(
        peak_db=_db(measured.peak),
        rms_db=_db(np.sqrt(measured.mix_power)),
        clipped_fraction=measured.clipped / max(measured.count, 1),
    )


def _reject_by_header(seconds: float, rate: int, limits: Limits) -> str:
    if rate < limits.min_sample_rate:
        return f"sample rate: {rate} Hz are below prepare.min_sample_rate {limits.min_sample_rate}"
    if limits.max_seconds is not None and seconds > limits.max_seconds:
        return f"too long: {seconds:.2f} s exceed prepare.max_seconds {limits.max_seconds:g}"
    return ""


def _reject_by_samples(measured: "_Measure", expected: int, rate: int, limits: Limits) -> str:
    seconds = measured.count / rate
    if measured.count < expected:
        return f"truncated: the header promises {expected} samples, and {measured.count} can be read"
    if not measured.finite:
        return "not finite: samples are NaN or infinite"
    if seconds < limits.min_seconds:
        return f"too short: {seconds:.3f} s are below prepare.min_seconds {limits.min_seconds:g}"
    if measured.largest > LOUDEST_FLOAT:
        return f"level: float samples reach {measured.largest:.3g}, where full scale is 1; divide them by theirs"
    if measured.peak == 0.0:
        return "silent: all samples have one value"
    if _db(measured.peak) < limits.min_peak_db:
        return f"silent: the peak of {_db(measured.peak):.1f} dB is below prepare.min_peak_db {limits.min_peak_db:g}"
    clipped = measured.clipped / measured.count
    if clipped > limits.max_clipped_fraction:
        return f"clipped: {clipped:.1%} of the samples stand at full scale (prepare.max_clipped_fraction)"
    if measured.cancellation_db > limits.max_cancellation_db:
        return "cancelling: its channels are opposite (prepare.max_cancellation_db); keep one channel"
    return ""


@dataclass
class _Measure:
    """Running sums over the blocks of one recording."""

    channels: int
    count: int = 0
    clipped: int = 0
    finite: bool = True
    low: float = np.inf
    high: float = -np.inf
    digest: "hashlib._Hash" = field(default_factory=lambda: hashlib.md5(usedforsecurity=False))

    def __post_init__(self) -> None:
        self._sum = np.zeros(self.channels)
        self._squares = np.zeros(self.channels)
        self._mix_squares = 0.0

    def add(self, block: np.ndarray) -> None:
        """Takes float32 [samples, channels] in."""
        self.count += len(block)
        self.digest.update(np.ascontiguousarray(block))
        if not self.finite or not np.isfinite(block).all():
            self.finite = False
            return
        exact = block.astype(np.float64)
        mix = exact.mean(axis=1)
        self._sum += exact.sum(axis=0)
        self._squares += np.square(exact).sum(axis=0)
        self._mix_squares += float(np.square(mix).sum())
        self.clipped += int((np.abs(block).max(axis=1) >= FULL_SCALE).sum())
        self.low, self.high = min(self.low, float(block.min())), max(self.high, float(block.max()))

    @property
    def largest(self) -> float:
        return max(abs(self.low), abs(self.high))

    @property
    def peak(self) -> float:
        """Largest distance from the mean."""
        mean = float(self._sum.mean() / self.count)
        return 0.0 if self.low == self.high else max(self.high - mean, mean - self.low)

    @property
    def mix_power(self) -> float:
        mean = self._sum.mean() / self.count
        return max(float(self._mix_squares / self.count - mean**2), 0.0)

    @property
    def cancellation_db(self) -> float:
        """By how much the mono mix is weaker than its channels; uncorrelated stereo loses 3 dB."""
        power = float((self._squares / self.count - np.square(self._sum / self.count)).mean())
        if self.channels == 1 or power <= 0.0:
            return 0.0
        return 10 * np.log10(power / max(self.mix_power, power * 1e-12))


def _db(amplitude: float) -> float:
    return float(20 * np.log10(max(amplitude, 1e-12)))
