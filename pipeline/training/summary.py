"""What a reader of a training wants to see at its start and along its way."""

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

Row = dict[str, float]

PARAMETER_PREFIX = "meanlogabs/"
GRADIENT_PREFIX = "meanlogabs_gradient/"


def mean_log_abs(values: Sequence[tf.Tensor]) -> tf.Tensor:
    """mean(ln(1 + |x|)) of each tensor: its magnitude, on a scale where many orders fit. Shape [tensors]."""
    return tf.stack([tf.reduce_mean(tf.math.log1p(tf.abs(tf.cast(value, tf.float32)))) for value in values])


def parameter_table(variables: Mapping[str, tf.Variable]) -> str:
    """Name, shape and count of every parameter, and their sum."""
    rows = [(name, str(list(variable.shape)), math.prod(variable.shape)) for name, variable in variables.items()]
    rows.append(("total", "", sum(count for _, _, count in rows)))
    return _table(("parameter", "shape", "count"), rows)


def batch_table(arrays: Mapping[str, np.ndarray]) -> str:
    """Name, shape and type of every array of a batch."""
    rows = [(name, str(list(array.shape)), str(array.dtype)) for name, array in arrays.items()]
    return _table(("first batch", "shape", "type"), rows)


def write_history(path: Path, history: Sequence[Row]) -> None:
    """One row a logged step, a column a figure; magnitudes of single parameters are left out."""
    rows = [{name: value for name, value in row.items() if "/" not in name} for row in history]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_events(folder: Path, history: Sequence[Row]) -> None:
    """TensorBoard's event file of every figure in the history."""
    writer = tf.summary.create_file_writer(str(folder))
    with writer.as_default():
        for row in history:
            for name, value in row.items():
                if name != "step":
                    tf.summary.scalar(name, value, step=int(row["step"]))
    writer.close()


def _table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    texts = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in texts
    )
