"""Stages before training as real processes: neither who works nor a SIGKILL in the middle changes a byte."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from dask import config as dask_config
from distributed import LocalCluster

from pipeline.audio import cluster, finished
from pipeline.audio.parallel import map_in_order
from pipeline.errors import InputError

ROOT = Path(__file__).parents[2]
BUNDLED = ROOT / "data/corpora/allison"
CORPUS = "data/corpora/allison"
RECORDINGS = 224
A_PART = 16
PARTS_BEFORE = 3
SECONDS_TO_START = 120
ARGUMENTS = {
    "prepare": ["--corpus", CORPUS, "--prepared", "data/prepare", "--metrics", "data/metrics/prepare.json"],
    "vocabulary": ["--prepared", "data/prepare", "--vocabulary", "data/vocabulary"],
    "mels": [
        "--corpus",
        CORPUS,
        "--prepared",
        "data/prepare",
        "--vocabulary",
        "data/vocabulary",
        "--mels",
        "data/mels",
    ],
    "codes": ["--corpus", CORPUS, "--prepared", "data/prepare", "--codes", "data/codes"],
}


def start(folder, stage, workers, scheduler="tcp://127.0.0.1:1"):
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "REPRISE_WORKERS": str(workers),
        "REPRISE_SCHEDULER": scheduler,
    }
    command = [sys.executable, "-m", f"pipeline.{stage}", *ARGUMENTS[stage]]
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def run(folder, stage, **workers):
    process = start(folder, stage, **({"workers": 1} | workers))
    printed, _ = process.communicate()
    assert process.returncode == 0, printed
    return printed


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the stages before training have run once undisturbed, on many of the bundled recordings."""
    folder = tmp_path_factory.mktemp("features")
    (folder / CORPUS / "wavs").mkdir(parents=True)
    lines = (BUNDLED / "metadata.csv").read_text("utf-8").splitlines()[:RECORDINGS]
    (folder / CORPUS / "metadata.csv").write_text("\n".join(lines) + "\n", "utf-8")
    for line in lines:
        name = f"wavs/{line.split('|')[0]}.flac"
        (folder / CORPUS / name).symlink_to(BUNDLED / name)
    shutil.copyfile(ROOT / "dvc.yaml", folder / "dvc.yaml")
    params = (ROOT / "params.yaml").read_text("utf-8").replace("min_per_split: 8", "min_per_split: 1")
    (folder / "params.yaml").write_text(params, "utf-8")
    for stage in ("prepare", "vocabulary"):
        run(folder, stage)
    return folder


def undisturbed(folder, stage):
    """What the stage writes when one process works and nothing happens."""
    if not (folder / "data" / stage).exists():
        run(folder, stage)
    assert not (folder / ".work" / stage).exists()
    return content(folder / "data" / stage)


def finished_parts(folder, stage):
    return [path for path in folder.glob(f".work/{stage}/*") if not path.name.startswith(".")]


STAGES = [pytest.param("prepare", marks=pytest.mark.long), "mels", pytest.param("codes", marks=pytest.mark.long)]


@pytest.mark.parametrize("stage", STAGES)
def test_a_killed_stage_goes_on_from_what_it_had_finished_to_the_same_bytes(folder, stage):
    expected = undisturbed(folder, stage)

    process = start(folder, stage, workers=2)
    until = time.monotonic() + SECONDS_TO_START
    while len(finished_parts(folder, stage)) < PARTS_BEFORE:
        assert process.poll() is None, "the stage ended before it was hit"
        assert time.monotonic() < until, "the stage does not start"
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    parts = len(finished_parts(folder, stage))
    assert PARTS_BEFORE <= parts < RECORDINGS // A_PART
    assert content(folder / "data" / stage) == expected

    printed = run(folder, stage, workers=2)
    taken_up = int(re.search(r"(\d+) (recordings|files) were finished before an interruption", printed)[1])
    assert taken_up == parts * A_PART
    assert content(folder / "data" / stage) == expected
    assert not (folder / ".work" / stage).exists()


@pytest.fixture(scope="module")
def dask():
    """A Dask cluster of two processes on this machine."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as made:
        yield made


@pytest.mark.parametrize("stage", STAGES)
def test_a_dask_cluster_gives_the_same_bytes(folder, dask, stage):
    expected = undisturbed(folder, stage)
    printed = run(folder, stage, workers="dask", scheduler=dask.scheduler_address)
    assert f"{RECORDINGS}/{RECORDINGS}" in printed
    assert content(folder / "data" / stage) == expected


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense", "127.0.0.1:x", "http://127.0.0.1:1"])
def test_a_scheduler_that_does_not_answer_is_named_with_what_to_do(address, monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS_TO_ANSWER", 1)
    with pytest.raises(InputError, match=f"scheduler is '{address}', and no Dask scheduler answers .*runtime.yaml"):
        list(map_in_order(len, [Path("x")], address, "work", "files"))


def test_workers_that_would_give_other_results_are_refused(dask, monkeypatch):
    monkeypatch.setattr(finished, "LIBRARIES", ("numpy",))
    finished.fingerprint.cache_clear()
    try:
        with pytest.raises(
            InputError,
            match=r"the Dask worker tcp://.* has not what is here \(code \w+, numpy [\d.]+\), but code .*soxr",
        ):
            list(map_in_order(len, [Path("x")], dask.scheduler_address, "work", "files"))
    finally:
        finished.fingerprint.cache_clear()


def die(path):
    os._exit(1)


def test_a_cluster_whose_workers_die_of_the_work_is_told_from_a_fault_of_ours():
    with (
        dask_config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as dying,
        pytest.raises(InputError, match=r"workers died or were lost .*goes on from where they were"),
    ):
        list(map_in_order(die, [Path("x")], dying.scheduler_address, "work", "files"))


def test_a_cluster_without_workers_says_how_to_start_some():
    with (
        LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address="127.0.0.1:0") as empty,
        pytest.raises(InputError, match=r"has no workers: start them .*dask worker"),
    ):
        list(map_in_order(len, [Path("x")], empty.scheduler_address, "work", "files"))
