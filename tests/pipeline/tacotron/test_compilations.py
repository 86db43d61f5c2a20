"""Lengths vary, traces and compilations do not: each shape is compiled once, nothing in the steady state."""

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SHAPES = 2
TEXTS = ("a b c", "hello there"), ("d", "seven eight nine")
QUICKLY = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def counts(tmp_path_factory) -> list[dict[str, int]]:
    """Traces by function, and compiled modules, after each of two rounds of all that is done with a model."""
    dump = tmp_path_factory.mktemp("modules")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XLA_FLAGS": f"--xla_dump_to={dump} {QUICKLY}"}
    done = subprocess.run(
        [sys.executable, __file__, dump, tmp_path_factory.mktemp("mels")],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_whatever_the_lengths_a_function_is_traced_once_or_twice(counts):
    """Twice where an LSTM has another rank of inputs: both directions side by side, or one alone."""
    assert all(1 <= count <= 2 for name, count in counts[1].items() if name != "modules")


def test_in_the_steady_state_nothing_is_traced_or_compiled(counts):
    assert counts[1] == counts[0]


def test_compilations_are_bounded_by_the_shapes(counts):
    assert counts[0]["modules"] <= 12 * SHAPES


def main(dump: Path, folder: Path) -> None:
    """Trains, validates, evaluates and speaks twice, and counts after each round."""
    import tensorflow as tf

    from models.recurrence import lstm
    from models.tacotron import attention
    from pipeline.params import check_params
    from pipeline.tacotron.evaluation import evaluate
    from pipeline.tacotron.speaking import Manner, say
    from pipeline.training.adam import Adam
    from pipeline.training.fit import make_step
    from tests.pipeline.tacotron.conftest import make_learner, make_trained, tiny_params, write_split

    params = tiny_params(bucket_count=SHAPES)
    train, other = write_split(folder / "train", 30, 0), write_split(folder / "other", 9, 1, [12, 30])
    learner = make_learner(train, other, params)
    take_step = make_step(learner, Adam(learner.variables, 0.9, 0.999, 1e-6), 1.0)
    trained, _ = make_trained()
    section = check_params(ROOT).evaluate_tacotron.model_copy(update={"batch_size": 3, "max_seconds": 0.2})
    batches, rate = learner.batches(None), tf.constant(1e-3, tf.float64)
    functions = {
        "train": take_step,
        "follow": trained.follow,
        "speak": trained.speak,
        "attention": attention._forward,
        "attention's gradient": attention._backward,
        "LSTM": lstm._forward,
        "LSTM's gradient": lstm._backward,
    }
    counts = []
    for texts in TEXTS:
        for batch in islice(batches, 30):
            take_step(batch.arrays, (), tf.constant(0, tf.int64), rate, False)
        learner.validate()
        evaluate(trained, other, section, 0)
        for text in texts:
            say(trained, text, Manner(0.5, 0.5, 0.2, "split", 1))
        traces = {name: function.experimental_get_tracing_count() for name, function in functions.items()}
        modules = {path.name.split(".")[0] for path in dump.iterdir() if path.name.startswith("module_")}
        counts.append({**traces, "modules": len(modules)})
    json.dump(counts, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
