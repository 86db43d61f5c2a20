"""A Tacotron small enough to test, utterances of many lengths, and a vocabulary of letters."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from models.tacotron.variables import Variables
from pipeline.audio.mel import MelSettings
from pipeline.params import check_params
from pipeline.sections.train_tacotron import TrainTacotron
from pipeline.shards import FORMAT, MANIFEST, MelSplit, open_mels, write_mels
from pipeline.tacotron.frames import Scale
from pipeline.tacotron.learner import TacotronLearner, objective_of
from pipeline.tacotron.trained import About, Trained, build, ready, settings_from
from pipeline.text import TextSettings, Vocabulary

ROOT = Path(__file__).resolve().parents[3]
N_MELS, LONGEST_TEXT = 6, 20
AUDIO = MelSettings(8000, 256, 64, 256, N_MELS, 60.0, 3600.0, "reflect", 1e-4)
VOCABULARY = Vocabulary(
    ("<pad>", "<end>", *" .!?abcdefghijklmnopqrstuvwxyz"),
    TextSettings("en", "basic", "lower", "characters", "keep"),
    "skip",
)
SCALE = Scale(np.linspace(-3, -1, N_MELS, dtype=np.float32), np.linspace(0.5, 2, N_MELS, dtype=np.float32))
TINY = {
    "reduction_factor": 2,
    "embedding_units": 6,
    "encoder_layers": 1,
    "encoder_units": 6,
    "attention_units": 4,
    "location_filters": 2,
    "location_width": 3,
    "prenet_units": 4,
    "attention_lstm_units": 6,
    "decoder_lstm_units": 6,
    "postnet_layers": 2,
    "postnet_units": 4,
    "stop_frames": 4,
    "batch_size": 3,
    "bucket_count": 3,
    "weight_decay": 0.01,
}


def tiny_params(**changes: object) -> TrainTacotron:
    """The training's parameters for a tiny model."""
    return check_params(ROOT).train_tacotron.model_copy(update=TINY | changes)


def write_split(folder: Path, count: int, seed: int, lengths: Sequence[int] = range(5, 41)) -> MelSplit:
    """Utterances of such numbers of frames and of 2 to 20 symbols."""
    draw = np.random.default_rng(seed)
    folder.mkdir()
    with write_mels(folder, N_MELS) as writer:
        for number in range(count):
            frames = draw.normal(-2, 1, (draw.choice(lengths), N_MELS)).astype(np.float32)
            symbols = draw.integers(2, VOCABULARY.size, draw.integers(2, LONGEST_TEXT + 1)).astype(np.int32)
            writer.add(f"utterance-{number}", "train", {"frames": frames, "symbols": symbols}, ("text",))
    (folder / MANIFEST).write_text(json.dumps({"content": "mels", "format": FORMAT}), encoding="utf-8")
    return open_mels(folder).split("train")


def make_learner(train: MelSplit, validation: MelSplit, params: TrainTacotron, seed: int = 0) -> TacotronLearner:
    """A learner with weights drawn from the seed."""
    model, variables = build(settings_from(params, VOCABULARY.size, N_MELS), seed)
    return TacotronLearner(model, variables, train, validation, SCALE, params, seed)


def make_trained() -> tuple[Trained, Variables]:
    """A model that has learned nothing."""
    params = tiny_params()
    settings = settings_from(params, VOCABULARY.size, N_MELS)
    model, variables = build(settings, 0)
    about = About(settings, AUDIO, SCALE, objective_of(params), LONGEST_TEXT, 40)
    return ready(model, about, VOCABULARY), variables


@pytest.fixture(scope="package")
def train(tmp_path_factory) -> MelSplit:
    return write_split(tmp_path_factory.mktemp("mels") / "train", 40, 0)


@pytest.fixture(scope="package")
def validation(tmp_path_factory) -> MelSplit:
    return write_split(tmp_path_factory.mktemp("mels") / "validation", 7, 1)


@pytest.fixture(scope="package")
def learner(train, validation) -> Callable[..., TacotronLearner]:
    """Makes a learner; arguments change parameters."""
    return lambda **changes: make_learner(train, validation, tiny_params(**changes))
