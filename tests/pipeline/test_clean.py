"""make clean: lists first, removes what can be made again, and never what cannot."""

import fcntl
import os
import subprocess

import pytest

from pipeline import clean
from pipeline.errors import InputError

GRAPH = """
stages:
  mels:
    cmd: make them
    outs:
      - data/mels
      - data/corpora/own
    metrics:
      - data/metrics/mels.json:
          cache: false
  train:
    cmd: train it
    outs:
      - data/train
"""
MADE = (
    "data/mels/a.npy",
    "data/train/weights.safetensors",
    "data/.partial.codes/b.npy",
    ".work/train_wayback-12/state.npz",
    ".work/finished/x/state.npz",
    ".pytest_cache/c",
    "pipeline/__pycache__/d.pyc",
)
STORE = ("mlflow.db", "mlartifacts/reprise/e.png")
KEPT = (
    "data/corpora/own/wavs/f.wav",
    "data/metrics/mels.json",
    ".work/outbox/g/records.jsonl",
    ".work/locks/train_wayback-12",
    ".dvc/cache/files/h",
    "pipeline/mels.py",
    "params.yaml",
)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    (tmp_path / "dvc.yaml").write_text(GRAPH)
    for name in (*MADE, *STORE, *KEPT):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    for arguments in (("init", "-q"), ("add", "data/metrics", "pipeline/mels.py", "params.yaml", "dvc.yaml")):
        subprocess.run(["git", "-C", tmp_path, *arguments], check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return tmp_path


def test_without_for_real_nothing_is_removed(repository, capsys):
    before = sorted(repository.rglob("*"))
    clean.main(everything="1")
    assert sorted(repository.rglob("*")) == before
    assert "nothing was removed" in capsys.readouterr().out


def test_the_list_names_what_would_go_with_its_size(repository, capsys):
    (repository / "data/mels/a.npy").write_bytes(bytes(1_500_000))
    clean.main()
    lines = capsys.readouterr().out.splitlines()
    assert "   1.5 MB  data/mels" in lines
    assert not any("mlflow.db" in line for line in lines)


def test_for_real_removes_what_can_be_made_again_and_nothing_else(repository):
    clean.main(for_real="1")
    assert [name for name in MADE if (repository / name).exists()] == []
    assert [name for name in (*STORE, *KEPT) if not (repository / name).exists()] == []


def test_all_takes_the_runs_too_and_still_no_recordings(repository):
    clean.main(for_real="1", everything="1")
    assert [name for name in (*MADE, *STORE) if (repository / name).exists()] == []
    assert [name for name in KEPT if not (repository / name).exists()] == []


def test_cleaning_twice_is_as_good_as_once(repository, capsys):
    clean.main(for_real="1")
    capsys.readouterr()
    clean.main(for_real="1")
    assert capsys.readouterr().out.split() == ["0", "B", "removed"]


def test_a_link_goes_but_not_what_it_leads_to(repository, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "kept.npy").write_text("x")
    (repository / "data/train/weights.safetensors").unlink()
    (repository / "data/train").rmdir()
    (repository / "data/train").symlink_to(elsewhere)
    clean.main(for_real="1")
    assert not os.path.lexists(repository / "data/train")
    assert (elsewhere / "kept.npy").exists()


def test_while_a_training_runs_nothing_is_removed(repository):
    with (repository / ".work/locks/train_wayback-12").open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="train_wayback-12 is training now"):
            clean.main(for_real="1")
    assert all((repository / name).exists() for name in MADE)


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (9_960, "10 kB"), (999_600, "1.0 MB"), (5e13, "50 TB")],
)
def test_sizes_are_shown_as_people_read_them(size, shown):
    assert clean.show_size(size) == shown
