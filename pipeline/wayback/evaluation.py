"""A trained model on a whole split: figures in all and by sequence, every symbol counted the same."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import tensorflow as tf

from models.wayback.sequence import SequenceModel
from pipeline.progress import Progress
from pipeline.shards import CodeSplit
from pipeline.wayback.baselines import Baseline
from pipeline.wayback.scoring import Scored, Scorer
from pipeline.wayback.walking import usable, walk_once

STEPS_AT_ONCE = 256


class Dump(NamedTuple):
    """Where the predictions of the first `count` sequences go, as arrays of log-probabilities [steps, symbols]."""

    folder: Path
    count: int


def evaluate(model: SequenceModel, split: CodeSplit, rows: int, dump: Dump) -> pd.DataFrame:
    """A row a sequence with its id, its number of predicted symbols, nats and bits per symbol, and error, in the
    split's order.
    """
    places = usable(split, None)
    sums = np.zeros((len(split), 3))
    for scored in _scored(model, split, places, rows):
        present = scored.sequences >= 0
        np.add.at(sums, scored.sequences[present], scored.sums[present])
        _dump(scored, split, dump)
    nats, errors, counts = sums[places].T
    return pd.DataFrame(
        {
            "id": [split.ids[place] for place in places],
            "symbols": counts.astype(np.int64),
            "loss": nats / counts,
            "bits_per_symbol": nats / counts / math.log(2.0),
            "error": errors / counts,
        }
    )


def summary(sequences: pd.DataFrame, baselines: dict[str, Baseline]) -> dict[str, float]:
    """The figures of the whole split, weighted by symbols, and those of counting beside them."""
    weights = sequences["symbols"] / sequences["symbols"].sum()
    loss = float((sequences["loss"] * weights).sum())
    figures = {
        "test_loss": loss,
        "test_error": float((sequences["error"] * weights).sum()),
        "test_bits_per_symbol": loss / math.log(2.0),
        "test_symbols": int(sequences["symbols"].sum()),
        "test_sequences": len(sequences),
    }
    for name, baseline in baselines.items():
        figures[f"baseline_{name}_loss"] = baseline.loss
        figures[f"baseline_{name}_error"] = baseline.error
        figures[f"baseline_{name}_bits_per_symbol"] = baseline.loss / math.log(2.0)
    return figures


def _scored(model: SequenceModel, split: CodeSplit, places: np.ndarray, rows: int) -> Iterator[Scored]:
    period = model.schedule.period
    steps = -(-STEPS_AT_ONCE // period) * period
    longest_first = places[np.argsort(-split.lengths[places], kind="stable")]
    scorer = Scorer(model, rows, steps)
    with Progress("measuring the test split", int((split.lengths[places] - 1).sum()), "symbols") as progress:
        for scored in scorer.score(walk_once(split, longest_first, steps, rows)):
            yield scored
            progress.advance(int(scored.sums[:, 2].sum()))


def _dump(scored: Scored, split: CodeSplit, dump: Dump) -> None:
    """Writes the rows of the dumped sequences into their arrays."""
    for row in np.flatnonzero((scored.sequences >= 0) & (scored.sequences < dump.count)):
        place, offset, count = int(scored.sequences[row]), int(scored.offsets[row]), int(scored.sums[row, 2])
        path = dump.folder / f"{place:05d}.npy"
        predicted = tf.nn.log_softmax(scored.logits[row, :count]).numpy()
        shape = (int(split.lengths[place]) - 1, predicted.shape[1])
        array = np.lib.format.open_memmap(path, "r+" if path.exists() else "w+", np.float32, shape)
        array[offset : offset + count] = predicted
        array.flush()
