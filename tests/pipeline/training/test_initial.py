"""Where a training starts from."""

import numpy as np
import pytest
import tensorflow as tf

from pipeline.errors import InputError
from pipeline.training.initial import start_from
from pipeline.training.weights import write_weights


def variables(width=2, value=1.0):
    return {"kernel": tf.Variable(np.full([3, width], value, np.float32)), "bias": tf.Variable(np.float32(value))}


def test_trained_weights_are_taken(tmp_path):
    write_weights(tmp_path / "weights.safetensors", variables(value=5.0))
    model = variables(value=1.0)
    start_from(tmp_path, model)
    assert (model["kernel"].numpy() == 5.0).all()
    assert model["bias"].numpy() == 5.0


def test_random_start_leaves_what_the_seed_gave(tmp_path):
    model = variables(value=1.0)
    start_from(tmp_path / "random_start", model)
    assert (model["kernel"].numpy() == 1.0).all()


def test_weights_of_other_sizes_and_names_are_named_and_nothing_is_taken(tmp_path):
    stored = variables(width=4, value=5.0)
    stored["gate"] = stored.pop("bias")
    write_weights(tmp_path / "weights.safetensors", stored)
    model = variables(value=1.0)
    with pytest.raises(InputError, match=r"bias is missing; gate is unknown .*kernel has shape \(3, 4\), .* \(3, 2\)"):
        start_from(tmp_path, model)
    assert (model["kernel"].numpy() == 1.0).all()


def test_a_folder_without_weights_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no weights"):
        start_from(tmp_path, variables())


def test_the_same_weights_are_the_same_bytes(tmp_path):
    write_weights(tmp_path / "a", variables())
    write_weights(tmp_path / "b", variables())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
