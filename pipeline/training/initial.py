"""Where a training starts from: random weights, or those of a trained model."""

from collections.abc import Mapping
from pathlib import Path

import tensorflow as tf

from pipeline.errors import InputError
from pipeline.training.weights import read_weights

RANDOM_START = "random_start"
WEIGHTS = "weights.safetensors"


def is_random_start(folder: Path) -> bool:
    """Whether the folder stands for random weights."""
    return folder.name == RANDOM_START


def start_from(folder: Path, variables: Mapping[str, tf.Variable]) -> None:
    """Gives the variables the weights in a model folder; `random_start` leaves them as they are.

    Raises:
        InputError: The folder holds no weights, or those of a model of other sizes; the message names what differs.
    """
    if is_random_start(folder):
        return
    if not (folder / WEIGHTS).exists():
        raise InputError(f"initialize_from: {folder} holds no {WEIGHTS}; name a model folder, or data/{RANDOM_START}")
    read_weights(folder / WEIGHTS, variables)
