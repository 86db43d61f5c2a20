"""Samples that go on from primers."""

import numpy as np
import pytest
import tensorflow as tf

from pipeline.errors import InputError
from pipeline.wayback.sampling import CHUNK, continue_all

PRIMERS = [np.array([3], np.uint8), np.array([1, 2, 0, 5, 4]), np.array([2]), np.array([0, 0, 1])]


@pytest.fixture(scope="module")
def model(tiny_model):
    return tiny_model()


@pytest.fixture(scope="module")
def samples(model):
    return continue_all(model, PRIMERS, [0.0, 1.0], CHUNK + 20, seed=9)


def test_each_sample_begins_with_its_primer_and_goes_on_as_far_as_asked(samples):
    for primer, made in zip(PRIMERS, samples, strict=True):
        assert len(made) == 2
        for sample in made:
            np.testing.assert_array_equal(sample[: len(primer)], primer)
            assert len(sample) == len(primer) + CHUNK + 20


def test_at_temperature_zero_each_symbol_is_the_likeliest_after_all_before_it(model, samples):
    for primer, (greedy, _) in zip(PRIMERS, samples, strict=True):
        logits, _ = model.predict(tf.constant(greedy[None, :60].astype(np.int32)), model.initial_state(1))
        expected = np.argmax(logits[0], axis=-1)[len(primer) - 1 :]
        np.testing.assert_array_equal(greedy[len(primer) : 61], expected)


def test_chunks_join_to_what_one_go_gives(model, samples):
    greedy = samples[1][0]
    steps = CHUNK + 20 + len(PRIMERS[1]) - 1
    logits, _ = tf.function(model.predict, autograph=False)(
        tf.constant(greedy[None, :steps].astype(np.int32)), model.initial_state(1)
    )
    np.testing.assert_array_equal(greedy[CHUNK - 5 :], np.argmax(logits[0], axis=-1)[CHUNK - 6 :])


def test_the_seed_decides_and_the_length_and_later_primers_do_not(model, samples):
    (again,), (other,) = (continue_all(model, PRIMERS[:1], [0.0, 1.0], 30, seed) for seed in (9, 10))
    for before, same in zip(samples[0], again, strict=True):
        np.testing.assert_array_equal(before[:31], same)
    np.testing.assert_array_equal(again[0], other[0])
    assert not np.array_equal(again[1], other[1])


@pytest.mark.parametrize(
    "primers, temperatures, message",
    [
        ([np.array([1])], [1.0, -0.5], "each must be 0 .* or above"),
        ([np.array([1]), np.array([], int)], [1.0], "a primer is empty"),
        ([np.array([6])], [1.0], "symbols of 6 and above"),
    ],
)
def test_what_cannot_be_sampled_is_refused(model, primers, temperatures, message):
    with pytest.raises(InputError, match=message):
        continue_all(model, primers, temperatures, 10, 0)
