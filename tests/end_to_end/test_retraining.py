"""The life of a project whose CI retrains: a bare git remote, a DVC remote folder, an MLflow server, several clones."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mlflow_server import Server
from repositories import Repository, keep_wayback_alone, make_repository, stop

from pipeline.promotion.decision import Outcome

MODEL = "reprise-wayback"
STEPS = ("pull", "train", "push data", "judge", "report", "commit", "push branch", "promote")
POINTS = (*(f"== {step}" for step in STEPS[:2]), "Running stage 'train_wayback'", *(f"== {step}" for step in STEPS[2:]))
SMALL = {
    "prepare.validation_fraction": 0.1,
    "prepare.test_fraction": 0.3,
    "gate.min_utterances": 5,
    "train_wayback.tracking_interval": 4,
    "train_wayback.checkpoint_interval": 4,
}


class Project:
    """A team's remotes and server."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.clones = 0
        (folder / "server").mkdir(parents=True)
        (folder / "data").mkdir()
        self.server = Server(folder / "server").start()
        first = make_repository(folder / "start", utterances=40)
        keep_wayback_alone(first)
        first.set_params(SMALL)
        first.dvc("remote", "add", "-d", "team", str(folder / "data"))
        first.git("commit", "-q", "-a", "-m", "One model, and where data is kept")
        first.git("clone", "-q", "--bare", ".", str(folder / "origin.git"))

    def clone(self) -> Repository:
        """A new machine's checkout of the main branch."""
        self.clones += 1
        place = self.folder / f"clone {self.clones}"
        subprocess.run(["git", "clone", "-q", self.folder / "origin.git", place], check=True)
        return Repository(place)

    def start(self, clone: Repository, module: str, *arguments: str, **environment: str) -> subprocess.Popen:
        """Starts `python -m MODULE ARGUMENTS` as the leader of a process group."""
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=clone.folder,
            env=clone.environment(MLFLOW_TRACKING_URI=self.server.address, **environment),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def command(self, clone: Repository, module: str, *arguments: str, code: int = 0, **environment: str) -> str:
        """Runs it, and gives what it printed."""
        process = self.start(clone, module, *arguments, **environment)
        printed, _ = process.communicate()
        assert process.returncode == code, printed
        return printed

    def retrain(self, clone: Repository, *arguments: str, code: int = 0) -> str:
        """What CI runs on the main branch."""
        return self.command(clone, "pipeline.retrain", "--promotes", "1", *arguments, code=code)

    def kill(self, clone: Repository, line: str) -> None:
        """Starts what CI runs, and kills it with all it has started as soon as it prints the line."""
        process = self.start(clone, "pipeline.retrain", "--promotes", "1")
        printed = []
        for each in process.stdout:
            printed.append(each)
            if line in each:
                break
        else:
            raise AssertionError(f"it never said {line!r}: {''.join(printed)}")
        stop(process, signal.SIGKILL)

    def develop(self, values: dict[str, object], branch: str = "main") -> None:
        """Someone changes parameters and pushes them."""
        clone = self.clone()
        if branch != "main":
            clone.git("checkout", "-q", "-b", branch)
        clone.set_params(values)
        clone.git("commit", "-q", "-a", "-m", f"Tries {values}")
        clone.git("push", "-q", "origin", f"HEAD:{branch}")

    def head(self, branch: str = "main") -> str:
        """What the branch is at."""
        command = ["git", "rev-parse", f"refs/heads/{branch}"]
        return subprocess.run(
            command, cwd=self.folder / "origin.git", check=True, capture_output=True, text=True
        ).stdout

    def require_whole(self, branch: str = "main") -> Repository:
        """Shows that a new clone gets everything that its dvc.lock names, and that nothing in it must run."""
        clone = self.require_complete(branch)
        assert clone.dvc("status").strip() == "Data and pipelines are up to date."
        return clone

    def require_complete(self, branch: str = "main") -> Repository:
        """Shows that a new clone gets everything that its dvc.lock names."""
        clone = self.clone()
        clone.git("checkout", "-q", branch)
        if (clone.folder / "dvc.lock").exists():
            clone.dvc("pull")
        return clone

    def champion(self) -> tuple[str, str] | None:
        """Number and decision of the champion in the registry."""
        found = self._client().get_registered_model(MODEL)
        if "champion" not in found.aliases:
            return None
        number = str(found.aliases["champion"])
        return number, self._client().get_model_version(MODEL, number).tags.get("gate.outcome", "")

    def versions(self) -> int:
        """How many models are registered."""
        return len(self._client().search_model_versions(f"name = '{MODEL}'"))

    def _client(self):
        from pipeline.tracking.client import MlflowClient

        return MlflowClient(self.server.address, self.server.address)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Iterator[Project]:
    """A project whose first model is the champion."""
    for name in [name for name in os.environ if name.startswith(("MLFLOW_", "REPRISE_"))]:
        del os.environ[name]
    made = Project(tmp_path_factory.mktemp("life"))
    try:
        yield made
    finally:
        made.server.close()


pytestmark = pytest.mark.long


def test_a_project_lives(project):
    """In one test, because each chapter begins where the one before has ended."""
    first = project.clone()
    printed = project.retrain(first)
    assert "has no champion" in printed and project.champion() is None and project.versions() == 1
    project.command(first, "pipeline.promote", "--first", "1")
    assert project.champion() == ("1", "")
    assert "there is nothing to compare with" in (first.folder / ".work/changes/changes.md").read_text()
    project.require_whole()

    head = project.head()
    assert "nothing has changed" in project.retrain(first)
    assert "nothing has changed" in project.retrain(project.clone())
    assert (project.head(), project.versions()) == (head, 1)

    project.develop({"train_wayback.max_step_count": 60})
    clone = project.clone()
    printed = project.retrain(clone)
    assert f"{MODEL}: version 2 is the champion, was 1" in printed
    assert project.champion() == ("2", "better")
    page = (clone.folder / ".work/changes/changes.md").read_text()
    assert "| `train_wayback.max_step_count` | `8` | `60` |" in page
    project.require_whole()

    project.develop({"train_wayback.initial_learning_rate": 1e-6})
    printed = project.retrain(project.clone(), code=Outcome.WORSE.value)
    assert "the champion stays" in printed
    assert project.champion() == ("2", "better") and project.versions() == 3
    project.require_whole()

    project.develop({"train_wayback.initial_learning_rate": 0.002})
    printed = project.retrain(project.clone())
    assert "version 2 is the champion" in printed and project.versions() == 3
    project.require_whole()


def test_broken_data_publishes_nothing(project):
    head, champion = project.head(), project.champion()
    clone = project.clone()
    clone.git("checkout", "-q", "-b", "recordings")
    for path in (clone.folder / "data/corpora/allison/wavs/prompts").glob("*.flac"):
        path.write_bytes(path.read_bytes()[:100])
    clone.git("commit", "-q", "-a", "-m", "New recordings")
    clone.git("push", "-q", "origin", "HEAD:recordings")
    before = project.head("recordings")
    printed = project.command(clone, "pipeline.retrain", code=1)
    assert "prepare" in printed
    assert (project.head(), project.head("recordings"), project.champion()) == (head, before, champion)
    project.require_whole()


def test_a_branch_is_judged_and_the_champion_moves_when_it_is_merged(project):
    number = int(project.champion()[0])
    project.develop({"train_wayback.max_step_count": 120}, branch="longer")
    clone = project.clone()
    clone.git("checkout", "-q", "longer")
    printed = project.command(clone, "pipeline.retrain")
    assert "no champion is moved" in printed and project.champion()[0] == str(number)
    project.require_whole("longer")

    merging = project.clone()
    merging.git("merge", "-q", "--no-ff", "-m", "Merge", "origin/longer")
    merging.git("push", "-q", "origin", "main")
    versions = project.versions()
    project.retrain(project.clone())
    assert project.versions() == versions
    assert project.champion() == (str(versions), "better")
    project.require_whole()


def test_of_two_pushes_at_once_the_second_is_retrained_after_the_first(project):
    champion, clone = project.champion(), project.clone()
    project.develop({"train_wayback.max_step_count": 130})
    clone.git("pull", "-q")
    process = project.start(clone, "pipeline.retrain", "--promotes", "1")
    printed = ""
    for line in process.stdout:
        printed += line
        if "== judge" in line:
            project.develop({"train_wayback.max_step_count": 240})
            head = project.head()
    assert process.wait() == 1 and "could not be pushed" in printed
    assert (project.head(), project.champion()) == (head, champion)
    project.require_complete()

    project.retrain(project.clone())
    assert project.champion() == (str(project.versions()), "better")
    project.require_whole()
    assert "nothing has changed" in project.retrain(clone)


def test_a_server_that_is_down_stops_it_before_and_after_training_and_the_next_run_goes_on(project):
    project.develop({"train_wayback.max_step_count": 300})
    head, champion, clone = project.head(), project.champion(), project.clone()
    project.server.signal(signal.SIGKILL)
    assert "does not answer" in project.retrain(clone, code=1)
    project.server.start()
    process = project.start(clone, "pipeline.retrain", "--promotes", "1")
    printed = ""
    for line in process.stdout:
        printed += line
        if "Running stage 'train_wayback'" in line:
            project.server.signal(signal.SIGKILL)
    assert process.wait() == 1, printed
    project.server.start()
    assert (project.head(), project.champion()) == (head, champion)
    project.require_complete()

    project.retrain(clone)
    project.require_whole()


@pytest.mark.parametrize(("fresh", "trainings"), [(False, 1), (True, 2)], ids=["one machine", "a new one each time"])
def test_a_kill_in_each_step_loses_nothing_and_the_next_run_ends_it(project, fresh, trainings):
    """On a new machine a training is lost until its data are pushed; on the same one it goes on."""
    project.develop({"train_wayback.max_step_count": 960 if fresh else 480})
    versions, champion, clone = project.versions(), project.champion(), project.clone()
    for line in POINTS:
        project.kill(clone, line)
        assert project.champion() == champion
        project.require_complete()
        if fresh:
            clone = project.clone()
    project.retrain(clone)
    assert project.versions() == versions + trainings
    assert project.champion()[0] in (champion[0], str(project.versions()))
    project.require_whole()
    assert "nothing has changed" in project.retrain(project.clone())


def test_on_a_laptop_without_remotes_and_server_it_compares_with_git_and_moves_nothing(tmp_path):
    laptop = make_repository(tmp_path / "laptop", utterances=40)
    keep_wayback_alone(laptop)
    laptop.set_params(SMALL)
    laptop.git("commit", "-q", "-a", "-m", "One model")
    assert "no champion" in laptop.command("pipeline.retrain")
    laptop.set_params({"train_wayback.max_step_count": 60})
    laptop.git("commit", "-q", "-a", "-m", "Longer")

    printed = laptop.command("pipeline.retrain", "--promotes", "1")
    assert "compared: whole test splits, as git has them" in printed
    assert f"{MODEL}: the champion stays (better: better: bits_per_symbol" in printed
    assert laptop.git("log", "-1", "--format=%s").strip() == "Retrained: better [skip ci]"
    assert "nothing has changed" in laptop.command("pipeline.retrain")
