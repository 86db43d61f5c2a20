"""The authors' code and ours give the same numbers. Every setting comes from the files; GOLDEN_DIR names other ones of
the same form.
"""

import json
import os
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from models.wayback.sequence import Scores, SequenceModel, Settings, State, score

FOLDER = Path(os.environ.get("GOLDEN_DIR", Path(__file__).parents[1] / "golden")) / "wayback"
FILES = sorted(FOLDER.glob("*.npz"))
SETTINGS = [name for name in Settings._fields if name != "context_size"]

pytestmark = pytest.mark.skipif(not FILES, reason=f"no golden files in {FOLDER}")


class Trained(NamedTuple):
    loss: tf.Tensor
    error: tf.Tensor
    scores: Scores
    final: State
    by_variables: dict[str, tf.Tensor]
    by_state: tuple
    by_one_hot: tf.Tensor
    by_embedding: tf.Tensor


class Golden:
    """One file's weights in our model, and its numbers."""

    def __init__(self, file: Path, dtype: tf.DType):
        self.numbers = dict(np.load(file))
        self.meta = json.loads(str(self.numbers["meta_json"]))
        self.hp = self.meta["hp"]
        self.dtype = dtype
        self.model = SequenceModel(
            Settings(**{name: self.hp[name] for name in SETTINGS}), np.random.default_rng(0), dtype
        )
        self.x = self.numbers["x"].T
        self.steps = self.meta["segment_length"] - 1
        self.reset()

    def reset(self) -> None:
        for name, variable in self.model.variables.items():
            variable.assign(self.numbers[f"param/seq/{name}"])

    def state(self, prefix: str, time: int = 0) -> State:
        layers, components = len(self.hp["layer_sizes"]), len(self.model.initial_state(1).layers[0])
        return State(
            tf.constant(time),
            tuple(
                tuple(tf.constant(self.numbers[f"{prefix}/cell{i}/{k}"], self.dtype) for k in range(components))
                for i in range(layers)
            ),
        )

    @cached_property
    def predict(self) -> tf.types.experimental.PolymorphicFunction:
        batch = len(self.x)
        return tf.function(
            self.model.predict,
            autograph=False,
            input_signature=[
                tf.TensorSpec([batch, None], tf.int32),
                tf.nest.map_structure(tf.TensorSpec.from_tensor, self.state("state0")),
            ],
        )

    @cached_property
    def train(self) -> tf.types.experimental.PolymorphicFunction:
        """A training step's numbers, with gradients by the variables, the initial state, and the inputs of each
        step.
        """

        @tf.function(autograph=False)
        def train(symbols, state):
            one_hot = tf.one_hot(tf.transpose(symbols[:, :-1]), self.hp["data_dim"], dtype=self.dtype)
            with tf.GradientTape() as tape:
                tape.watch((one_hot, state.layers))
                embedding = self.model.embed(one_hot)
                scores, final = self.model.train_embedded(embedding, symbols[:, 1:], state)
                loss = tf.reduce_mean(scores.nats)
            sources = (self.model.variables, state.layers, one_hot, embedding)
            gradients = tape.gradient(loss, sources, unconnected_gradients=tf.UnconnectedGradients.ZERO)
            return Trained(loss, tf.reduce_mean(tf.cast(scores.errors, self.dtype)), scores, final, *gradients)

        return train

    def segment(self, number: int) -> tf.Tensor:
        return tf.constant(self.x[:, number * self.steps : (number + 1) * self.steps + 1])

    def close(self, value, key: str, tolerance: float | None = None) -> None:
        if tolerance is None:
            single = 5e-5 if self.hp["use_bn"] else 1e-5
            tolerance = 1e-9 if self.dtype == tf.float64 else single
        np.testing.assert_allclose(np.asarray(value), self.numbers[key], rtol=0, atol=tolerance, err_msg=key)

    def after_updates(self) -> float:
        return 1e-7 if self.dtype == tf.float64 else 5e-5

    def close_state(self, state: State, prefix: str, tolerance: float | None = None) -> None:
        for i, layer in enumerate(state.layers):
            for k, value in enumerate(layer):
                self.close(value, f"{prefix}/cell{i}/{k}", tolerance)
        if f"{prefix}/time" in self.numbers:
            assert int(state.time) == int(self.numbers[f"{prefix}/time"])

    def with_decay(self, gradients: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        decay = self.hp["weight_decay"]
        return {
            name: gradient
            + (decay * matrix / tf.norm(matrix) if (matrix := self.model.variables[name]).shape.rank == 2 else 0)
            for name, gradient in gradients.items()
        }


class AdamOfTensorFlow1:
    """Adam with its betas and their powers in single precision, as the reference was run."""

    def __init__(self, variables: dict[str, tf.Variable]):
        self.variables = list(variables.values())
        self.first = [np.zeros(variable.shape) for variable in self.variables]
        self.second = [np.zeros(variable.shape) for variable in self.variables]
        self.betas = self.powers = np.array([0.9, 0.999], np.float32)

    def apply(self, gradients: list[tf.Tensor], rate: float) -> None:
        (beta1, beta2), (power1, power2) = self.betas.astype(float), self.powers.astype(float)
        rate *= np.sqrt(1 - power2) / (1 - power1)
        for i, (variable, gradient) in enumerate(zip(self.variables, gradients, strict=True)):
            gradient = np.asarray(gradient, float)
            self.first[i] += (1 - beta1) * (gradient - self.first[i])
            self.second[i] += (1 - beta2) * (gradient**2 - self.second[i])
            variable.assign_sub(rate * self.first[i] / (np.sqrt(self.second[i]) + 1e-8))
        self.powers = self.powers * self.betas


def cases(files: list[Path]) -> list:
    return [
        pytest.param((file, dtype), id=f"{file.stem}-{dtype.name}")
        for file in files
        for dtype in (tf.float64, tf.float32)
    ]


def only_files_with(key: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "golden", cases([file for file in FILES if key in np.load(file).files]), indirect=True
    )


@pytest.fixture(scope="module", params=cases(FILES))
def golden(request) -> Golden:
    return Golden(*request.param)


def test_the_layout_is_the_authors(golden):
    schedule, meta = golden.model.schedule, golden.meta
    assert schedule.step_count + 1 == meta["segment_length"]
    assert schedule.period == meta["period"]
    if golden.hp["unroll_layer_count"]:
        assert list(schedule.boundary_steps) == meta["boundaries_elements"]
        assert schedule.run_length == meta["inner_period"]
        in_loss = [run["start"] >= schedule.first_counted for run in meta["inner_runs"]]
        assert in_loss == [run["in_loss"] for run in meta["inner_runs"]]
    assert {f"seq/{name}" for name in golden.model.variables} == set(meta["param_order"])
    matrices = {f"seq/{name}" for name, variable in golden.model.variables.items() if variable.shape.rank == 2}
    assert matrices == set(meta["regularized"] or matrices)


def test_logits_losses_errors_and_final_states_are_the_authors(golden):
    logits, final = golden.predict(golden.segment(0)[:, :-1], golden.state("state0"))
    scores = score(logits, golden.segment(0)[:, 1:])
    golden.close(tf.transpose(logits, [1, 0, 2]), "eval/exhat")
    golden.close(tf.transpose(logits, [1, 0, 2]), "train/exhat")
    golden.close(tf.transpose(scores.nats), "eval/losses")
    golden.close(tf.transpose(scores.errors)[..., None], "eval/errors")
    golden.close(tf.reduce_mean(scores.nats), "eval/loss")
    golden.close_state(final, "eval/final_state")
    golden.close_state(final, "train/final_state")


@only_files_with("eval_offset/time0")
def test_a_segment_may_begin_inside_a_cycle(golden):
    start = golden.state("state0", int(golden.numbers["eval_offset/time0"]))
    logits, final = golden.predict(golden.segment(0)[:, :-1], start)
    golden.close(tf.transpose(logits, [1, 0, 2]), "eval_offset/exhat")
    golden.close(tf.reduce_mean(score(logits, golden.segment(0)[:, 1:]).nats), "eval_offset/loss")
    assert int(final.time) == int(golden.numbers["eval_offset/final_time"])


def test_the_counted_loss_and_its_truncated_gradients_are_the_authors(golden):
    step = golden.train(golden.segment(0), golden.state("state0"))
    golden.close(step.loss, "train/loss")
    golden.close(step.error, "train/error")
    golden.close_state(step.final, "train/final_state")
    counted = golden.numbers["train/in_loss"]
    np.testing.assert_allclose(
        tf.transpose(step.scores.nats), golden.numbers["train/losses"][counted], rtol=0, atol=1e-5
    )
    with_decay = golden.with_decay(step.by_variables)
    for name, gradient in step.by_variables.items():
        golden.close(with_decay[name], f"grad/seq/{name}")
        if f"grad_noreg/seq/{name}" in golden.numbers:
            golden.close(gradient, f"grad_noreg/seq/{name}")
    golden.close(tf.linalg.global_norm(list(with_decay.values())), "train/global_norm")
    for i, layer in enumerate(step.by_state):
        for k, gradient in enumerate(layer):
            golden.close(gradient, f"dstate0/cell{i}/{k}")
            assert not golden.meta["dstate0_zero"][f"cell{i}/{k}"] or not np.any(gradient)


def test_clipped_gradients_are_the_authors(golden):
    gradients = golden.with_decay(golden.train(golden.segment(0), golden.state("state0")).by_variables)
    norm = tf.linalg.global_norm(list(gradients.values()))
    for limit, key in ((1.0, "clip1"), (0.1, "clip01")):
        clipped, _ = tf.clip_by_global_norm(list(gradients.values()), limit)
        golden.close(tf.minimum(1.0, limit / norm), f"{key}_scale")
        for name, gradient in zip(gradients, clipped, strict=True):
            if f"{key}/seq/{name}" in golden.numbers:
                golden.close(gradient, f"{key}/seq/{name}")


@only_files_with("dinput/onehot")
def test_inputs_before_a_boundary_have_no_gradient_at_all(golden):
    step = golden.train(golden.segment(0), golden.state("state0"))
    golden.close(step.by_one_hot, "dinput/onehot")
    golden.close(step.by_embedding, "dinput/embedding")
    zero = [time for time in range(golden.steps) if not np.any(step.by_embedding[time])]
    assert zero == golden.meta["dinput_zero_steps"] == list(np.flatnonzero(golden.numbers["dinput/step_is_zero"]))


def test_three_updates_with_a_decay_are_the_authors(golden):
    golden.reset()
    adam = AdamOfTensorFlow1(golden.model.variables)
    state = golden.state("state0")
    tolerance = golden.after_updates()
    for step in range(3):
        trained = golden.train(golden.segment(step), state)
        state = trained.final
        with_decay = list(golden.with_decay(trained.by_variables).values())
        clipped, norm = tf.clip_by_global_norm(with_decay, golden.hp["clip_norm"])
        for value, key in ((trained.loss, "loss"), (trained.error, "error"), (norm, "global_norm")):
            assert abs(float(value) - golden.numbers[f"steps/{key}"][step]) < tolerance
        adam.apply(clipped, golden.numbers["steps/lr"][step])
        for name, variable in golden.model.variables.items():
            if step != 1:
                golden.close(variable, f"adam{step + 1}/seq/{name}", tolerance)
    golden.close_state(state, "adam3_state", tolerance)
    golden.reset()


def test_segments_of_unequal_length_are_evaluated_like_the_authors(golden):
    state, cuts = golden.state("state0"), golden.numbers["evaluator/cuts"]
    losses, errors, times = [], [], []
    for start, stop in pairwise(cuts):
        segment = golden.x[:, start : stop + 1]
        logits, state = golden.predict(segment[:, :-1], state)
        scores = score(logits, segment[:, 1:])
        losses.append(np.mean(scores.nats))
        errors.append(np.mean(scores.errors))
        times.append(int(state.time))
    golden.close(losses, "evaluator/segment_loss")
    golden.close(errors, "evaluator/segment_error")
    golden.close(np.mean(losses), "evaluator/loss")
    golden.close(np.mean(errors), "evaluator/error")
    golden.close_state(state, "evaluator/final_state")
    if golden.hp["layout"] == "wayback":
        np.testing.assert_array_equal(times, golden.numbers["evaluator/time_after"])


def test_greedy_samples_are_the_authors(golden):
    expected = golden.numbers["sample/xhat"].T
    noise = tf.zeros([expected.shape[1], len(golden.x), golden.hp["data_dim"]], golden.dtype)
    sample = tf.function(golden.model.sample, autograph=False)
    symbols, state = sample(golden.x[:, 0], golden.state("state0"), noise, tf.zeros([len(golden.x)], golden.dtype))
    np.testing.assert_array_equal(symbols, expected)
    golden.close_state(state, "sample/final_state")
