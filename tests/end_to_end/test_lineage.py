"""From a sound, wherever it was copied to, back to what made it, and to the same sound again."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mlflow import MlflowClient
from repositories import ROOT, Repository, keep_wayback_alone, make_repository

STAGE, TRAINING = "synthesize_wayback", "train_wayback"
SOUND = "primed-00-{temperature:g}.wav"
SEEDS = {"plain": 1, "here": 2, "aside": 3, "queued": 4}
LONGEST_QUEUE = 300.0

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Sounds of a plain run, of an experiment in the work tree, of a temporary and of a queued one, and a repeated synthesis.

    The branch then moved on.
    """
    repository = make_repository(tmp_path_factory.mktemp("lineage") / "a third one")
    keep_wayback_alone(repository)
    shutil.copy(ROOT / "Makefile", repository.folder)
    (repository.folder / ".venv").symlink_to(sys.prefix)
    (repository.folder / ".git/info/exclude").write_text(".venv\n")
    commit(repository, "wayback alone")
    repository.dvc("repro", STAGE)
    commit(repository, "trained")
    for name, options in {"here": (), "aside": ("--temp",), "queued": ("--queue",)}.items():
        repository.dvc("exp", "run", *options, "-n", name, "-S", f"seed={SEEDS[name]}", STAGE)
        repository.git("checkout", "-q", "--", ".")
    make_queue(repository)
    repository.dvc("checkout", "--allow-missing")
    repository.set_params({f"{STAGE}.temperatures": [0.5]})
    repository.dvc("repro", STAGE)
    commit(repository, "cooler")
    repository.set_params({f"{TRAINING}.clip_norm": 2.0})
    with (repository.folder / "models/wayback/schedule.py").open("a") as file:
        file.write("# the branch moved on\n")
    commit(repository, "later")
    return repository


def make_queue(repository: Repository) -> None:
    """Runs `make queue` and waits for its end."""
    command = ["make", "-o", "venv", "queue", "JOBS=1"]
    subprocess.run(command, cwd=repository.folder, env=repository.environment(), check=True, capture_output=True)
    deadline = time.monotonic() + LONGEST_QUEUE
    while "Success" not in (status := repository.dvc("queue", "status")):
        if "Failed" in status or time.monotonic() > deadline:
            raise TimeoutError(status)
        time.sleep(1.0)


def commit(repository: Repository, message: str) -> None:
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", message)


@pytest.fixture(scope="module")
def sounds(history: Repository, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A sound of each, outside the repository and under another name."""
    client = MlflowClient(f"sqlite:///{history.folder}/mlflow.db")
    found = client.search_runs([client.get_experiment_by_name("reprise").experiment_id])
    folder = tmp_path_factory.mktemp("elsewhere")
    names = {str(seed): name for name, seed in SEEDS.items()}
    copied = {}
    for run in found:
        repeated = "mlflow.parentRunId" in run.data.tags
        name = "cooler" if repeated else names[run.data.params["seed"]]
        sound = SOUND.format(temperature=0.5 if repeated else 1.0)
        made = client.download_artifacts(run.info.run_id, f"{STAGE}/{sound}", str(folder))
        copied[name] = Path(shutil.move(made, folder / f"the {name} one.wav"))
    return copied


def shown(repository: Repository, run: Path | str) -> dict[str, str]:
    """What `make show` prints in two columns."""
    lines = repository.command("pipeline.show", "--run", str(run)).splitlines()
    pairs = (line.split(maxsplit=1) for line in lines if not line.startswith(("+", "-", " -")))
    found: dict[str, str] = {}
    for pair in pairs:
        if len(pair) == 2:
            found.setdefault(*pair)
    return found


@pytest.mark.parametrize("name", ["here", "aside", "queued"])
def test_a_sound_outside_the_repository_leads_to_the_experiment_that_made_it(history, sounds, name):
    told = shown(history, sounds[name])
    assert told["stage"] == STAGE
    assert told["seed"] == str(SEEDS[name])
    assert told["commit"].split()[0] == history.git("rev-parse", ":/trained").strip()
    assert told["training"].removeprefix("make show RUN=") == shown(history, f"{name}:{TRAINING}")["run"].split()[0]
    assert f"/{name}" in told["dvc.lock"]


def test_a_repeated_synthesis_is_told_from_the_first_whose_sound_still_leads_to_the_training(history, sounds):
    cooler, plain = shown(history, sounds["cooler"]), shown(history, sounds["plain"])
    assert (cooler["stage"], cooler[f"{STAGE}.temperatures"]) == (STAGE, "[0.5]")
    assert (plain["stage"], plain["seed"]) == (TRAINING, "1")
    assert cooler["training"] == f"make show RUN={plain['run'].split()[0]}"
    assert shown(history, history.folder / f"data/{STAGE}") == cooler


@pytest.mark.parametrize("name", ["aside", "cooler", "plain"])
def test_a_sound_leads_back_where_dvc_s_cache_is_gone(history, sounds, tmp_path, name):
    before = shown(history, sounds[name])
    shutil.move(history.folder / ".dvc/cache", tmp_path / "cache")
    try:
        assert shown(history, sounds[name]) == before
    finally:
        shutil.move(tmp_path / "cache", history.folder / ".dvc/cache")


def test_a_sound_that_nobody_made_means_no_run(history, sounds, tmp_path):
    other = tmp_path / "other.wav"
    other.write_bytes(sounds["here"].read_bytes()[:-2] + b"\0\1")
    with pytest.raises(subprocess.CalledProcessError) as failed:
        history.command("pipeline.show", "--run", str(other))
    assert "means no run" in failed.value.stderr


@pytest.mark.parametrize("name", ["here", "aside", "queued", "cooler"])
def test_a_restored_sound_is_made_again_bit_by_bit(history, sounds, tmp_path, name):
    to = tmp_path / "as it was"
    repeat = history.command("pipeline.restore", "--run", str(sounds[name]), "--to", str(to)).splitlines()[-1]
    sound = to / f"data/{STAGE}" / SOUND.format(temperature=0.5 if name == "cooler" else 1.0)
    sound.unlink(missing_ok=True)
    printed = follow(history, repeat.replace("repro", "repro -f -s"))
    assert "Running stage" in printed
    assert sound.read_bytes() == sounds[name].read_bytes()
    history.git("worktree", "remove", "--force", str(to))


@pytest.mark.parametrize("name", ["here", "aside", "queued"])
def test_a_restored_training_gives_the_same_bits(history, tmp_path, name):
    to = tmp_path / "as it was"
    run = f"{name}:{TRAINING}"
    repeat = history.command("pipeline.restore", "--run", run, "--to", str(to)).splitlines()[-1]
    assert "8/8 steps" in follow(history, repeat.replace("repro", "repro -f -s"))
    made = Repository(to).hashes()[f"data/{TRAINING}"]
    assert made in history.git("show", f"{experiment(history, name)}:dvc.lock")
    history.git("worktree", "remove", "--force", str(to))


def follow(repository: Repository, line: str) -> str:
    """What a command line prints that a user was told, in a shell that has no settings of the tests."""
    environment = {name: value for name, value in repository.environment().items() if name != "REPRISE_PYTHON"}
    command = ["bash", "-c", line]
    return subprocess.run(
        command, cwd="/", env=environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ).stdout


def experiment(repository: Repository, name: str) -> str:
    references = repository.git("for-each-ref", "--format=%(refname)", "refs/exps").split()
    return next(reference for reference in references if reference.endswith(f"/{name}"))


def test_why_names_the_parameter_and_the_module_that_the_branch_has_changed(history):
    printed = history.command("pipeline.why", "--stage", TRAINING)
    assert "parameter   train_wayback.clip_norm: 1.0 -> 2.0" in printed
    assert "dependency  models/wayback/schedule.py" in printed
    assert "seed" not in printed
    assert "parameter   seed: 4 -> 1" in history.command(
        "pipeline.why", "--stage", TRAINING, "--run", "queued:train_wayback"
    )
