"""The whole chain through the real DVC, SQLite and MLflow, on a corpus of a few utterances."""

import csv
import math
import shutil
import subprocess
import sys
import wave

import pytest
from mlflow import MlflowClient
from repositories import copy_repository, make_repository

HALVES = ("tacotron", "wayback")


@pytest.fixture(scope="module")
def runs(trained):
    """The trainings' runs by stage, and a client of their store."""
    client = MlflowClient(f"sqlite:///{trained.folder}/mlflow.db")
    experiment = client.get_experiment_by_name("reprise")
    found = client.search_runs([experiment.experiment_id])
    return client, {run.data.tags["dvc.stage"]: run for run in found}


def test_every_stage_leaves_its_output_and_nothing_half_written(trained):
    for path in trained.hashes():
        assert (trained.folder / path).exists(), path
    assert list((trained.folder / "data").rglob(".partial.*")) == []
    assert list((trained.folder / ".work").glob("train_*")) == []


def test_a_second_repro_runs_nothing(trained):
    printed = trained.dvc("repro")
    assert "Running stage" not in printed
    assert trained.dvc("status").strip() == "Data and pipelines are up to date."


def test_kept_and_rejected_make_all_rows(trained):
    with (trained.folder / "data/prepare/utterances.csv").open(encoding="utf-8") as file:
        kept = list(csv.DictReader(file))
    with (trained.folder / "data/prepare/rejects.csv").open(encoding="utf-8") as file:
        rejected = list(csv.DictReader(file))
    rows = (trained.folder / "data/corpora/allison/metadata.csv").read_text(encoding="utf-8").splitlines()
    assert len(kept) + len(rejected) == len(rows)
    assert {row["split"] for row in kept} == {"train", "validation", "test"}


@pytest.mark.parametrize("half", HALVES)
def test_metrics_are_plain_finite_numbers(trained, half):
    metrics = trained.read(f"data/metrics/evaluate_{half}.json")
    assert {"test_loss", "test_error"} <= metrics.keys()
    assert all(isinstance(value, (int, float)) and math.isfinite(value) for value in metrics.values())


@pytest.mark.parametrize("half", HALVES)
def test_every_sample_is_a_sound_with_its_attribution_beside_it(trained, half):
    folder = trained.folder / f"data/synthesize_{half}"
    samples = trained.read(f"data/synthesize_{half}/samples.json")
    assert samples
    for sample in samples:
        with wave.open(str(folder / sample["sound"])) as sound:
            assert sound.getnframes() > 100
    if half == "wayback":
        assert (folder / "ATTRIBUTION.md").exists()


@pytest.mark.parametrize("half", HALVES)
def test_a_training_is_one_run_with_its_declared_parameters_and_curves(trained, runs, half):
    client, by_stage = runs
    run = by_stage[f"train_{half}"]
    assert run.info.status == "FINISHED"
    assert run.info.run_id == trained.read(f"data/runs/train_{half}.json")["run_id"]
    assert run.data.params[f"train_{half}.clip_norm"] == "1.0"
    assert run.data.params["seed"] == "1"
    data = {"tacotron": "mels", "wayback": "codes"}[half]
    assert {"name": data, "digest": trained.hashes()[f"data/{data}"]} in [
        {"name": used.dataset.name, "digest": used.dataset.digest} for used in run.inputs.dataset_inputs
    ]
    assert run.data.tags["git.commit"] == trained.git("rev-parse", "HEAD").strip()
    for name in ("train_loss", "train_error", "valid_loss", "valid_error", "learning_rate", "gradient_norm"):
        steps = [point.step for point in client.get_metric_history(run.info.run_id, name)]
        assert steps == ([4, 8] if name.startswith("valid") else [2, 4, 6, 8]), name
    assert any(name.startswith("meanlogabs/") for name in run.data.metrics)


@pytest.mark.parametrize("half", HALVES)
def test_evaluation_and_synthesis_add_to_the_training_s_run(trained, runs, half):
    client, by_stage = runs
    run = by_stage[f"train_{half}"]
    metrics = trained.read(f"data/metrics/evaluate_{half}.json")
    assert run.data.metrics["test_loss"] == pytest.approx(metrics["test_loss"])
    top = {item.path for item in client.list_artifacts(run.info.run_id)}
    assert {f"evaluate_{half}", f"synthesize_{half}", "checkpoints", "tensorboard"} <= top
    sounds = [item.path for item in client.list_artifacts(run.info.run_id, f"synthesize_{half}")]
    assert any(path.endswith(".wav") for path in sounds)


@pytest.mark.parametrize("half", HALVES)
def test_the_best_checkpoint_is_found_by_mlflow_s_own_search(trained, runs, half):
    client, by_stage = runs
    run = by_stage[f"train_{half}"]
    ranked = client.search_logged_models(
        [run.info.experiment_id], order_by=[{"field_name": "metrics.valid_loss", "ascending": True}]
    )
    ours = [model for model in ranked if model.source_run_id == run.info.run_id]
    lowest = min(point.value for point in client.get_metric_history(run.info.run_id, "valid_loss"))
    assert {metric.key: metric.value for metric in ours[0].metrics}["valid_loss"] == pytest.approx(lowest)


OUTSIDE = """
import sys
from pathlib import Path
import mlflow.pyfunc
import pandas as pd
model, column, value, target = sys.argv[1:]
value = value if column == "text" else Path(value).read_bytes()
made = mlflow.pyfunc.load_model(model).predict(pd.DataFrame({column: [value]}))
Path(target).write_bytes(made["audio"][0])
print(*made.columns, made["sample_rate"][0])
"""


@pytest.mark.long
@pytest.mark.parametrize("half", HALVES)
def test_the_registered_champion_gives_outside_the_repository_what_the_command_gives_inside(
    trained, runs, tmp_path, half
):
    client, _ = runs
    run_id = trained.read(f"data/runs/train_{half}.json")["run_id"]
    (version,) = client.search_model_versions(f"name = 'reprise-{half}' and run_id = '{run_id}'")
    assert version.tags["dvc.out/train_" + half] == trained.hashes()[f"data/train_{half}"]
    assert version.tags["step"] in ("4", "8")
    client.set_registered_model_alias(f"reprise-{half}", "champion", version.version)

    primer = next((trained.folder / "data/corpora/allison/wavs").rglob("*.flac"))
    column, value = {"tacotron": ("text", "Goodbye."), "wayback": ("primer", str(primer))}[half]
    command = {"tacotron": ["pipeline.say", "--text", value], "wayback": ["pipeline.sample", "--primer", value]}[half]
    python = [sys.executable, "-P"]
    environment = trained.environment(MLFLOW_TRACKING_URI=f"sqlite:///{trained.folder}/mlflow.db")
    inside, outside = tmp_path / "inside.wav", tmp_path / "outside.wav"
    trained.command(*command, "--out", str(inside))
    printed = subprocess.run(
        [*python, "-c", OUTSIDE, f"models:/reprise-{half}@champion", column, value, str(outside)],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert inside.read_bytes() == outside.read_bytes()
    assert printed.split()[:2] == ["audio", "sample_rate"]


def test_what_changes_no_result_runs_nothing(trained):
    path = trained.folder / "runtime.yaml"
    path.write_text("workers: 1\nui_port: 5999\ntracking_timeout: 5.0\n", encoding="utf-8")
    try:
        assert trained.dvc("status").strip() == "Data and pipelines are up to date."
    finally:
        path.unlink()


def changed_stages(repository) -> set[str]:
    """The stages that DVC would run; what follows them depends on what they will write."""
    printed = repository.dvc("repro", "--dry")
    return {line.split("'")[1] for line in printed.splitlines() if line.startswith("Running stage")}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("synthesize_tacotron.sentences", ["Hello."], {"synthesize_tacotron"}),
        ("report.title", "Another title", {"report"}),
        ("train_wayback.clip_norm", 0.5, {"train_wayback"}),
    ],
)
def test_a_changed_parameter_runs_the_stage_that_reads_it_and_no_other(trained, name, value, expected):
    path = trained.folder / "params.yaml"
    before = path.read_bytes()
    trained.set_params({name: value})
    try:
        assert changed_stages(trained) == expected
    finally:
        path.write_bytes(before)


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("pipeline/audio/griffin_lim.py", {"evaluate_tacotron", "synthesize_tacotron"}),
        ("models/wayback/schedule.py", {"train_wayback", "evaluate_wayback", "synthesize_wayback"}),
        ("pipeline/tracking/run.py", set()),
    ],
)
def test_an_edited_module_runs_the_stages_that_import_it_and_no_others(trained, module, expected):
    path = trained.folder / module
    before = path.read_bytes()
    path.write_bytes(before + b"# edited\n")
    try:
        assert changed_stages(trained) == expected
    finally:
        path.write_bytes(before)


def test_repeating_a_training_gives_the_same_bytes_in_a_new_run(untouched, tmp_path):
    repeated = copy_repository(untouched, tmp_path / "repeated")
    before, run = repeated.hashes(), repeated.read("data/runs/train_wayback.json")
    assert "8/8 steps" in repeated.dvc("repro", "-f", "-s", "train_wayback")
    after, again = repeated.hashes(), repeated.read("data/runs/train_wayback.json")
    assert again["run_key"] != run["run_key"]
    assert {path for path in before if before[path] != after[path]} == {"data/runs/train_wayback.json"}


@pytest.mark.long
def test_a_stage_from_the_run_cache_points_to_a_run_that_really_trained_so(trained, runs):
    client, _ = runs
    path = trained.folder / "params.yaml"
    before, weights = path.read_bytes(), trained.hashes()["data/train_wayback"]
    trained.set_params({"train_wayback.clip_norm": 0.5})
    trained.dvc("repro", "-s", "train_wayback")
    other = trained.read("data/runs/train_wayback.json")
    path.write_bytes(before)
    printed = trained.dvc("repro", "-s", "train_wayback")
    assert "is cached - skipping run" in printed
    assert trained.hashes()["data/train_wayback"] == weights
    restored = trained.read("data/runs/train_wayback.json")
    found = {run_id: client.get_run(run_id).data for run_id in (other["run_id"], restored["run_id"])}
    assert [data.params["train_wayback.clip_norm"] for data in found.values()] == ["0.5", "1.0"]
    assert found[restored["run_id"]].tags["reprise.run_key"] == restored["run_key"]


@pytest.mark.long
def test_outputs_are_equal_with_tracking_off(trained):
    before = trained.hashes()
    for stage in ("train_tacotron", "evaluate_tacotron", "synthesize_tacotron"):
        trained.dvc("repro", "-f", "-s", stage, REPRISE_TRACKING="off")
    after = trained.hashes()
    assert {path for path in before if before[path] != after[path]} == {"data/runs/train_tacotron.json"}


@pytest.mark.long
@pytest.mark.parametrize("half", HALVES)
def test_more_steps_equal_one_long_training(untouched, tmp_path, half):
    longer = copy_repository(untouched, tmp_path / "longer")
    stage = f"train_{half}"
    longer.dvc("repro", "-f", "-s", stage)
    longer.set_params({f"{stage}.max_step_count": 14})
    assert "going on from the finished training of 8 steps" in longer.dvc("repro", "-s", stage)
    continued = longer.hashes()[f"data/{stage}"]
    assert "14/14 steps" in longer.dvc("repro", "-f", "-s", stage)
    assert longer.hashes()[f"data/{stage}"] == continued


@pytest.mark.long
def test_repeating_everything_changes_nothing_but_the_runs_and_the_links_to_them(untouched, tmp_path):
    repeated = copy_repository(untouched, tmp_path / "repeated")
    before, page = repeated.hashes(), page_without_runs(repeated)
    assert repeated.dvc("repro", "-f").count("8/8 steps") == len(HALVES)
    after = repeated.hashes()
    runs_and_report = {*(f"data/runs/train_{half}.json" for half in HALVES), "data/report"}
    assert {path for path in before if before[path] != after[path]} == runs_and_report
    assert page_without_runs(repeated) == page


def page_without_runs(repository) -> str:
    """The report, with the same words wherever it names a run."""
    page = (repository.folder / "data/report/index.html").read_text(encoding="utf-8")
    for half in HALVES:
        run = repository.read(f"data/runs/train_{half}.json")
        for name in (run["run_id"], run["run_id"][:8], run["run_key"]):
            page = page.replace(name, "RUN")
    return page


@pytest.mark.long
def test_a_start_from_weights_of_another_vocabulary_is_refused_with_what_differs(untouched, tmp_path):
    other = copy_repository(untouched, tmp_path / "other")
    shutil.copytree(other.folder / "data/train_tacotron", other.folder / "data/earlier")
    other.set_params({"train_tacotron.initialize_from": "data/earlier", "text.units": "characters"})
    printed = other.dvc("repro", "train_tacotron", code=255)
    assert "initialize_from: data/earlier was trained with another vocabulary than data/vocabulary" in printed


@pytest.mark.long
def test_a_temporary_experiment_lands_in_the_same_store(tmp_path):
    repository = make_repository(tmp_path / "another one")
    repository.dvc("repro", "train_wayback")
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", "trained")
    repository.dvc("exp", "run", "--temp", "-n", "clipped", "-S", "train_wayback.clip_norm=0.5", "train_wayback")
    client = MlflowClient(f"sqlite:///{repository.folder}/mlflow.db")
    found = client.search_runs([client.get_experiment_by_name("reprise").experiment_id])
    assert {run.data.params["train_wayback.clip_norm"] for run in found} == {"1.0", "0.5"}
    for run in found:
        assert run.info.status == "FINISHED"
        for item in client.list_artifacts(run.info.run_id, "checkpoints"):
            assert client.download_artifacts(run.info.run_id, item.path, str(tmp_path))
