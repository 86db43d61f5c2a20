"""The training loop: the same bits however often it is interrupted, and a stop at what is not finite."""

import numpy as np
import pytest
import tensorflow as tf

from pipeline.errors import InputError
from pipeline.training import checkpoints
from pipeline.training.adam import Adam
from pipeline.training.fit import fit, make_step, prefetch
from pipeline.training.learner import StepResult


def values(learner):
    return {name: variable.numpy().tobytes() for name, variable in {**learner.variables, **learner.statistics}.items()}


def test_a_training_cut_in_three_equals_one_that_was_not(line, training, run, tmp_path):
    whole, parts = line(), line()
    undisturbed = fit(whole, training, run, tmp_path / "whole")
    for count in (7, 12, 23):
        cut = fit(parts, training.model_copy(update={"max_step_count": count}), run, tmp_path / "parts")
        parts = line() if count < 23 else parts
    assert values(parts) == values(whole)
    assert cut == undisturbed


def test_resuming_at_the_last_step_trains_no_step(line, training, run, tmp_path):
    first = line()
    fit(first, training, run, tmp_path)
    second = line()
    fit(second, training, run, tmp_path)
    assert second.traces == 0
    assert values(second) == values(first)


def test_a_damaged_newest_checkpoint_is_passed_over(line, training, run, tmp_path, capsys):
    whole, resumed = line(), line()
    fit(whole, training, run, tmp_path)
    newest = checkpoints.folder_of(tmp_path, 23) / checkpoints.TENSORS
    newest.write_bytes(newest.read_bytes()[:-7])
    fit(resumed, training, run, tmp_path)
    assert "step-00000023 is damaged" in capsys.readouterr().err
    assert values(resumed) == values(whole)


def test_the_published_weights_are_those_of_the_lowest_validation_loss(line, training, run, tmp_path):
    learner = line()
    changes = {
        "published_checkpoint": "best",
        "max_step_count": 60,
        "initial_learning_rate": 2.0,
        "decay_half_life": None,
    }
    fitted = fit(learner, training.model_copy(update=changes), run, tmp_path)
    losses = {row["step"]: row["valid_loss"] for row in fitted.history if "valid_loss" in row}
    assert fitted.published_step == fitted.best_step == min(losses, key=losses.get) != 60
    assert learner.validate()["loss"] == losses[fitted.best_step]


def test_a_loss_that_is_not_finite_stops_and_leaves_the_weights(line, training, run, tmp_path):
    learner, clean = line(poison_at=9), line()
    with pytest.raises(InputError, match=r"step 9: the loss is nan .* item-9"):
        fit(learner, training, run, tmp_path / "poisoned")
    fit(clean, training.model_copy(update={"max_step_count": 8}), run, tmp_path / "clean")
    assert values(learner) == values(clean)
    assert np.isfinite(checkpoints.load_newest(tmp_path / "poisoned").tensors["variable/w"]).all()


def test_every_figure_is_logged_once_a_step(line, training, run, tmp_path):
    history = fit(line(), training, run, tmp_path).history
    logged = [row["step"] for row in history if "train_loss" in row]
    validated = [row["step"] for row in history if "valid_loss" in row]
    assert logged == [4, 8, 12, 16, 20]
    assert validated == [5, 10, 15, 20, 23]
    assert all(np.isfinite(list(row.values())).all() for row in history)


def test_batches_of_many_sizes_are_traced_once(line, training, run, tmp_path):
    learner = line()
    fit(learner, training, run, tmp_path)
    assert learner.traces == 1


def test_gradients_are_clipped_together_and_keep_their_direction(line):
    learner = line()
    learner.variables = {"w": tf.Variable([0.0, 0.0])}
    slope = StepResult(tf.constant(0.0), {}, learner.initial_state, {})
    learner.loss = lambda *_: slope._replace(loss=tf.reduce_sum(learner.variables["w"] * [3.0, 4.0]))
    learner.penalty = lambda: tf.constant(0.0)
    adam = Adam(learner.variables, 0.9, 0.999, 1e-8)
    batch = next(learner.batches(None))
    step = make_step(learner, adam, clip_norm=1.0)
    outcome = step(batch.arrays, learner.initial_state, tf.constant(0, tf.int64), tf.constant(0.1, tf.float64), True)
    assert float(outcome.gradient_norm) == 5.0
    np.testing.assert_allclose(adam.slots["first/w"].numpy(), [0.1 * 0.6, 0.1 * 0.8], rtol=1e-6)
    np.testing.assert_allclose(outcome.magnitudes.numpy()[1], [(np.log(4) + np.log(5)) / 2], rtol=1e-6)


def test_a_parameter_without_a_gradient_is_named(line, training, run, tmp_path):
    learner = line()
    learner.variables["forgotten"] = tf.Variable(1.0)
    with pytest.raises(InputError, match="forgotten"):
        fit(learner, training, run, tmp_path)


def test_batches_go_on_from_their_position(line):
    learner = line()
    straight = list(prefetch(learner, None, 6))
    resumed = list(prefetch(learner, straight[2].position, 3))
    for expected, batch in zip(straight[3:], resumed, strict=True):
        np.testing.assert_array_equal(batch.arrays["x"], expected.arrays["x"])
        assert batch.items == expected.items


def test_the_last_checkpoints_and_the_best_are_kept(line, training, run, tmp_path, files):
    kept = training.model_copy(update={"checkpoint_count": 2, "initial_learning_rate": 3.0, "max_step_count": 60})
    fitted = fit(line(), kept, run, tmp_path)
    assert files.steps(tmp_path) == sorted({fitted.best_step, 54, 60})
