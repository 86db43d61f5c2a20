"""Text -> sound, as everything that speaks does it: `make say`, and the model in the registry."""

from typing import NamedTuple, Protocol

import numpy as np

from pipeline.tacotron.sounds import sound_of
from pipeline.tacotron.speaking import Manner, say
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
    """A sound, float32 [samples], its rate (Hz), and whether it ended by itself or hit the cap."""

    sound: np.ndarray
    sample_rate: int
    stopped: bool


def speak(trained: Trained, text: str, speech: Speech, seed: int) -> Spoken:
    """Says a text."""
    manner = Manner(speech.prenet_dropout, speech.stop_threshold, speech.max_seconds, speech.long_text, seed)
    pieces = say(trained, text, manner)
    audio = trained.about.audio
    sound = sound_of(pieces, audio, speech.griffin_lim_iterations, speech.griffin_lim_power, seed)
    return Spoken(sound, audio.sample_rate, all(piece.stopped for piece in pieces))
