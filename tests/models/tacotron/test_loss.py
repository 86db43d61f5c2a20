"""The loss, against numbers worked out by hand."""

import numpy as np
import tensorflow as tf

from models.tacotron import loss
from models.tacotron.loss import Objective, Sums
from models.tacotron.tacotron import Outputs


def test_frames_count_where_they_are_real_and_each_band_alike():
    frames = tf.constant([[[1.0, 2.0], [3.0, 4.0], [9.0, 9.0], [9.0, 9.0]]])
    outputs = Outputs(
        frames=frames + tf.constant([[[1.0, 0.0], [0.0, 2.0], [5.0, 5.0], [5.0, 5.0]]]),
        refined=frames + tf.constant([[[0.0, 0.0], [0.0, -3.0], [5.0, 5.0], [5.0, 5.0]]]),
        stop_logits=tf.zeros([1, 2]),
        alignments=tf.ones([1, 2, 1]),
    )
    objective = Objective(1.0, 0.0, 0.0, 1, 0.2)

    parts = loss.sums(outputs, frames, tf.constant([2]), tf.constant([1]), tf.constant([10.0, 100.0]), objective)

    assert parts.squared_before.numpy().tolist() == [(1 + 4) / 2]
    assert parts.absolute_before.numpy().tolist() == [(1 + 2) / 2]
    assert parts.squared_after.numpy().tolist() == [9 / 2]
    assert parts.error.numpy().tolist() == [300 / 2]
    assert parts.frames.numpy().tolist() == [2.0]


def test_stop_is_one_from_the_last_real_step_on_and_taught_through_the_frames_after_it():
    logits = tf.constant([[-20.0, -20.0, 20.0, 20.0, 7.0]])

    right = loss.stop_sums(logits, tf.constant([3]), tf.constant([4]))
    late = loss.stop_sums(logits, tf.constant([4]), tf.constant([4]))

    np.testing.assert_allclose(right, [0.0], atol=1e-6)
    np.testing.assert_allclose(late, [20.0], rtol=1e-6)


def test_the_stop_loss_reaches_the_frames_after_the_end_and_not_those_beyond():
    logits = tf.Variable(tf.zeros([1, 6]))
    with tf.GradientTape() as tape:
        value = loss.stop_sums(logits, tf.constant([2]), tf.constant([4]))

    np.testing.assert_allclose(tape.gradient(value, logits), [[0.5, -0.5, -0.5, -0.5, 0.0, 0.0]])


def test_guidance_is_free_on_the_diagonal_and_full_far_from_it():
    diagonal = tf.eye(4)[None]
    far = tf.reverse(diagonal, axis=[2])
    counts = tf.constant([4])

    np.testing.assert_allclose(loss.guide_sums(diagonal, counts, counts, 0.1), [0.0], atol=1e-6)
    distances = np.array([0.75, 0.25, 0.25, 0.75])
    expected = (1 - np.exp(-(distances**2) / (2 * 0.1**2))).sum()
    np.testing.assert_allclose(loss.guide_sums(far, counts, counts, 0.1), [expected], rtol=1e-6)


def test_the_loss_of_a_batch_weights_each_utterance_by_its_frames():
    parts = Sums(*(tf.constant([2.0, 12.0]) for _ in range(7)), *(tf.constant([1.0, 3.0]) for _ in range(3)))
    objective = Objective(1.0, 0.0, 0.0, 1, 0.2)

    each, together = loss.total(parts, objective, 0.0), loss.total(loss.added(parts), objective, 0.0)

    assert each.numpy().tolist() == [4.0, 8.0]
    assert float(together) == (4.0 * 1 + 8.0 * 3) / 4
