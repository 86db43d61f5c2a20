"""A Tacotron small enough to test, and what it is fed."""

import numpy as np
import pytest
import tensorflow as tf

from models.tacotron.settings import Settings
from models.tacotron.tacotron import Tacotron
from models.tacotron.variables import Variables

SETTINGS = Settings(
    symbol_count=9,
    n_mels=4,
    reduction_factor=2,
    embedding_units=6,
    encoder_layers=2,
    encoder_width=3,
    encoder_units=8,
    attention_units=5,
    location_filters=3,
    location_width=5,
    prenet_units=5,
    attention_lstm_units=7,
    decoder_lstm_units=6,
    postnet_layers=2,
    postnet_units=5,
    postnet_width=3,
    convolution_dropout=0.0,
    prenet_dropout=0.0,
    zoneout=0.0,
)


class Rig:
    """A model and its variables."""

    def __init__(self, settings: Settings, dtype: tf.DType = tf.float64):
        variables = Variables(np.random.default_rng(0), dtype)
        self.model = Tacotron(settings, variables)
        self.trained, self.statistics = variables.trained, variables.statistics
        self.settings, self.dtype = settings, dtype
        draw = np.random.default_rng(1)
        for name, variable in self.statistics.items():
            low, high = (-0.3, 0.3) if name.endswith("mean") else (0.5, 1.5)
            variable.assign(draw.uniform(low, high, variable.shape))


@pytest.fixture(scope="package")
def quiet() -> Rig:
    """Without noise."""
    return Rig(SETTINGS)


@pytest.fixture(scope="package")
def noisy() -> Rig:
    """With dropout and zoneout."""
    return Rig(SETTINGS._replace(convolution_dropout=0.3, prenet_dropout=0.5, zoneout=0.2))
