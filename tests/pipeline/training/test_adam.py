"""Adam's update."""

import numpy as np
import tensorflow as tf

from pipeline.training.adam import Adam


def test_adam_follows_the_published_equations():
    rng = np.random.default_rng(0)
    start, gradients = rng.normal(size=(3, 2)), rng.normal(size=(4, 3, 2))
    variable = tf.Variable(start)
    adam = Adam({"w": variable}, 0.9, 0.999, 1e-8)
    first, second, expected = np.zeros((3, 2)), np.zeros((3, 2)), start.copy()
    for step, gradient in enumerate(gradients):
        adam.apply([tf.constant(gradient)], tf.constant(0.01, tf.float64), tf.constant(step, tf.int64))
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        rate = 0.01 * np.sqrt(1 - 0.999 ** (step + 1)) / (1 - 0.9 ** (step + 1))
        expected -= rate * first / (np.sqrt(second) + 1e-8)
        np.testing.assert_allclose(variable.numpy(), expected, rtol=1e-12)
