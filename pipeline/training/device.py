"""How TensorFlow computes: the same bits each time, on so many threads."""

import tensorflow as tf

from pipeline.params import load_runtime


def set_up_device(threads: int) -> None:
    """Makes every operation deterministic and fixes the number of threads; call it before the first operation.

    Sums in another order give other bits, so that the number of threads is part of a result. A GPU is taken where
    TensorFlow finds one, unless runtime.yaml says `device: cpu`; its memory grows as needed.
    """
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf.config.experimental.enable_op_determinism()
    if load_runtime().device == "cpu":
        tf.config.set_visible_devices([], "GPU")
    for gpu in tf.config.get_visible_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
