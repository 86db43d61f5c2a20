"""A grid of experiments through the real DVC: each member once, failing ones told, the best on top."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pipeline.errors import InputError
from pipeline.sweep import members_of, read_sweep

CODE = Path(__file__).resolve().parents[2]
GRAPH = """\
stages:
  evaluate_wayback:
    cmd: {python} measure.py
    deps: [measure.py]
    params: [train_wayback.decay_rate, train_wayback.clip_norm]
    metrics:
      - data/metrics/evaluate_wayback.json:
          cache: false
"""
MEASURE = """\
import json, os, pathlib, sys
from pipeline.params import read_yaml
section = read_yaml(pathlib.Path("params.yaml"))["train_wayback"]
decay_rate, clip_norm = section["decay_rate"], section["clip_norm"]
with open(pathlib.Path(os.environ["DVC_ROOT"], ".git", "calls"), "a") as file:
    print(decay_rate, clip_norm, file=file)
if clip_norm == 2.0 and decay_rate == 0.5:
    sys.exit("this one cannot be measured")
pathlib.Path("data/metrics").mkdir(parents=True, exist_ok=True)
loss = (clip_norm - 1) ** 2 + decay_rate
pathlib.Path("data/metrics/evaluate_wayback.json").write_text(json.dumps({"test_loss": loss, "other": 1.0}))
"""
GRID = """\
targets: [evaluate_wayback]
figure: evaluate_wayback.test_loss
grid:
  train_wayback.decay_rate: [0.1, 0.5]
  train_wayback.clip_norm: [1.0, 2.0]
"""


def environment() -> dict[str, str]:
    who = {f"GIT_{role}_{key}": "somebody" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "DVC_"))}
    return kept | who | {"PYTHONPATH": str(CODE), "DVC_NO_ANALYTICS": "true", "PYTHONDONTWRITEBYTECODE": "1"}


def run(folder: Path, *command: str) -> tuple[int, str]:
    result = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


def sweep(folder: Path) -> tuple[int, str]:
    return run(folder, sys.executable, "-m", "pipeline.sweep", "--grid", "grid.yaml")


def calls(folder: Path) -> list[str]:
    return sorted((folder / ".git" / "calls").read_text().splitlines())


def make(folder: Path, measure: str = MEASURE) -> Path:
    """A repository with a grid, committed."""
    folder.mkdir()
    (folder / "dvc.yaml").write_text(GRAPH.format(python=sys.executable))
    (folder / "params.yaml").write_bytes((CODE / "params.yaml").read_bytes())
    (folder / "measure.py").write_text(measure)
    (folder / "grid.yaml").write_text(GRID)
    (folder / ".gitignore").write_text("/.work/\n")
    dvc = [sys.executable, "-m", "dvc"]
    for command in (["git", "init", "-q", "-b", "main"], [*dvc, "init", "-q"], ["git", "add", "-A"]):
        assert run(folder, *command)[0] == 0
    assert run(folder, "git", "commit", "-q", "-m", "start")[0] == 0
    return folder


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A repository in which the grid has run once, with what was printed."""
    folder = make(tmp_path_factory.mktemp("sweep") / "a repository")
    return folder, *sweep(folder)


@pytest.mark.long
def test_every_member_is_run_a_failing_one_told_and_the_lowest_figure_stands_on_top(swept: Any) -> None:
    folder, code, printed = swept
    assert code == 1
    assert "error: 1 of 4 members failed" in printed
    assert calls(folder) == ["0.1 1.0", "0.1 2.0", "0.5 1.0", "0.5 2.0"]
    table = pd.read_csv(folder / ".work/sweep/table.csv")
    assert list(zip(table.decay_rate, table.clip_norm, table.test_loss, table.state, strict=True))[:3] == [
        (0.1, 1.0, 0.1, "done"),
        (0.5, 1.0, 0.5, "done"),
        (0.1, 2.0, 1.1, "done"),
    ]
    assert table.state[3] == "failed"
    (log,) = (folder / ".work/sweep/logs").glob("decay_rate-0_5-clip_norm-2_0-*.log")
    assert "this one cannot be measured" in log.read_text()
    assert (folder / ".work/sweep/winners.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_a_second_sweep_runs_only_what_is_missing(swept: Any) -> None:
    folder = swept[0]
    printed = sweep(folder)[1]
    assert "4 members, 3 are there already" in printed
    assert calls(folder) == ["0.1 1.0", "0.1 2.0", "0.5 1.0", "0.5 2.0", "0.5 2.0"]


@pytest.mark.long
def test_members_that_a_killed_sweep_has_left_running_are_waited_for_and_none_runs_twice(tmp_path: Path) -> None:
    waits = 'import time\ngo = pathlib.Path(os.environ["DVC_ROOT"], ".git", "go")\nwhile not go.exists():\n    time.sleep(0.1)\n'
    folder = make(tmp_path / "a repository", MEASURE.replace("if clip_norm ==", f"{waits}if clip_norm =="))
    command = [sys.executable, "-m", "pipeline.sweep", "--grid", "grid.yaml"]
    killed = subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL)
    while not (folder / ".git/calls").exists() or len(calls(folder)) < 2:
        time.sleep(0.1)
    killed.kill()
    killed.wait()

    second = subprocess.Popen(command, cwd=folder, env=environment(), text=True, stdout=subprocess.PIPE)
    printed = ""
    for line in second.stdout:
        printed += line
        if printed.count("an earlier sweep has left it running") == 2:
            (folder / ".git/go").touch()
    second.wait()
    assert "4 members, 0 are there already" in printed and printed.count(": done") == 3
    assert calls(folder) == ["0.1 1.0", "0.1 2.0", "0.5 1.0", "0.5 2.0"]


@pytest.mark.long
def test_a_wrong_value_stops_the_sweep_before_anything_is_run(swept: Any) -> None:
    folder = swept[0]
    before = calls(folder)
    (folder / "wrong.yaml").write_text(GRID.replace("[1.0, 2.0]", "[1.0, -2.0]"))
    code, printed = run(folder, sys.executable, "-m", "pipeline.sweep", "--grid", "wrong.yaml")
    assert code == 1
    assert "train_wayback.clip_norm is -2.0" in printed
    assert calls(folder) == before


def test_an_unknown_key_of_a_grid_is_named(tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text(GRID + "wokers: 2\n")
    with pytest.raises(InputError, match=r"grid.yaml: wokers: "):
        read_sweep(tmp_path / "grid.yaml")


def test_members_are_all_combinations_and_other_code_gives_other_names(tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text(GRID)
    members = members_of(read_sweep(tmp_path / "grid.yaml"), "code")
    assert [tuple(member.values.values()) for member in members] == [(0.1, 1.0), (0.1, 2.0), (0.5, 1.0), (0.5, 2.0)]
    others = members_of(read_sweep(tmp_path / "grid.yaml"), "other code")
    assert len({member.name for member in members + others}) == 8
