"""Weights on disk: names and arrays alone (safetensors), the same bytes for the same values."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import tensorflow as tf
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from pipeline.errors import InputError


def write_weights(path: Path, variables: Mapping[str, tf.Variable]) -> None:
    """Writes the values of the variables under their names."""
    save_file({name: np.array(variable.numpy(), order="C") for name, variable in variables.items()}, path)


def read_weights(path: Path, variables: Mapping[str, tf.Variable]) -> None:
    """Gives every variable its value from the file.

    Raises:
        InputError: The file cannot be read, or its names or shapes are not exactly those of the variables.
    """
    try:
        values = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path} cannot be read as weights: {error}") from error
    assign(variables, values, str(path))


def assign(variables: Mapping[str, tf.Variable], values: Mapping[str, np.ndarray], source: str) -> None:
    """Gives every variable the value of its name.

    Raises:
        InputError: The names or shapes are not exactly those of the variables; nothing is changed then.
    """
    problems = [f"{name} is missing" for name in variables if name not in values]
    problems += [f"{name} is unknown to the model" for name in values if name not in variables]
    problems += [
        f"{name} has shape {values[name].shape}, the model's is {tuple(variable.shape)}"
        for name, variable in variables.items()
        if name in values and values[name].shape != tuple(variable.shape)
    ]
    if problems:
        raise InputError(f"{source} holds the weights of another model: {'; '.join(problems)}")
    for name, variable in variables.items():
        variable.assign(values[name])
