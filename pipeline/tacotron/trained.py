"""A trained Tacotron on disk: weights, what it was built from, its vocabulary, its history."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from models.tacotron.loss import Objective
from models.tacotron.settings import Settings
from models.tacotron.tacotron import Outputs, Speech, Tacotron
from models.tacotron.variables import Variables
from pipeline.audio.mel import MelSettings
from pipeline.errors import InputError
from pipeline.outputs import write_json
from pipeline.sections.train_tacotron import TrainTacotron
from pipeline.tacotron.frames import Scale
from pipeline.text import Vocabulary
from pipeline.text.vocabulary import FILE as VOCABULARY_FILE
from pipeline.training.weights import read_weights, write_weights

WEIGHTS, PARAMS = "weights.safetensors", "params.json"


class About(NamedTuple):
    """What a model was built from, besides its weights.

    Attributes:
        settings: Sizes and rates.
        audio: What a frame is.
        scale: What normalises a frame.
        objective: What training minimised.
        longest_symbols: Symbols of the longest text in training.
        longest_frames: Frames of the longest recording in training.
    """

    settings: Settings
    audio: MelSettings
    scale: Scale
    objective: Objective
    longest_symbols: int
    longest_frames: int


class Trained(NamedTuple):
    """A model ready to speak.

    Attributes:
        follow, speak: Those of `models.tacotron.tacotron.Tacotron`, each traced once for texts and frames of all lengths.
        about: What it was built from.
        vocabulary: What it reads.
    """

    follow: Callable[..., Outputs]
    speak: Callable[..., Speech]
    about: About
    vocabulary: Vocabulary


def settings_from(params: TrainTacotron, symbol_count: int, n_mels: int) -> Settings:
    """The model's sizes and rates out of the training's parameters."""
    given = {name: getattr(params, name) for name in Settings._fields if name not in ("symbol_count", "n_mels")}
    return Settings(symbol_count=symbol_count, n_mels=n_mels, **given)


def build(settings: Settings, seed: int) -> tuple[Tacotron, Variables]:
    """A new model with weights drawn from the seed."""
    variables = Variables(np.random.default_rng(seed))
    return Tacotron(settings, variables), variables


def write_trained(folder: Path, variables: Variables, about: About, vocabulary: Path) -> None:
    """Writes the model; the same values give the same bytes."""
    write_weights(folder / WEIGHTS, variables.trained | variables.statistics)
    write_json(
        folder / PARAMS,
        {
            "settings": about.settings._asdict(),
            "audio": about.audio._asdict(),
            "mean": [float(value) for value in about.scale.mean],
            "deviation": [float(value) for value in about.scale.deviation],
            "objective": about.objective._asdict(),
            "longest_symbols": about.longest_symbols,
            "longest_frames": about.longest_frames,
        },
    )
    shutil.copyfile(vocabulary, folder / VOCABULARY_FILE)


def read_trained(folder: Path) -> Trained:
    """Builds the model again and fills it with its weights.

    Raises:
        InputError: A file is missing, or the weights are those of another model.
    """
    for name in (WEIGHTS, PARAMS, VOCABULARY_FILE):
        if not (folder / name).exists():
            raise InputError(f"{folder / name} is missing: stage train_tacotron makes it (dvc repro train_tacotron)")
    about = _about(json.loads((folder / PARAMS).read_text(encoding="utf-8")))
    model, variables = build(about.settings, 0)
    read_weights(folder / WEIGHTS, variables.trained | variables.statistics)
    return ready(model, about, Vocabulary.load(folder / VOCABULARY_FILE))


def ready(model: Tacotron, about: About, vocabulary: Vocabulary) -> Trained:
    """Compiles what a model can do."""
    ids, counts = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32)
    frames = tf.TensorSpec([None, None, about.settings.n_mels], tf.float32)
    steps, chance, seed = tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.float32), tf.TensorSpec([2], tf.int64)
    return Trained(
        tf.function(model.follow, input_signature=[ids, counts, frames, counts, chance, seed], autograph=False),
        tf.function(model.speak, input_signature=[ids, counts, steps, chance, chance, seed], autograph=False),
        about,
        vocabulary,
    )


def _about(values: Mapping[str, Any]) -> About:
    return About(
        settings=Settings(**values["settings"]),
        audio=MelSettings(**values["audio"]),
        scale=Scale.from_statistics(values["mean"], values["deviation"]),
        objective=Objective(**values["objective"]),
        longest_symbols=values["longest_symbols"],
        longest_frames=values["longest_frames"],
    )
