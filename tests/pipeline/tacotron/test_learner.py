"""What the training loop sees of Tacotron."""

from itertools import islice

import numpy as np
import pytest
import tensorflow as tf

from pipeline.params import check_params
from tests.pipeline.tacotron.conftest import ROOT, SCALE


def first_arrays(learner):
    return {name: tf.constant(array) for name, array in next(learner.batches(None)).arrays.items()}


def test_weight_decay_is_half_the_squared_norm_of_what_has_inputs_and_outputs(learner):
    rig = learner()
    kernels = [variable.numpy() for variable in rig.variables.values() if variable.shape.rank > 1]

    assert float(rig.penalty()) == pytest.approx(0.01 * sum((kernel**2).sum() for kernel in kernels) / 2, rel=1e-5)


def test_the_optimiser_s_defaults_are_those_of_shen_et_al():
    params = check_params(ROOT).train_tacotron

    assert (params.adam_beta1, params.adam_beta2) == (0.9, 0.999)
    assert (params.adam_epsilon, params.weight_decay) == (1e-6, 1e-6)
    assert params.zoneout == 0.1


def test_guidance_is_full_then_fades_to_nothing(learner):
    rig = learner(guide_weight=5.0, guide_full_steps=400, guide_fade_steps=600)
    arrays = first_arrays(rig)
    weight = tf.function(lambda step: rig.loss(arrays, (), step).figures["guide_weight"], autograph=False)

    weights = [float(weight(tf.constant(step, tf.int64))) for step in (0, 400, 700, 1000, 9000)]

    np.testing.assert_allclose(weights, [5.0, 5.0, 2.5, 0.0, 0.0])


def test_the_loss_is_the_weighted_sum_of_its_parts(learner):
    changes = {"squared_weight": 0.5, "absolute_weight": 0.0, "stop_weight": 3.0, "guide_weight": 2.0}
    rig = learner(**changes)

    result = rig.loss(first_arrays(rig), (), tf.constant(0, tf.int64))

    parts = {name: float(value) for name, value in result.figures.items()}
    frames = parts["frame_loss_before"] + parts["frame_loss_after"]
    assert float(result.loss) == pytest.approx(0.5 * frames + 3.0 * parts["stop_loss"] + 2.0 * parts["guide_loss"])


def test_the_step_alone_decides_the_noise_of_training(learner):
    rig = learner()
    arrays = first_arrays(rig)

    losses = [float(rig.loss(arrays, (), tf.constant(step, tf.int64)).loss) for step in (3, 3, 4)]

    assert losses[0] == losses[1] != losses[2]


def test_validation_weights_every_utterance_by_its_frames_whatever_batch_it_came_in(learner):
    together, apart = learner(bucket_count=1, prenet_dropout=0.0), learner(bucket_count=4, prenet_dropout=0.0)

    figures = together.validate()

    for name, value in apart.validate().items():
        assert figures[name] == pytest.approx(value, rel=1e-4), name
    assert together.validate() == figures


def test_the_error_is_in_the_units_of_the_recordings_frames(learner, validation):
    """A model of zeros says the mean of each band: its error is the frames' mean absolute deviation from it."""
    rig = learner()
    for variable in rig.variables.values():
        variable.assign(tf.zeros_like(variable))

    frames = np.concatenate([utterance.frames for utterance in validation])
    assert rig.validate()["error"] == pytest.approx(np.abs(frames - SCALE.mean).mean(), rel=1e-5)


def test_batches_go_on_from_the_position_that_a_batch_carries(learner):
    rig = learner()
    straight = list(islice(rig.batches(None), 30))

    for expected, batch in zip(straight[17:], rig.batches(straight[16].position), strict=False):
        assert batch.items == expected.items
        assert batch.position == expected.position
        np.testing.assert_array_equal(batch.arrays["frames"], expected.arrays["frames"])


def test_items_are_the_utterances_in_the_batch(learner, train):
    batch = next(learner().batches(None))

    for item, count in zip(batch.items, batch.arrays["frame_counts"], strict=True):
        assert train.frame_counts[train.ids.index(item)] == count
