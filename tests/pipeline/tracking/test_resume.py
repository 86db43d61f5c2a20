"""An interrupted training goes on in the same run, with one value a step in every curve."""

from types import SimpleNamespace
from typing import Any

import pytest


@pytest.fixture(scope="module")
def resumed(shared_repository: Any) -> SimpleNamespace:
    """A training killed at step 12 that goes on from step 5 with a changed parameter, and checkpoints at 12 and 15."""
    repository = shared_repository
    repository.train("--end", "SIGKILL", "--at", "12", "--name", "resumed")
    changes = "train_toy.units=8.0,train_toy.decay_rate=0.9"
    code, output = repository.train("--first", "5", "--at", "15", "--extra", changes, "--name", "resumed")
    assert code == 0, output
    (run,) = repository.runs()
    return SimpleNamespace(run=run, curve=repository.curve(run), store=repository.store())


def test_it_is_the_same_run_and_no_value_is_there_twice(resumed: SimpleNamespace) -> None:
    assert resumed.run.info.status == "FINISHED"
    assert resumed.curve == [(step, 1 / (step + 1)) for step in range(20)]
    assert resumed.run.data.tags["reprise.attempts"] == "2"
    assert "reprise.reason" not in resumed.run.data.tags


def test_a_changed_parameter_becomes_a_tag_and_an_equal_number_does_not(resumed: SimpleNamespace) -> None:
    assert resumed.run.data.params["train_toy.decay_rate"] == "0.5"
    assert resumed.run.data.tags["resume-1/train_toy.decay_rate"] == "0.9"
    assert "resume-1/train_toy.units" not in resumed.run.data.tags


def test_the_store_finds_the_best_checkpoint_by_its_figures(resumed: SimpleNamespace) -> None:
    client, experiment = resumed.store.client, resumed.store.experiment_id
    order = [{"field_name": "metrics.valid_loss", "ascending": True}]
    best, worse = client.search_logged_models([experiment], order_by=order)
    assert [best.name, worse.name] == ["train_toy-step-00000015", "train_toy-step-00000012"]
    assert (best.metrics[0].value, best.metrics[0].step) == (1 / 16, 15)
    (file,) = client.list_artifacts(best.source_run_id, "checkpoints/step-00000015")
    assert (file.path, file.file_size) == ("checkpoints/step-00000015/weights.bin", 1000)
