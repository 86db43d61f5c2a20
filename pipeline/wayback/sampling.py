"""Samples that go on from primers: conditioning first, then continuation, in chunks of constant memory."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from models.wayback.sequence import SequenceModel, State
from pipeline.errors import InputError
from pipeline.progress import Progress

CHUNK = 2048


def continue_all(
    model: SequenceModel, primers: Sequence[np.ndarray], temperatures: Sequence[float], length: int, seed: int
) -> list[list[np.ndarray]]:
    """Each primer continued at each temperature: for each primer a list of int arrays [primer + length], which begin
    with the primer.

    A sample depends on the model, its primer, its temperature, the seed and its places in both lists alone, and its
    beginning not on its length. Primers of one length are continued side by side.

    Args:
        primers: One symbol or more each.
        temperatures: 0 = always the likeliest symbol.
        length: Symbols to sample.
        seed: Of the noise.

    Raises:
        InputError: A temperature is negative, a primer is empty or holds unknown symbols, or batch norm would have a
        single row.
    """
    _check(model, primers, temperatures)
    by_length = defaultdict(list)
    for place, primer in enumerate(primers):
        by_length[len(primer)].append(place)
    sampler = Sampler(model, seed)
    samples: list[list[np.ndarray]] = [[] for _ in primers]
    total = -(-length // CHUNK) * CHUNK * len(primers) * len(temperatures)
    with Progress("sampling", total, "symbols") as progress:
        for places in by_length.values():
            rows = np.array([primers[place] for place in places])
            numbers = [place * len(temperatures) + k for place in places for k in range(len(temperatures))]
            continued = sampler.continue_rows(rows, temperatures, length, numbers, progress)
            for place, row, made in zip(places, rows, np.split(continued, len(places)), strict=True):
                samples[place] = [np.concatenate([row, symbols]) for symbols in made]
    return samples


class Sampler:
    """Compiled once for all chunks of one batch size."""

    def __init__(self, model: SequenceModel, seed: int):
        self._model, self._seed = model, seed
        self._sample = tf.function(model.sample, jit_compile=True, autograph=False)
        self._advance = tf.function(model.advance, autograph=False, reduce_retracing=True)

    def continue_rows(
        self,
        primers: np.ndarray,
        temperatures: Sequence[float],
        length: int,
        numbers: Sequence[int],
        progress: Progress,
    ) -> np.ndarray:
        """Continues primers [rows, symbols] at each temperature: [rows * temperatures, length]; `numbers` seed the
        rows' noise.
        """
        repeats = len(temperatures)
        state = self.condition(primers)
        state = State(state.time, tf.nest.map_structure(lambda value: tf.repeat(value, repeats, axis=0), state.layers))
        last = tf.constant(np.repeat(primers[:, -1], repeats), tf.int32)
        temperature = tf.constant(np.tile(temperatures, len(primers)), self._model.dtype)
        chunks = []
        for chunk in range(-(-length // CHUNK)):
            symbols, state = self._sample(last, state, self._noise(numbers, chunk), temperature)
            last = symbols[:, -1]
            chunks.append(symbols.numpy())
            progress.advance(symbols.shape[0] * CHUNK)
        return np.concatenate(chunks, axis=1)[:, :length]

    def condition(self, primers: np.ndarray) -> State:
        """The state that has seen all symbols but the last one of each row."""
        state = self._model.initial_state(len(primers))
        for first in range(0, primers.shape[1] - 1, CHUNK):
            piece = primers[:, first : min(first + CHUNK, primers.shape[1] - 1)]
            state = self._advance(tf.constant(piece, tf.int32), state)
        return state

    def _noise(self, numbers: Sequence[int], chunk: int) -> tf.Tensor:
        """Gumbel noise of a chunk, for each row by its number: [steps, rows, symbols]."""
        tiny = np.finfo(np.float32).tiny
        shape = [CHUNK, self._model.settings.data_dim]
        rows = []
        for number in numbers:
            seed = tf.random.experimental.stateless_fold_in([self._seed, number], chunk, alg="philox")
            rows.append(tf.random.stateless_uniform(shape, seed, tiny, 1.0, alg="philox"))
        return tf.cast(-tf.math.log(-tf.math.log(tf.stack(rows, axis=1))), self._model.dtype)


def _check(model: SequenceModel, primers: Sequence[np.ndarray], temperatures: Sequence[float]) -> None:
    lengths = [len(primer) for primer in primers]
    if any(temperature < 0 for temperature in temperatures):
        raise InputError(
            f"temperatures are {list(temperatures)}; each must be 0 (always the likeliest symbol) or above"
        )
    if min(lengths) == 0:
        raise InputError("a primer is empty; it needs one symbol or more")
    categories = model.settings.data_dim
    if max(int(np.max(primer)) for primer in primers) >= categories:
        raise InputError(f"a primer holds symbols of {categories} and above, which the model does not know")
    alone = any(lengths.count(length) == 1 for length in lengths)
    if model.settings.use_bn and alone:
        raise InputError("batch norm takes its statistics from the batch: give at least two primers of each length")
