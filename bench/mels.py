"""Log-mel frames of the bundled corpus: ours beside librosa's, one file after another on one core, interleaved.

Run as `python -m bench.mels`; only the ratios carry over to another machine.
"""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import librosa
import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.audio.files import read_audio
from pipeline.audio.mel import MelSettings, log_mel

RECORDINGS = Path("data/corpora/allison/wavs")
SETTINGS = {
    "16 kHz, 1024/200/800": MelSettings(16000, 1024, 200, 800, 80, 60.0, 7600.0, "reflect", 1e-4),
    "22.05 kHz, 1024/256/1024": MelSettings(22050, 1024, 256, 1024, 80, 0.0, 8000.0, "reflect", 1e-5),
}
FILES = 150
ROUNDS = 5


def librosas(waveform: np.ndarray, settings: MelSettings) -> np.ndarray:
    """The same frames by librosa: float32 [frames, n_mels]."""
    mel = librosa.feature.melspectrogram(
        y=waveform,
        sr=settings.sample_rate,
        n_fft=settings.n_fft,
        hop_length=settings.hop_length,
        win_length=settings.win_length,
        n_mels=settings.n_mels,
        fmin=settings.fmin,
        fmax=settings.fmax,
        pad_mode=settings.padding,
        power=1.0,
    )
    return np.log(np.maximum(mel, settings.log_floor)).T


def seconds(
    work: Callable[[np.ndarray, MelSettings], np.ndarray], waveforms: list[np.ndarray], settings: MelSettings
) -> float:
    """Processor time of one pass, which other processes disturb least."""
    begin = time.process_time()
    for waveform in waveforms:
        work(waveform, settings)
    return time.process_time() - begin


def main() -> None:
    """Prints files a second and the ratio, for each setting, with one thread for matrix products."""
    paths = sorted(RECORDINGS.glob("*.flac"))[:FILES]
    for name, settings in SETTINGS.items():
        waveforms = [read_audio(path, settings.sample_rate) for path in paths]
        difference = max(np.abs(librosas(w, settings) - log_mel(w, settings)).max() for w in waveforms)
        rounds = [
            (seconds(librosas, waveforms, settings), seconds(log_mel, waveforms, settings)) for _ in range(ROUNDS)
        ]
        theirs, ours = (median(times) for times in zip(*rounds, strict=True))
        audio = sum(map(len, waveforms)) / settings.sample_rate
        print(
            f"{name}: librosa {len(paths) / theirs:.0f} files/s ({audio / theirs:.0f} times real time), "
            f"ours {len(paths) / ours:.0f} ({audio / ours:.0f}), "
            f"{theirs / ours:.2f} times as fast, largest difference of the logarithms {difference:.1e}"
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
