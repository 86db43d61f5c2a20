"""Short sequences in shards, and a model small enough to train in a moment."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from models.wayback.sequence import SequenceModel
from pipeline.params import check_params
from pipeline.sections.train_wayback import TrainWayback
from pipeline.shards import FORMAT, MANIFEST, CodeSplit, open_codes, write_codes
from pipeline.wayback.trained import build as build_model
from pipeline.wayback.trained import settings_from

ROOT = Path(__file__).resolve().parents[3]
CATEGORIES = 6
TINY = {
    "cell": "gru",
    "layer_sizes": [5, 4],
    "io_sizes": [4],
    "periods": [1, 2],
    "boundaries": [4, 4],
    "unroll_layer_count": 1,
    "batch_size": 3,
    "max_validation_steps": 2,
}


@pytest.fixture(scope="session")
def tiny_params() -> Callable[..., TrainWayback]:
    """The training's parameters for a tiny model, with changes."""

    def tiny_params(**changes: object) -> TrainWayback:
        return check_params(ROOT).train_wayback.model_copy(update=TINY | changes)

    return tiny_params


@pytest.fixture(scope="session")
def tiny_model(tiny_params) -> Callable[..., SequenceModel]:
    return lambda **changes: build_model(settings_from(tiny_params(**changes), CATEGORIES), 5)


@pytest.fixture(scope="session")
def write_split(tmp_path_factory) -> Callable[[Sequence[int]], CodeSplit]:
    """Random sequences of such lengths, in shards."""

    def write_split(lengths: Sequence[int], seed: int = 0) -> CodeSplit:
        folder, draw = tmp_path_factory.mktemp("codes"), np.random.default_rng(seed)
        with write_codes(folder) as writer:
            for number, length in enumerate(lengths):
                symbols = draw.integers(0, CATEGORIES, length).astype(np.uint8)
                writer.add(f"sequence-{number}", "train", {"codes": symbols})
        (folder / MANIFEST).write_text(json.dumps({"content": "codes", "format": FORMAT}), encoding="utf-8")
        return open_codes(folder).split("train")

    return write_split
