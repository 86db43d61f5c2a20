"""What was said -> a sound."""

from collections.abc import Sequence

import numpy as np

from pipeline.audio.griffin_lim import griffin_lim
from pipeline.audio.mel import MelSettings
from pipeline.tacotron.speaking import Said

PAUSE_SECONDS = 0.3


def sound_of(pieces: Sequence[Said], audio: MelSettings, iterations: int, power: float, seed: int) -> np.ndarray:
    """The waveform of all pieces, with a pause between them; float32 [samples]."""
    pause = np.zeros(int(PAUSE_SECONDS * audio.sample_rate), np.float32)
    waveforms = []
    for piece in pieces:
        waveforms += [griffin_lim(piece.frames, audio, iterations, power, seed), pause]
    return np.concatenate(waveforms[:-1])
