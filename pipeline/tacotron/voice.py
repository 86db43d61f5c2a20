"""Text -> sound, as everything that speaks does it: stage synthesize_tacotron, `make say`, the model in the registry."""

from typing import NamedTuple, Protocol

import numpy as np

from pipeline.tacotron.sounds import sound_of
from pipeline.tacotron.speaking import Manner, Said, say
from pipeline.tacotron.trained import Trained


class Speech(Protocol):
    """How to speak and to make frames a sound: the keys of section synthesize_tacotron."""

    prenet_dropout: float
    stop_threshold: float
    max_seconds: float
    long_text: str
    griffin_lim_iterations: int
    griffin_lim_power: float


class Spoken(NamedTuple):
    """What was said in how many pieces, their sound, float32 [samples], and its rate (Hz)."""

    pieces: list[Said]
    sound: np.ndarray
    sample_rate: int

    @property
    def stopped(self) -> bool:
        """Whether every piece ended by itself; else one hit the cap."""
        return all(piece.stopped for piece in self.pieces)


def speak(trained: Trained, text: str, speech: Speech, seed: int) -> Spoken:
    """Says a text."""
    manner = Manner(speech.prenet_dropout, speech.stop_threshold, speech.max_seconds, speech.long_text, seed)
    pieces = say(trained, text, manner)
    audio = trained.about.audio
    sound = sound_of(pieces, audio, speech.griffin_lim_iterations, speech.griffin_lim_power, seed)
    return Spoken(pieces, sound, audio.sample_rate)
