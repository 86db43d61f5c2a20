"""Utterances as the model gets them."""

import numpy as np

from pipeline.tacotron.batches import make_batch, signature
from pipeline.tacotron.buckets import Bucket
from tests.pipeline.tacotron.conftest import N_MELS, SCALE


def test_rows_are_normalised_by_band_and_zero_beyond_their_counts(train):
    places = np.array([3, 0])

    batch = make_batch(train, SCALE, Bucket(2, 25, 44, places), places)

    assert batch["symbol_ids"].shape == (2, 25)
    assert batch["frames"].shape == (2, 44, N_MELS)
    for row, place in enumerate(places):
        frames, symbols = train[place].frames, train[place].symbol_ids
        assert (batch["frame_counts"][row], batch["symbol_counts"][row]) == (len(frames), len(symbols))
        expected = (frames - np.linspace(-3, -1, N_MELS)) / np.linspace(0.5, 2, N_MELS)
        np.testing.assert_allclose(batch["frames"][row, : len(frames)], expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(batch["symbol_ids"][row, : len(symbols)], symbols)
        assert not batch["frames"][row, len(frames) :].any()
        assert not batch["symbol_ids"][row, len(symbols) :].any()


def test_restored_frames_are_those_that_were_normalised(train):
    frames = train[0].frames

    np.testing.assert_allclose(SCALE.restore(SCALE.normalise(frames)), frames, rtol=1e-6, atol=1e-6)


def test_a_batch_has_the_signature_that_a_step_is_traced_for(train):
    places = np.array([1])
    batch = make_batch(train, SCALE, Bucket(1, 25, 44, places), places)

    for name, spec in signature(N_MELS).items():
        assert spec.dtype == batch[name].dtype
        assert spec.shape.is_compatible_with(batch[name].shape)
    assert signature(N_MELS).keys() == batch.keys()
