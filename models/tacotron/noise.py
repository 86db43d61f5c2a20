"""Random masks, drawn whole before any loop from a seed that is handed over."""

import tensorflow as tf

from models.recurrence.lstm import Zoneout


def seeds(seed: tf.Tensor, count: int) -> list[tf.Tensor]:
    """Independent seeds made from one [2]."""
    return tf.unstack(tf.random.split(seed, count, alg="philox"))


def drop(shape: tf.Tensor, rate: tf.Tensor | float, seed: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Factors of dropout: zero with probability `rate`, else what keeps the mean at one."""
    kept = _chance(shape, 1.0 - rate, seed)
    return tf.where(kept, tf.cast(1.0 / (1.0 - rate), dtype), tf.zeros([], dtype))


def zoneout_masks(shape: tf.Tensor, rate: float, seed: tf.Tensor, dtype: tf.DType) -> Zoneout:
    """Zoneout in training: ones where a unit keeps its old state (Krueger et al. 2016), drawn apart for hidden and cell."""
    return Zoneout(*(tf.cast(_chance(shape, rate, part), dtype) for part in seeds(seed, 2)))


def zoneout_expectation(rate: float, dtype: tf.DType) -> Zoneout:
    """Zoneout after training: every unit keeps the expected share of its old state."""
    return Zoneout(tf.cast(rate, dtype), tf.cast(rate, dtype))


def _chance(shape: tf.Tensor, probability: tf.Tensor | float, seed: tf.Tensor) -> tf.Tensor:
    return tf.random.stateless_uniform(shape, seed, alg="philox") < probability
