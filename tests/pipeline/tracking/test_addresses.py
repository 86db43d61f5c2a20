"""One store from everywhere, and no password anywhere."""

from pathlib import Path

import pytest

from pipeline.errors import InputError
from pipeline.tracking.addresses import artifact_location, pages_address, store_address, without_password

ROOT = Path("/somewhere/with space/é")


def test_without_the_variable_runs_go_to_a_file_at_the_root() -> None:
    assert store_address(ROOT) == "sqlite:////somewhere/with space/é/mlflow.db"


def test_artifacts_of_a_database_lie_at_the_root_and_those_of_a_server_where_it_decides() -> None:
    location = "file:///somewhere/with%20space/%C3%A9/mlartifacts/reprise"
    assert artifact_location("sqlite:////a/mlflow.db", ROOT) == location
    assert artifact_location("postgresql://host/mlflow", ROOT) == location
    assert artifact_location("https://host:5000", ROOT) is None


@pytest.mark.parametrize("address", ["sqlite:////a/b.db", "http://host:1", "postgresql+psycopg2://u:p@host/db"])
def test_the_variable_wins(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    assert store_address(ROOT) == address


@pytest.mark.parametrize("address", ["sqlite:///mlflow.db", "sqlite:///./a/mlflow.db", "sqlite://"])
def test_a_relative_path_is_refused_because_each_folder_would_get_its_own_store(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    with pytest.raises(InputError, match="four slashes"):
        store_address(ROOT)


@pytest.mark.parametrize("address", ["file:///a/mlruns", "file:mlruns", "./mlruns", "/a/mlruns"])
def test_a_store_of_plain_files_is_refused_with_what_to_do(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    with pytest.raises(InputError, match="migrate-filestore"):
        store_address(ROOT)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("postgresql://me:secret@host/db", "postgresql://***@host/db"),
        ("see http://token@host:5/a and s3://b/c", "see http://***@host:5/a and s3://b/c"),
        ("https://host/a?token=abc&x=1", "https://host/a?token=***&x=1"),
        ("http://host/@page", "http://host/@page"),
        ("me@example.org", "me@example.org"),
    ],
)
def test_names_and_passwords_in_addresses_are_hidden_and_nothing_else(text: str, hidden: str) -> None:
    assert without_password(text) == hidden


def test_links_lead_to_the_server_without_its_password_or_to_the_local_pages(monkeypatch):
    assert pages_address("http://127.0.0.1:5000/") == "http://127.0.0.1:5000"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://me:secret@runs.example.org:8443/mlflow/")
    assert pages_address("http://127.0.0.1:5000") == "https://runs.example.org:8443/mlflow"
