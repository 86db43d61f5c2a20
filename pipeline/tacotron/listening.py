"""What a recogniser hears of a test utterance, in the recording and in what the model makes of its text."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pipeline.audio.griffin_lim import griffin_lim
from pipeline.audio.mel import MelSettings
from pipeline.audio.recogniser import Recogniser
from pipeline.progress import progress
from pipeline.sections.evaluate_tacotron import EvaluateTacotron
from pipeline.shards import MelSplit
from pipeline.tacotron.evaluation import Evaluated
from pipeline.tacotron.intelligibility import count_errors, error_rates, has_words

HEARD = ("recording", "free")


class Listener:
    """Hears frames, by way of the same Griffin-Lim wherever they come from."""

    def __init__(self, recogniser: Recogniser, audio: MelSettings, section: EvaluateTacotron, seed: int):
        self._recogniser, self._audio, self._section, self._seed = recogniser, audio, section, seed

    def hear(self, frames: np.ndarray) -> str:
        """The words in natural-log mel frames [frames, n_mels]."""
        section = self._section
        iterations, power = section.griffin_lim_iterations, section.griffin_lim_power
        return self._recogniser(griffin_lim(frames, self._audio, iterations, power, self._seed))


def listen(
    utterances: Sequence[Evaluated], split: MelSplit, listener: Listener, language: str
) -> Iterator[dict[str, Any]]:
    """For each utterance the words heard in the recording and in free running, and the errors in them, by column."""
    for utterance in progress(utterances, "listening", len(utterances), "utterances"):
        source = split[utterance.place]
        row: dict[str, Any] = {}
        if has_words(source.text, language):
            for name, frames in zip(HEARD, (source.frames, utterance.free.frames), strict=True):
                heard = listener.hear(frames)
                errors = count_errors(source.text, heard, language)
                row |= {"words": errors.words, "characters": errors.characters, f"{name}_heard": heard}
                row |= {f"{name}_word_errors": errors.word_errors, f"{name}_character_errors": errors.character_errors}
        yield row


def heard_summary(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Word and character error rates of the real recordings, and of free running, over all rows that have words."""
    rated = [row for row in rows if row]
    if not rated:
        return {}
    return {f"test_{name}": rate for heard in HEARD for name, rate in error_rates(rated, heard).items()}
