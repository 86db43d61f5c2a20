"""A trained Wayback on disk: weights, what it was built from, what its symbols mean."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from models.wayback.sequence import SequenceModel, Settings
from pipeline.audio.quantisation import decode
from pipeline.audio.sequences import CodeSettings
from pipeline.errors import InputError
from pipeline.outputs import write_json
from pipeline.sections.train_wayback import TrainWayback
from pipeline.shards import CodeSequences
from pipeline.training.weights import read_weights, write_weights

WEIGHTS, PARAMS, CODEC = "weights.safetensors", "params.json", "codec.json"


class Codec(NamedTuple):
    """What the symbols mean.

    Attributes:
        codes: How a recording or file becomes symbols.
        categories: Number of symbols.
        first_symbol: What sequences of the training split begin with most often; unprimed samples begin so.
    """

    codes: CodeSettings
    categories: int
    first_symbol: int

    def waveform(self, symbols: np.ndarray) -> np.ndarray:
        """The sound of symbols, float32 [samples]."""
        return decode(symbols, self.codes.encoding, self.codes.bit_depth)

    def require_same(self, codes: CodeSequences, source: str) -> None:
        """
        Raises:
            InputError: The sequences mean something else.
        """
        other = CodeSettings(**codes.manifest["parameters"]["codes"])
        differing = [
            f"{name} {theirs!r} instead of {ours!r}"
            for name, ours, theirs in zip(other._fields, self.codes, other, strict=True)
            if ours != theirs
        ]
        if differing:
            raise InputError(
                f"{source} was made with other parameters than what the model learned from: {', '.join(differing)}; "
                "dvc repro trains anew"
            )


class Trained(NamedTuple):
    """A model ready to predict."""

    model: SequenceModel
    codec: Codec


def settings_from(params: TrainWayback, categories: int) -> Settings:
    """The model's settings out of the training's parameters."""
    given = {name: getattr(params, name) for name in Settings._fields if name not in ("data_dim", "context_size")}
    return Settings(data_dim=categories, **given)


def codec_of(codes: CodeSequences) -> Codec:
    """The meaning of the symbols of these sequences."""
    first = np.bincount([sequence[0] for sequence in codes.split("train")])
    settings = CodeSettings(**codes.manifest["parameters"]["codes"])
    return Codec(settings, codes.manifest["categories"], int(first.argmax()))


def build(settings: Settings, seed: int) -> SequenceModel:
    """A new model with weights drawn from the seed."""
    return SequenceModel(settings, np.random.default_rng(seed))


def write_trained(folder: Path, model: SequenceModel, codec: Codec) -> None:
    """Writes the model; the same values give the same bytes."""
    write_weights(folder / WEIGHTS, model.variables)
    write_json(folder / PARAMS, model.settings._asdict())
    write_json(
        folder / CODEC,
        {"codes": codec.codes._asdict(), "categories": codec.categories, "first_symbol": codec.first_symbol},
    )


def read_trained(folder: Path) -> Trained:
    """Builds the model again and fills it with its weights.

    Raises:
        InputError: A file is missing, or the weights are those of another model.
    """
    for name in (WEIGHTS, PARAMS, CODEC):
        if not (folder / name).exists():
            raise InputError(f"{folder / name} is missing: stage train_wayback makes it (dvc repro train_wayback)")
    model = build(Settings(**_read(folder / PARAMS)), 0)
    read_weights(folder / WEIGHTS, model.variables)
    codec = _read(folder / CODEC)
    return Trained(model, Codec(CodeSettings(**codec["codes"]), codec["categories"], codec["first_symbol"]))


def _read(path: Path) -> Mapping[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
