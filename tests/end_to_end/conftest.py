"""Lets the tests share their repositories."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from repositories import Repository, make_repository


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Repository:
    """A repository in which the whole pipeline has run once; tests leave it as they found it."""
    repository = make_repository(tmp_path_factory.mktemp("end") / "Größe zwei")
    repository.dvc("repro")
    return repository
