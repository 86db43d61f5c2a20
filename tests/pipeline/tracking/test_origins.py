"""From a result to the run that made it, to what that was made of, and back to the same bytes."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pipeline import restore, show, why
from pipeline.errors import InputError

GRAPH = """\
stages:
  codes:
    cmd: {python} codes.py
    deps: [codes.py]
    params: [codes]
    outs: [data/codes]
  train_toy:
    cmd: {python} toy.py
    deps: [toy.py, data/codes]
    params: [train_toy, seed]
    outs: [data/train_toy, data/runs/train_toy.json]
"""
PARAMS = "codes:\n  level: 3\ntrain_toy:\n  decay_rate: 0.5\n  units: 8\nseed: 1\n"
CODES = """\
from pathlib import Path
from pipeline.params import read_yaml
Path("data/codes").mkdir(parents=True, exist_ok=True)
Path("data/codes/shard.bin").write_bytes(bytes([read_yaml(Path("params.yaml"))["codes"]["level"]]) * 9)
"""


pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def history(
    shared_repository: Any, tmp_path_factory: pytest.TempPathFactory, empty_database: Path, wait_until: Callable
) -> Any:
    """A repository with five runs, whose branch then moved on.

    The first by `dvc repro` with an edited source and an untracked one, three with another parameter by `dvc exp run`,
    by `--temp` and by the queue, the last by `dvc repro` on other data.
    """
    repository = type(shared_repository)(tmp_path_factory.mktemp("history") / "a repository", empty_database)
    root = repository.root
    (root / "dvc.yaml").write_text(GRAPH.format(python=sys.executable))
    (root / "params.yaml").write_text(PARAMS)
    (root / "codes.py").write_text(CODES)
    repository.dvc("init", "-q")
    commit(repository, "data")
    (root / "toy.py").write_text((root / "toy.py").read_text() + "# edited\n")
    (root / "new_source.py").write_text("# not tracked yet\n")
    repository.dvc("repro")
    shutil.copytree(root / "data/train_toy", root.parent / "copied model")
    commit(repository, "first")
    repository.git("tag", "v1")
    repository.dvc("exp", "run", "--temp", "-n", "slower", "-S", "train_toy.decay_rate=0.25")
    repository.dvc("exp", "run", "--queue", "-n", "queued", "-S", "train_toy.decay_rate=0.125")
    repository.dvc("queue", "start", "-j", "1")
    wait_until(lambda: "Success" in repository.dvc("queue", "status"), 180)
    repository.dvc("exp", "run", "-n", "here", "-S", "train_toy.decay_rate=0.0625")
    repository.git("checkout", "-q", "--", ".")
    repository.dvc("checkout")
    (root / "params.yaml").write_text(PARAMS.replace("level: 3", "level: 4"))
    repository.dvc("repro")
    commit(repository, "third")
    return repository


def commit(repository: Any, message: str) -> None:
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", message)


def ids(repository: Any) -> list[str]:
    return [run.info.run_id for run in repository.runs()]


@pytest.fixture
def shown(history: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> Callable[[str], str]:
    """What `make show` prints of a run, in the repository."""
    monkeypatch.chdir(history.root)

    def show_run(run: str) -> str:
        show.main(run)
        return capsys.readouterr().out

    return show_run


def test_a_run_is_shown_with_its_commit_its_changes_its_parameters_and_the_hashes_that_dvc_has(
    history: Any, shown: Callable
) -> None:
    first = ids(history)[0]
    printed = shown(first)
    made_at = history.git("rev-parse", "v1^").strip()
    lock = YAML(typ="safe").load(history.git("show", "v1:dvc.lock"))["stages"]["train_toy"]

    assert f"commit      {made_at}  data" in printed
    assert "+# edited" in printed
    assert "+# not tracked yet" in printed
    assert "train_toy.decay_rate  0.5" in printed
    assert all(f"{dep['path']:<10}  {dep['md5']}" in printed for dep in lock["deps"])
    assert "refs/tags/v1" in printed
    assert "mlflow" in printed


@pytest.mark.parametrize(
    ("reference", "number"),
    [
        ("v1:train_toy", 0),
        ("slower:train_toy", 1),
        ("queued:train_toy", 2),
        ("here:train_toy", 3),
        ("train_toy", 4),
        ("data/train_toy", 4),
        ("data/train_toy/weights.bin", 4),
        ("data/runs/train_toy.json", 4),
        ("../copied model", 0),
    ],
)
def test_a_lock_a_model_and_a_run_id_file_lead_to_the_run(
    history: Any, shown: Callable, reference: str, number: int
) -> None:
    assert shown(reference).splitlines()[0].split()[1] == ids(history)[number]


def test_a_lock_leads_to_the_run_where_the_run_id_file_is_gone(history: Any, shown: Callable, tmp_path: Path) -> None:
    cache = history.root / ".dvc/cache"
    cache.rename(tmp_path / "cache")
    try:
        assert shown("v1:train_toy").splitlines()[0].split()[1] == ids(history)[0]
    finally:
        (tmp_path / "cache").rename(cache)


@pytest.mark.parametrize(("number", "decay_rate", "level"), [(0, 0.5, 3), (1, 0.25, 3), (2, 0.125, 3), (3, 0.0625, 3)])
def test_a_restored_run_trains_to_the_same_bytes(
    history: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, decay_rate: float, level: int
) -> None:
    run = ids(history)[number]
    to = tmp_path / "as it was"
    monkeypatch.chdir(history.root)
    restore.main(run, to)
    assert (to / "data/codes/shard.bin").read_bytes() == bytes([level]) * 9
    assert f"decay_rate: {decay_rate}" in (to / "params.yaml").read_text()
    assert (to / "new_source.py").exists()

    for state in (history.root / ".work").glob("train_toy-*"):
        shutil.rmtree(state)
    before = len(ids(history))
    history.dvc("--cd", str(to), "repro", "-f", "-s", "train_toy")
    assert len(ids(history)) == before + 1
    made = history.store().client.get_run(ids(history)[-1]).data.tags["dvc.out/train_toy"]
    assert made == history.store().client.get_run(run).data.tags["dvc.out/train_toy"]
    history.git("worktree", "remove", "--force", str(to))


def test_data_that_is_no_longer_in_the_cache_comes_from_the_remote(
    history: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(history.root)
    remote, to = tmp_path / "remote", tmp_path / "from the remote"
    history.dvc("remote", "add", "--local", "-d", "shelf", str(remote))
    history.dvc("push", "-q", "--all-tags")
    shutil.move(history.root / ".dvc/cache", tmp_path / "cache")
    try:
        restore.main(ids(history)[0], to)
        assert (to / "data/codes/shard.bin").read_bytes() == bytes([3]) * 9
    finally:
        shutil.rmtree(history.root / ".dvc/cache", ignore_errors=True)
        shutil.move(tmp_path / "cache", history.root / ".dvc/cache")
        history.dvc("remote", "remove", "--local", "shelf")
        history.git("worktree", "remove", "--force", str(to))


def test_what_cannot_be_had_any_more_is_named(history: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(history.root)
    shutil.move(history.root / ".dvc/cache", tmp_path / "cache")
    try:
        with pytest.raises(InputError, match="data/codes: missing instead of"):
            restore.main(ids(history)[0], tmp_path / "to")
    finally:
        shutil.rmtree(history.root / ".dvc/cache", ignore_errors=True)
        shutil.move(tmp_path / "cache", history.root / ".dvc/cache")
    history.git("worktree", "remove", "--force", str(tmp_path / "to"))


def test_why_names_what_changed_and_which_stage_makes_it(
    history: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(history.root)
    params, shard = history.root / "params.yaml", history.root / "data/codes/shard.bin"
    why.main("train_toy")
    assert capsys.readouterr().out == "train_toy: since its last run here nothing changed\n"
    before = params.read_bytes(), shard.read_bytes()
    params.write_text(params.read_text().replace("units: 8", "units: 16"))
    shard.unlink()
    shard.write_bytes(b"other")
    try:
        why.main("train_toy")
        printed = capsys.readouterr().out
        assert "parameter   train_toy.units: 8 -> 16" in printed
        assert "dependency  data/codes (made by codes)" in printed
        assert printed.count("shard.bin") == 1
        assert "decay_rate" not in printed
        assert "toy.py" not in printed
        for run, value in (("slower", 0.25), ("queued", 0.125), ("here", 0.0625)):
            why.main("train_toy", run)
            assert f"parameter   train_toy.decay_rate: {value} -> 0.5" in capsys.readouterr().out
    finally:
        params.write_bytes(before[0])
        shard.write_bytes(before[1])


def test_a_stage_that_is_not_there_is_named(history: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(history.root)
    with pytest.raises(InputError, match=r"dvc.yaml has no stage train_toi"):
        why.main("train_toi")
