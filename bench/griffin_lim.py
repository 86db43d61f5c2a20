"""Griffin-Lim on a prompt of the bundled corpus: ours beside librosa's, from the same magnitudes, interleaved.

Run as `python -m bench.griffin_lim`; only the ratios carry over to another machine.
"""

import time
from pathlib import Path
from statistics import mean, median

import librosa
import numpy as np

from pipeline.audio.files import read_audio
from pipeline.audio.griffin_lim import phases_to_waveform
from pipeline.audio.mel import MelSettings

RECORDINGS = Path("data/corpora/allison/wavs")
SETTINGS = MelSettings(16000, 1024, 200, 800, 80, 60.0, 7600.0, "constant", 1e-4)
TRANSFORM = {"n_fft": 1024, "hop_length": 200, "win_length": 800}
FILES = 4
ITERATIONS = 60


def convergence(waveform: np.ndarray, magnitude: np.ndarray) -> float:
    """Relative distance between the magnitudes wanted and reached, both [frequencies, frames]."""
    reached = np.abs(librosa.stft(waveform, **TRANSFORM))
    frames = min(reached.shape[1], magnitude.shape[1])
    return float(np.linalg.norm(reached[:, :frames] - magnitude[:, :frames]) / np.linalg.norm(magnitude[:, :frames]))


def main() -> None:
    """Prints wall and processor seconds per second of audio, and spectral convergence, of both."""
    figures: dict[str, list[tuple[float, float, float]]] = {"librosa": [], "ours": []}
    for seed, path in enumerate(sorted(RECORDINGS.glob("agent*.flac"))[:FILES]):
        waveform = read_audio(path, SETTINGS.sample_rate)
        magnitude = np.abs(librosa.stft(waveform, **TRANSFORM))
        contenders = {
            "librosa": lambda m=magnitude, s=seed: librosa.griffinlim(
                m, n_iter=ITERATIONS, random_state=s, **TRANSFORM
            ),
            "ours": lambda m=magnitude, s=seed: phases_to_waveform(m.T, SETTINGS, ITERATIONS, s),
        }
        for name, work in contenders.items():
            wall, processor = time.perf_counter(), time.process_time()
            result = work()
            wall, processor = time.perf_counter() - wall, time.process_time() - processor
            duration = len(waveform) / SETTINGS.sample_rate
            figures[name].append((wall / duration, processor / duration, convergence(result, magnitude)))
    for name, rows in figures.items():
        wall, processor, distance = zip(*rows, strict=True)
        print(
            f"{name}: {median(wall):.4f} s a second of audio ({median(processor):.4f} s of processor time), "
            f"spectral convergence {mean(distance):.4f}"
        )


if __name__ == "__main__":
    main()
