"""Dropout and zoneout: what is drawn in training, and what is expected afterwards."""

import numpy as np
import tensorflow as tf

from models.tacotron.noise import drop, zoneout_masks
from tests.models.tacotron.conftest import SETTINGS, Rig

SEED = tf.constant([1, 2], tf.int64)
SHAPE = [40, 50, 30]


def test_dropout_is_zero_as_often_as_said_and_keeps_the_mean():
    factors = drop(SHAPE, 0.3, SEED, tf.float64).numpy()

    np.testing.assert_allclose(np.unique(factors), [0.0, 1 / 0.7], rtol=1e-6)
    assert abs((factors == 0.0).mean() - 0.3) < 0.01


def test_dropout_of_nothing_changes_nothing():
    assert (drop(SHAPE, 0.0, SEED, tf.float64).numpy() == 1.0).all()


def test_zoneout_keeps_units_as_often_as_said_hidden_and_cell_each_for_itself():
    hidden, cell = (mask.numpy() for mask in zoneout_masks(SHAPE, 0.1, SEED, tf.float64))

    for mask in (hidden, cell):
        assert set(np.unique(mask)) == {0.0, 1.0}
        assert abs(mask.mean() - 0.1) < 0.01
    assert abs((hidden * cell).mean() - 0.01) < 0.005


def test_training_draws_masks_of_zoneout_for_every_step_row_and_unit_and_inference_takes_their_mean():
    decoder = Rig(SETTINGS._replace(zoneout=0.25)).model.decoder

    drawn, expected = decoder.drawn_zoneouts(200, 10, SEED), decoder.expected_zoneouts()

    for part, units in (("attention", SETTINGS.attention_lstm_units), ("decoder", SETTINGS.decoder_lstm_units)):
        for mask, mean in zip(getattr(drawn, part), getattr(expected, part), strict=True):
            assert mask.shape == (200, 10, units)
            assert float(mean) == 0.25
            assert abs(float(tf.reduce_mean(mask)) - 0.25) < 0.02


def test_another_seed_draws_other_noise_and_the_same_the_same():
    first, again, other = (
        drop(SHAPE, 0.5, tf.constant(seed, tf.int64), tf.float64) for seed in ([1, 2], [1, 2], [1, 3])
    )

    assert (first.numpy() == again.numpy()).all()
    assert (first.numpy() != other.numpy()).any()
