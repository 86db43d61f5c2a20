"""Samples as files: sounds with their pictures, or bytes as they are."""

from pathlib import Path
from typing import Any

import numpy as np

from pipeline.audio.files import write_wav
from pipeline.pictures import draw_waveform_and_spectrogram
from pipeline.wayback.trained import Codec


def write_sample(folder: Path, name: str, title: str, symbols: np.ndarray, codec: Codec) -> dict[str, Any]:
    """Writes a sample and its picture, and gives the entry of samples.json that names them."""
    if codec.codes.kind == "bytes":
        file = f"{name}.bin" if 0 in symbols else f"{name}.txt"
        (folder / file).write_bytes(symbols.astype(np.uint8).tobytes())
        return {"writing": file}
    waveform, rate = codec.waveform(symbols), codec.codes.sample_rate
    write_wav(folder / f"{name}.wav", waveform, rate)
    draw_waveform_and_spectrogram(folder / f"{name}.png", waveform, rate, title)
    return {
        "seconds": round(len(waveform) / rate, 3),
        "sound": f"{name}.wav",
        "waveform_and_spectrogram": f"{name}.png",
    }
