"""Utterances of the shards -> arrays for the model."""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from pipeline.shards import MelSplit
from pipeline.tacotron.buckets import Bucket
from pipeline.tacotron.frames import Scale


def signature(n_mels: int) -> dict[str, tf.TensorSpec]:
    """Shape and type of each array of a batch."""
    return {
        "symbol_ids": tf.TensorSpec([None, None], tf.int32),
        "symbol_counts": tf.TensorSpec([None], tf.int32),
        "frames": tf.TensorSpec([None, None, n_mels], tf.float32),
        "frame_counts": tf.TensorSpec([None], tf.int32),
    }


def make_batch(split: MelSplit, scale: Scale, bucket: Bucket, places: np.ndarray) -> Mapping[str, np.ndarray]:
    """The utterances at these places, padded with zeros to the bucket's shape; frames are normalised."""
    rows = len(places)
    symbol_ids = np.zeros((rows, bucket.symbols), np.int32)
    frames = np.zeros((rows, bucket.frames, len(scale.mean)), np.float32)
    for row, place in enumerate(places):
        utterance = split[int(place)]
        symbol_ids[row, : len(utterance.symbol_ids)] = utterance.symbol_ids
        frames[row, : len(utterance.frames)] = scale.normalise(utterance.frames)
    return {
        "symbol_ids": symbol_ids,
        "symbol_counts": split.symbol_counts[places].astype(np.int32),
        "frames": frames,
        "frame_counts": split.frame_counts[places].astype(np.int32),
    }
