"""A trained Tacotron says a text."""

import re
import sys
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from pipeline.errors import InputError
from pipeline.tacotron.trained import Trained
from pipeline.text import normalise

SYMBOLS_PER_SHAPE = 32
SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+")


class Manner(NamedTuple):
    """How to speak.

    Attributes:
        prenet_dropout: Probability.
        stop_threshold: Speech ends after the first step whose stop probability exceeds it.
        max_seconds: The cap (s).
        long_text: "whole" or "split": what happens to a text longer than any in training.
        seed: Of the pre-net's dropout.
    """

    prenet_dropout: float
    stop_threshold: float
    max_seconds: float
    long_text: str
    seed: int


class Said(NamedTuple):
    """What came of a text, or of a sentence of it.

    Attributes:
        text: As given.
        normalised: As it was read.
        symbols: What stands at each position of the alignment.
        frames: Natural-log mel [frames, n_mels].
        alignment: [steps, symbols].
        stopped: Whether it ended by itself; else it hit the cap.
    """

    text: str
    normalised: str
    symbols: list[str]
    frames: np.ndarray
    alignment: np.ndarray
    stopped: bool


def say(trained: Trained, text: str, manner: Manner) -> list[Said]:
    """Says a text, in one piece or, where it is long and the manner is to split, sentence by sentence.

    A text longer than any in training, and symbols that the vocabulary lacks, are named on stderr.

    Raises:
        InputError: Nothing of the text can be said.
    """
    unknown = trained.vocabulary.unknown_symbols(text)
    if unknown and trained.vocabulary.unknown != "fail":
        listed = ", ".join(f"{symbol!r} (U+{ord(symbol[0]):04X}) {count}x" for symbol, count in sorted(unknown.items()))
        print(f"warning: {text!r} holds symbols outside the vocabulary: {listed}", file=sys.stderr)
    longest = trained.about.longest_symbols
    count = len(trained.vocabulary.encode(text))
    if count == 1:
        raise InputError(f"{text!r} holds nothing that can be said: it must hold letters or numbers")
    if count <= longest:
        return [_say_piece(trained, text, manner)]
    pieces = SENTENCE_END.split(text.strip()) if manner.long_text == "split" else [text]
    print(
        f"warning: a text of {count} symbols is longer than any in training ({longest}); "
        f"it is said in {len(pieces)} piece{'s' if len(pieces) > 1 else ''}: {text!r}",
        file=sys.stderr,
    )
    return [_say_piece(trained, piece, manner) for piece in pieces]


def max_steps(trained: Trained, max_seconds: float) -> int:
    """The cap in decoder steps."""
    audio = trained.about.audio
    frames = max_seconds * audio.sample_rate / audio.hop_length
    return max(1, int(frames / trained.about.settings.reduction_factor))


def _say_piece(trained: Trained, text: str, manner: Manner) -> Said:
    symbol_ids = trained.vocabulary.encode(text)
    count = len(symbol_ids)
    padded = np.zeros((1, -(-count // SYMBOLS_PER_SHAPE) * SYMBOLS_PER_SHAPE), np.int32)
    padded[0, :count] = symbol_ids
    speech = trained.speak(
        tf.constant(padded),
        tf.constant([count], tf.int32),
        max_steps(trained, manner.max_seconds),
        manner.stop_threshold,
        manner.prenet_dropout,
        tf.constant([manner.seed, 0], tf.int64),
    )
    frames = int(speech.frame_counts[0])
    steps = frames // trained.about.settings.reduction_factor
    return Said(
        text=text,
        normalised=normalise(text, trained.vocabulary.settings),
        symbols=trained.vocabulary.decode(symbol_ids),
        frames=trained.about.scale.restore(speech.outputs.refined[0, :frames].numpy()),
        alignment=speech.outputs.alignments[0, :steps, :count].numpy(),
        stopped=bool(speech.stopped[0]),
    )
