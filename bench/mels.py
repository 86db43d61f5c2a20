"""Log-mel frames of the bundled corpus: ours beside librosa's, one file after another on one core, interleaved; then
from files to frames by more and more processes.

Run as `python -m bench.mels`; only the ratios carry over to another machine.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import librosa
import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.audio.files import read_audio
from pipeline.audio.frames import Clip, to_frames
from pipeline.audio.mel import MelSettings, log_mel
from pipeline.audio.parallel import map_in_order

RECORDINGS = Path("data/corpora/allison/wavs")
SETTINGS = {
    "16 kHz, 1024/200/800": MelSettings(16000, 1024, 200, 800, 80, 60.0, 7600.0, "reflect", 1e-4),
    "22.05 kHz, 1024/256/1024": MelSettings(22050, 1024, 256, 1024, 80, 0.0, 8000.0, "reflect", 1e-5),
}
FILES = 150
ROUNDS = 11
CLIP = Clip(trim_db=35.0, trim_margin=0.02, peak_level=None, max_seconds=8.0)
PASSES = 4


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


def files_a_second(workers: int) -> float:
    """Reading, trimming and frames of the whole corpus, some times over, by processes that are there already."""
    settings = SETTINGS["16 kHz, 1024/200/800"]
    work = partial(to_frames, settings=settings, filters=settings.filters(), clip=CLIP)
    paths = sorted(RECORDINGS.glob("*.flac"))
    list(map_in_order(work, paths[: 64 * workers], workers, "warming up", "files"))
    begin = time.perf_counter()
    for _ in map_in_order(work, paths * PASSES, workers, "frames", "files"):
        pass
    return PASSES * len(paths) / (time.perf_counter() - begin)


def compare_scaling() -> None:
    """Prints files a second for 1, 2, ... processes, as many as there are cores."""
    alone = files_a_second(1)
    print(f"from files to frames, 1 process: {alone:.0f} files/s")
    for workers in range(2, len(os.sched_getaffinity(0)) + 1):
        rate = files_a_second(workers)
        print(f"from files to frames, {workers} processes: {rate:.0f} files/s, {rate / alone:.2f} times as fast")


def compare_with_librosa() -> None:
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
        compare_with_librosa()
        compare_scaling()
