"""A repository with a toy stage, and processes that run it."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mlflow_server import VARIABLES, Server, clean_environment

CODE = Path(__file__).resolve().parents[3]
TOY = Path(__file__).with_name("toy.py")
GRAPH = """\
stages:
  train_toy:
    cmd: {python} toy.py
    deps: [toy.py]
    params: [train_toy, seed]
    outs: [data/train_toy, data/runs/train_toy.json]
"""
PARAMS = "train_toy:\n  decay_rate: 0.5\n  units: 8\nseed: 1\n"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(VARIABLES):
            monkeypatch.delenv(name)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")


class Repository:
    """A checkout in which the toy stage can run."""

    def __init__(self, root: Path, database: Path | None):
        self.root = root
        root.mkdir(parents=True)
        shutil.copy(TOY, root)
        (root / "dvc.yaml").write_text(GRAPH.format(python=sys.executable))
        (root / "params.yaml").write_text(PARAMS)
        (root / ".gitignore").write_text("/.work/\n/mlflow.db*\n/mlartifacts/\n__pycache__/\n/data/\n")
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "toy")
        if database is not None:
            shutil.copy(database, root / "mlflow.db")

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
        command = ["git", *who, *arguments]
        return subprocess.run(
            command, cwd=self.root, env=clean_environment(), check=True, capture_output=True, text=True
        ).stdout

    def dvc(self, *arguments: str, **environment: str) -> str:
        tools = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        who = {f"GIT_{role}_{key}": "somebody" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
        result = subprocess.run(
            ["dvc", *arguments],
            cwd=self.root,
            env=clean_environment(PATH=tools, DVC_NO_ANALYTICS="true", **who, **environment),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def start(self, *arguments: str, folder: Path | None = None, **environment: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "toy", *arguments]
        place = folder or self.root
        return subprocess.Popen(
            command,
            cwd=place,
            env=clean_environment(**({"PYTHONPATH": f"{self.root}:{CODE}"} | environment)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def train(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Exit status and what was printed."""
        process = self.start(*arguments, **environment)
        output = process.communicate(timeout=120)[0]
        return process.returncode, output

    def command(self, module: str, *arguments: str, **environment: str) -> tuple[int, str]:
        result = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=self.root,
            env=clean_environment(**environment),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return result.returncode, result.stdout + result.stderr

    @property
    def outbox(self) -> list[Path]:
        return [path for path in (self.root / ".work" / "outbox").glob("*") if path.is_dir()]

    def store(self, address: str | None = None):
        from pipeline.tracking.store import Store

        return Store(address or f"sqlite:///{self.root / 'mlflow.db'}", self.root)

    def runs(self, address: str | None = None) -> list:
        store = self.store(address)
        return store.client.search_runs([store.experiment_id], order_by=["attributes.start_time"])

    def curve(self, run, name: str = "train_loss", address: str | None = None) -> list[tuple[int, float]]:
        history = self.store(address).client.get_metric_history(run.info.run_id, name)
        return sorted((metric.step, metric.value) for metric in history)


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with MLflow's tables, which take MLflow seconds to make."""
    path = tmp_path_factory.mktemp("database") / "mlflow.db"
    from pipeline.tracking.client import MlflowClient

    MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def new_repository(tmp_path: Path, empty_database: Path) -> Callable[..., Repository]:
    """Makes repositories; with `database=None` without a store."""

    def make(name: str = "répertoire de test", database: Path | None = empty_database) -> Repository:
        return Repository(tmp_path / name, database)

    return make


@pytest.fixture
def repository(new_repository: Callable[..., Repository]) -> Repository:
    return new_repository()


@pytest.fixture(scope="module")
def shared_repository(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> Repository:
    """One repository for the tests of a module."""
    return Repository(tmp_path_factory.mktemp("shared") / "répertoire de test", empty_database)


@pytest.fixture
def server(tmp_path: Path, empty_database: Path) -> Iterator[Server]:
    """A server that is not started yet."""
    folder = tmp_path / "server"
    folder.mkdir()
    shutil.copy(empty_database, folder)
    made = Server(folder)
    yield made
    made.close()


@pytest.fixture(scope="session")
def wait_until() -> Callable[..., None]:
    """Waits until something becomes true, and fails when it does not."""

    def wait(condition: Callable[[], object], seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError("it did not happen")
            time.sleep(0.1)

    return wait
