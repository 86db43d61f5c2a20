"""The whole model of categorical sequences: embedding, recurrent layers, logits, loss.

Where the original is wrong, this is right: whole sequences are evaluated and every symbol counts the same (the original
drops what does not fill a segment and averages over segments), and quantisation, which is none of the model's business,
is exactly invertible (the original's companding uses mu = 7 for 8 bits, and its decoder is not the inverse of its
encoder).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from models.wayback.connections import Driver, Hidden, Layers, LayerSettings, Present, Ready
from models.wayback.generation import Generation
from models.wayback.networks import Logits, Network
from models.wayback.schedule import Schedule, make_schedule
from models.wayback.stack import LstmStack, Stack
from models.wayback.variables import Variables
from models.wayback.wayback import LstmWayback, Wayback


class Settings(NamedTuple):
    """The authors' hyperparameters that make the model; lists run from layer 0 = bottom = fastest.

    Attributes:
        data_dim: Number of symbols; they are 0 to data_dim - 1.
        layout: "stack" or "wayback".
        cell: "lstm", "gru", "rnn" or "rrnn".
        layer_sizes: Units of each recurrent layer.
        io_sizes: Units of the layers of the input network and of the output network, which are ELU whatever
            `activation` says.
        activation: "tanh", "elu" or "identity", inside the cells.
        use_bn: Batch norm, by the statistics of the batch alone.
        vskip: Each layer sees all others instead of its neighbours.
        carry: False: a layer starts anew from the one above whenever that one is updated (layout wayback).
        periods: A layer is updated once per so many updates of the layer below (layout wayback).
        boundaries: How far back each layer's gradient reaches, in its updates; see schedule.py.
        unroll_layer_count: Outer layers (layout wayback); 0 = no truncation inside a segment.
        context_size: Features of an extra input of the top layer; 0 = none.
    """

    data_dim: int
    layout: str
    cell: str
    layer_sizes: Sequence[int]
    io_sizes: Sequence[int]
    activation: str
    use_bn: bool
    vskip: bool
    carry: bool
    periods: Sequence[int]
    boundaries: Sequence[int]
    unroll_layer_count: int
    context_size: int = 0

    def schedule(self) -> Schedule:
        """The layout in time.

        Raises:
            ValueError: The settings break a rule of the layout; the message says which.
        """
        return make_schedule(self.layout, len(self.layer_sizes), self.periods, self.boundaries, self.unroll_layer_count)


class State(NamedTuple):
    """What is carried from segment to segment: the time within a cycle (int32 scalar), and the layers' states."""

    time: tf.Tensor
    layers: Layers


class Scores(NamedTuple):
    """How well each symbol was predicted, [batch, steps].

    Attributes:
        nats: Negative natural logarithm of the probability of what came.
        errors: Whether something else was likelier.
    """

    nats: tf.Tensor
    errors: tf.Tensor


class SequenceModel:
    """Predicts each next symbol of a batch of sequences.

    Attributes:
        settings: What it was made of.
        schedule: Its layout in time.
        variables: All weights by the authors' names (without their outermost scope), in a stable order.

    Raises:
        ValueError: The settings break a rule of the layout; the message says which.
    """

    def __init__(self, settings: Settings, generator: np.random.Generator, dtype: tf.DType = tf.float32):
        self.settings, self.schedule, self.dtype = settings, settings.schedule(), dtype
        variables = Variables(generator, dtype)
        layers = LayerSettings(
            settings.cell,
            settings.layer_sizes,
            settings.activation,
            settings.use_bn,
            settings.vskip,
            settings.io_sizes[-1] if settings.io_sizes else settings.data_dim,
            settings.context_size,
        )
        self._input_network = Network("layers", settings.data_dim, settings.io_sizes, settings.use_bn, variables)
        self._core = _core(settings, layers, self.schedule, variables)
        self._logits = Logits(settings.layer_sizes, settings.io_sizes, settings.use_bn, settings.data_dim, variables)
        self.variables = variables.trained

    def initial_state(self, batch_size: int) -> State:
        """The state at the beginning of a sequence."""
        return State(tf.constant(0), self._core.layers.initial_state(batch_size, self.dtype))

    def restart(self, state: State, rows: tf.Tensor) -> State:
        """The state, with the rows [batch] that begin a sequence at its beginning; all rows share the time."""
        fresh = self._core.layers.initial_state(rows.shape[0], self.dtype)
        layers = tf.nest.map_structure(lambda new, old: tf.where(rows[:, None], new, old), fresh, state.layers)
        return State(state.time, layers)

    def embed(self, symbols: tf.Tensor) -> tf.Tensor:
        """Embeddings of one-hot symbols [..., batch, data_dim] -> [..., batch, size]."""
        return self._input_network(symbols)

    def train(self, symbols: tf.Tensor, state: State, context: tf.Tensor | None = None) -> tuple[Scores, State]:
        """A training segment from time 0, its gradient truncated as the schedule says.

        Args:
            symbols: [batch, schedule.step_count + 1]; the last one is only predicted.
            state: Where the segment before left off.
            context: [batch, context_size], or with a step axis in the middle.

        Returns:
            The scores of the steps that count, [batch, schedule.step_count - schedule.first_counted], and the state
            after the segment.
        """
        targets = tf.transpose(symbols)[self.schedule.first_counted + 1 :]
        bound = self._core.bind()
        driver = Driver(_Made(self._embedder(bound), tf.transpose(symbols)), _context(context))
        hidden, layers = self._core.truncated(bound, driver, state.layers)
        return _scores(self._logits(hidden), targets), State(state.time, layers)

    def train_embedded(self, embedding: tf.Tensor, targets: tf.Tensor, state: State) -> tuple[Scores, State]:
        """As `train`, of embeddings [steps, batch, size] and of the symbols [batch, steps] to predict."""
        bound = self._core.bind()
        projected = self._core.embedding_projection(bound)(embedding)
        driver = Driver(Ready(projected), None)
        hidden, layers = self._core.truncated(bound, driver, state.layers)
        return _scores(self._logits(hidden), tf.transpose(targets)[self.schedule.first_counted :]), State(
            state.time, layers
        )

    def predict(self, symbols: tf.Tensor, state: State, context: tf.Tensor | None = None) -> tuple[tf.Tensor, State]:
        """Logits of what comes after each of the symbols [batch, steps], from any time on: [batch, steps, data_dim]."""
        hidden, state = self._forward(symbols, state, context)
        return tf.transpose(self._logits(hidden), [1, 0, 2]), state

    def advance(self, symbols: tf.Tensor, state: State, context: tf.Tensor | None = None) -> State:
        """The state after the symbols [batch, steps], from any time on."""
        return self._forward(symbols, state, context)[1]

    def predict_cycles(
        self, symbols: tf.Tensor, state: State, context: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, State]:
        """As `predict`, faster: from time 0 on, for a whole number of cycles of the schedule."""
        bound = self._core.bind()
        driver = Driver(_Made(self._embedder(bound), tf.transpose(symbols)), _context(context))
        hidden, layers = self._core.unroll(bound, driver, state.layers, symbols.shape[1])
        return tf.transpose(self._logits(hidden), [1, 0, 2]), State(state.time, layers)

    def sample(
        self, first: tf.Tensor, state: State, noise: tf.Tensor, temperature: tf.Tensor
    ) -> tuple[tf.Tensor, State]:
        """Symbols drawn one after the other from what the model predicts, each the input of the next step.

        Args:
            first: The symbols [batch] that the state has not seen yet.
            state: Its time may be any; samplings that carry the state on make one long sample.
            noise: Standard Gumbel noise [steps, batch, data_dim]: adding it to the logits and taking the largest draws
                from their softmax.
            temperature: [batch], from 0 = always the likeliest symbol; the logits are divided by it.

        Returns:
            The symbols [batch, steps], and the state that has seen all of them but the last.
        """
        bound = self._core.bind()

        def choose(step: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
            return tf.argmax(logits + temperature[:, None] * noise[step], axis=-1, output_type=tf.int32)

        loop = Generation(self._embedder(bound), self._logits.bind(), choose, noise.shape[0])
        drawn, layers = self._core.generate(bound, loop, first, state.time, state.layers)
        return tf.transpose(drawn), State((state.time + noise.shape[0]) % self.schedule.period, layers)

    def _forward(self, symbols: tf.Tensor, state: State, context: tf.Tensor | None) -> tuple[Hidden, State]:
        bound = self._core.bind()
        embed, by_time, context_at = self._embedder(bound), tf.transpose(symbols), _context(context)
        steps = symbols.shape[1] or tf.shape(symbols)[1]

        def body(step, layers, arrays):
            driver = Driver(Present(embed(by_time[step])), context_at and (lambda _: context_at(step)))
            layers = self._core.step(bound, (state.time + step) % self.schedule.period, driver, layers)
            return (
                step + 1,
                layers,
                [array.write(step, output[-1]) for array, output in zip(arrays, layers, strict=True)],
            )

        arrays = [tf.TensorArray(self.dtype, size=steps, element_shape=layer[-1].shape) for layer in state.layers]
        _, layers, arrays = tf.while_loop(
            lambda step, *_: step < steps, body, (tf.constant(0), state.layers, arrays), maximum_iterations=steps
        )
        time = (state.time + steps) % self.schedule.period
        return Hidden([array.stack() for array in arrays], [1] * len(arrays)), State(time, layers)

    def _embedder(self, bound: Any) -> Callable[[tf.Tensor], tf.Tensor]:
        """Symbols [..., batch] -> layer 0's projections of their embeddings.

        Without batch norm these depend on the symbol alone, and all are made once.
        """
        project, symbols = self._core.embedding_projection(bound), self.settings.data_dim
        if self.settings.use_bn:
            return lambda each: project(self.embed(tf.one_hot(each, symbols, dtype=self.dtype)))
        return partial(tf.gather, project(self.embed(tf.eye(symbols, dtype=self.dtype))))


class _Made(NamedTuple):
    """Embeddings made of the segment's symbols [steps, batch] when they are asked for."""

    make: Callable[[tf.Tensor], tf.Tensor]
    symbols: tf.Tensor

    def at(self, time: tf.Tensor) -> tf.Tensor:
        return self.make(self.symbols[time])

    def between(self, start: int, stop: int) -> tf.Tensor:
        return self.make(self.symbols[start:stop])


def _core(settings: Settings, layers: LayerSettings, schedule: Schedule, variables: Variables) -> Stack | Wayback:
    plain = settings.cell == "lstm" and not (settings.use_bn or settings.vskip or settings.context_size)
    if settings.layout == "stack":
        return (LstmStack if plain else Stack)(layers, schedule, variables)
    kind = LstmWayback if plain and settings.carry else Wayback
    return kind(layers, schedule, settings.carry, variables)


def score(logits: tf.Tensor, targets: tf.Tensor) -> Scores:
    """How well logits [..., data_dim] predict the targets [...]."""
    nats = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits)
    return Scores(nats, tf.argmax(logits, axis=-1, output_type=targets.dtype) != targets)


def _scores(logits: tf.Tensor, targets: tf.Tensor) -> Scores:
    """Of time-major logits and targets, batch-major scores."""
    return Scores(*(tf.transpose(values) for values in score(logits, targets)))


def _context(context: tf.Tensor | None) -> Callable[[tf.Tensor], tf.Tensor] | None:
    if context is None:
        return None
    if context.shape.rank == 2:
        return lambda _: context
    by_time = tf.transpose(context, [1, 0, 2])
    return lambda time: by_time[time]
