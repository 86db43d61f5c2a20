"""Lets the tests share their repositories."""

import fcntl
import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from repositories import Repository, copy_repository, make_repository


class Made(NamedTuple):
    """Where the whole pipeline has run once, and a copy of it."""

    original: Repository
    copy: Repository


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Made:
    """Made by whichever process of the tests comes first, and shared by all."""
    common = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        common = common.parent
    done, original, copy = common / "end.done", common / "end" / "Größe zwei", common / "end" / "copy"
    with (common / "end.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(common / "end", ignore_errors=True)
            repository = make_repository(original)
            repository.dvc("repro")
            copy_repository(repository, copy)
            done.touch()
    return Made(Repository(original), Repository(copy))


@pytest.fixture(scope="session")
def trained(made) -> Repository:
    """A repository in which the whole pipeline has run once; tests leave it as they found it."""
    return made.original


@pytest.fixture(scope="session")
def untouched(made) -> Repository:
    """The same outputs without MLflow's store, to make further repositories of."""
    return made.copy
