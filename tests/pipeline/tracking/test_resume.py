"""An interrupted training goes on in the same run, with one value a step in every curve."""


def test_a_killed_training_goes_on_in_its_run_without_a_value_twice(repository) -> None:
    repository.train("--end", "SIGKILL", "--at", "12")
    code, output = repository.train(
        "--first", "5", "--at", "15", "--extra", "train_toy.units=8.0,train_toy.decay_rate=0.9"
    )

    assert code == 0, output
    (run,) = repository.runs()
    assert run.info.status == "FINISHED"
    assert repository.curve(run) == [(step, 1 / (step + 1)) for step in range(20)]
    assert run.data.params["train_toy.units"] == "8"
    assert run.data.params["train_toy.decay_rate"] == "0.5"
    assert run.data.tags["resume-1/train_toy.decay_rate"] == "0.9"
    assert "resume-1/train_toy.units" not in run.data.tags
    assert "reprise.reason" not in run.data.tags
    assert run.data.tags["reprise.attempts"] == "2"


def test_a_new_state_folder_means_a_new_run(repository) -> None:
    repository.train("--steps", "2", "--name", "one")
    repository.train("--steps", "2", "--name", "other")
    assert len(repository.runs()) == 2


def test_the_store_finds_the_best_checkpoint_by_its_figures(repository) -> None:
    repository.train("--at", "4", "--end", "SIGKILL")
    repository.train("--first", "3", "--at", "9")
    store = repository.store()

    best, worse = store.client.search_logged_models(
        [store.experiment_id], order_by=[{"field_name": "metrics.valid_loss", "ascending": True}]
    )

    assert [best.name, worse.name] == ["train_toy-step-00000009", "train_toy-step-00000004"]
    assert best.metrics[0].value == 1 / 10
    assert best.metrics[0].step == 9
    (file,) = store.client.list_artifacts(best.source_run_id, "checkpoints/step-00000009")
    assert (file.path, file.file_size) == ("checkpoints/step-00000009/weights.bin", 1000)
