"""make ui: MLflow's pages on the store that runs go to, on this machine only."""

import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.request

import pytest

from pipeline import ui
from pipeline.errors import InputError


@pytest.fixture
def free_port():
    with socket.socket() as probe:
        probe.bind((ui.HOST, 0))
        return probe.getsockname()[1]


def test_before_the_first_run_it_says_how_to_make_one(tmp_path):
    with pytest.raises(InputError, match=r"there are no runs yet .*mlflow.db is missing.*: make repro"):
        ui.refuse_missing_store(f"sqlite:///{tmp_path}/mlflow.db")


def test_a_taken_port_is_named_with_the_setting_that_changes_it():
    with socket.socket() as other:
        other.bind((ui.HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=rf"port {port} is taken .*choose another: make serve PORT=1"):
            ui.refuse_taken_port(port, "make serve PORT=1")


def test_a_server_s_address_is_said_without_its_password(monkeypatch, capsys):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://ann:secret@tracking.example:5000")
    ui.main()
    said = capsys.readouterr().out
    assert "tracking.example:5000" in said
    assert "secret" not in said


def test_the_server_listens_on_this_machine_only(tmp_path):
    command = ui.command("sqlite:////x/mlflow.db", 5001, tmp_path)
    assert command[command.index("--host") + 1] == "127.0.0.1"
    assert command[command.index("--port") + 1] == "5001"


def test_a_server_that_ends_at_once_is_reported():
    server = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(InputError, match="ended with code 3"):
        ui.wait_until_ready(server, "http://127.0.0.1:9/health")


@pytest.mark.long
def test_the_pages_answer_and_end_with_the_command(tmp_path, free_port):
    store = tmp_path / "mlflow.db"
    sqlite3.connect(store).close()
    environment = {
        "MLFLOW_TRACKING_URI": f"sqlite:///{store}",
        "REPRISE_UI_PORT": str(free_port),
        "PATH": "/usr/bin:/bin",
    }
    command = subprocess.Popen(
        [sys.executable, "-m", "pipeline.ui"], env=environment, stdout=subprocess.PIPE, text=True
    )
    said = next(line for line in command.stdout if "Ctrl-C" in line)
    assert f"http://127.0.0.1:{free_port}" in said
    with urllib.request.urlopen(f"http://127.0.0.1:{free_port}/health", timeout=10) as answer:
        assert answer.read() == b"OK"
    command.send_signal(signal.SIGTERM)
    assert command.wait(timeout=30) == 0
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((ui.HOST, free_port))
