"""Where a training keeps its state: named by what decides the result, held by one process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pipeline.training import checkpoints
from pipeline.training.checkpoints import Checkpoint
from pipeline.training.state import open_state

ROOT = Path(__file__).resolve().parents[3]
STAGE = "train_line"
GRAPH = """
stages:
  train_line:
    cmd: python -m line
    deps: [numbers.txt]
    params: [train_line]
    outs: [data/train_line]
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "dvc.yaml").write_text(GRAPH, encoding="utf-8")
    (tmp_path / "numbers.txt").write_text("1 2 3\n", encoding="utf-8")
    write_params(tmp_path)
    return tmp_path


def write_params(project, rate=0.1, steps=10):
    text = f"train_line:\n  rate: {rate}\n  max_step_count: {steps}\n"
    (project / "params.yaml").write_text(text, encoding="utf-8")


def checkpoint(step, best_step=0):
    return Checkpoint(step, {"w": np.array([float(step)])}, {"plateau": {"best_step": best_step}, "history": []})


def interrupt(step):
    with pytest.raises(KeyboardInterrupt), open_state(STAGE) as state:
        checkpoints.save(state, checkpoint(step))
        raise KeyboardInterrupt
    return state


def test_an_interrupted_training_finds_its_state_again(project):
    before = interrupt(4)
    assert before.parent == project / ".work"
    with open_state(STAGE) as state:
        assert state == before
        assert checkpoints.load_newest(state).step == 4


def test_a_finished_training_leaves_no_state_so_that_a_repeat_trains_every_step(project):
    with open_state(STAGE) as state:
        checkpoints.save(state, checkpoint(10))
    assert not state.exists()
    with open_state(STAGE) as state:
        assert checkpoints.load_newest(state) is None


def test_more_steps_go_on_from_the_finished_training(project):
    with open_state(STAGE) as state:
        checkpoints.save(state, checkpoint(10))
    write_params(project, steps=15)
    with open_state(STAGE) as state:
        assert checkpoints.load_newest(state).step == 10


def test_more_steps_have_the_best_checkpoint_of_the_finished_training_too(project):
    with open_state(STAGE) as state:
        for step in (4, 8, 10):
            checkpoints.save(state, checkpoint(step, best_step=4))
    write_params(project, steps=15)
    with open_state(STAGE) as state:
        assert [path.name for path in sorted((state / "checkpoints").iterdir())] == ["step-00000004", "step-00000010"]
        assert checkpoints.load(checkpoints.folder_of(state, 4)).tensors["w"] == 4.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda project: write_params(project, rate=0.2), "train_line.rate: 0.1 -> 0.2"),
        (lambda project: (project / "numbers.txt").write_text("4\n", encoding="utf-8"), "numbers.txt changed"),
    ],
)
def test_anything_else_starts_afresh_and_says_why(project, capsys, change, said):
    before = interrupt(4)
    change(project)
    with open_state(STAGE) as state:
        assert state != before
        assert checkpoints.load_newest(state) is None
    assert said in capsys.readouterr().err
    assert before.exists()


def test_a_second_process_stops_and_names_the_first(project):
    code = "from pipeline.training.state import open_state\nwith open_state('train_line'): pass"
    with open_state(STAGE):
        second = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
        )
    assert second.returncode == 1
    assert f"is being trained by process {os.getpid()} on " in second.stderr


def test_a_checkpoint_that_does_not_fit_on_the_disk_leaves_the_earlier_ones(project, tmp_path):
    code = (
        "import resource, sys, numpy as np\n"
        "from pathlib import Path\n"
        "from pipeline.training.checkpoints import Checkpoint, save\n"
        "save(Path('state'), Checkpoint(1, {'w': np.zeros(100)}, {}))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "save(Path('state'), Checkpoint(2, {'w': np.zeros(1_000_000)}, {}))\n"
    )
    full = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert "InputError: the checkpoint of step 2 cannot be written" in full.stderr
    assert [path.name for path in (tmp_path / "state" / "checkpoints").iterdir()] == ["step-00000001"]
    assert checkpoints.load_newest(tmp_path / "state").step == 1


def test_a_checkpoint_comes_back_as_it_was_written(tmp_path):
    tensors = {"w": np.arange(3, dtype=np.float32), "position/index": np.array(7), "state/0": np.zeros((2, 0))}
    checkpoints.save(tmp_path, Checkpoint(3, tensors, {"history": [{"loss": 0.1 + 0.2}]}))
    loaded = checkpoints.load_newest(tmp_path)
    assert loaded.facts == {"history": [{"loss": 0.1 + 0.2}]}
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(loaded.tensors[name], tensor)
        assert loaded.tensors[name].dtype == tensor.dtype
    shutil.rmtree(checkpoints.folder_of(tmp_path, 3))
    assert checkpoints.load_newest(tmp_path) is None
