"""Log-mel frames as the model sees them: each band with mean 0 and deviation 1 over the training split."""

from typing import NamedTuple

import numpy as np

SMALLEST_DEVIATION = 1e-3


class Scale(NamedTuple):
    """Statistics of each band, float32 [n_mels]."""

    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def from_statistics(cls, mean: list[float], deviation: list[float]) -> "Scale":
        """A band that never changes keeps its mean, and is not blown up."""
        return cls(np.array(mean, np.float32), np.maximum(np.array(deviation, np.float32), SMALLEST_DEVIATION))

    def normalise(self, frames: np.ndarray) -> np.ndarray:
        """Natural-log mel [..., n_mels] -> what the model sees."""
        return (frames - self.mean) / self.deviation

    def restore(self, frames: np.ndarray) -> np.ndarray:
        """What the model says -> natural-log mel."""
        return frames * self.deviation + self.mean
