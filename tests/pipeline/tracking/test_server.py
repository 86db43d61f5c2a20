"""A server that is away, dies, hangs or fails costs a training nothing, and gets every value once when it is back."""

import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

WHOLE = [(step, 1 / (step + 1)) for step in range(20)]


def test_a_training_without_its_server_succeeds_and_says_what_waits_and_sync_delivers_it_once(
    repository, server
) -> None:
    address = {"MLFLOW_TRACKING_URI": server.address, "REPRISE_TRACKING_TIMEOUT": "1.0"}
    code, output = repository.train(**address)
    assert code == 0
    assert "40 values and 6 files wait to be delivered to MLflow (no server answers at that address)" in output
    assert "'make sync' or the next run delivers them" in output
    assert (repository.root / "data" / "runs" / "train_toy.json").read_text().count("null") == 1

    server.start()
    for _ in range(2):
        code, output = repository.command("pipeline.sync", **address)
        assert code == 0, output
    assert output == "nothing waits to be delivered\n"
    (run,) = repository.runs(server.address)
    assert run.info.status == "FINISHED"
    assert repository.curve(run, address=server.address) == WHOLE
    assert repository.outbox == []


@pytest.mark.long
def test_a_server_that_is_killed_and_comes_back_during_a_training_gets_everything(
    repository, server, tmp_path: Path, wait_until
) -> None:
    server.start()
    gate = tmp_path / "gate"
    training = repository.start("--gate", str(gate), MLFLOW_TRACKING_URI=server.address)
    wait_until(lambda: repository.runs(server.address))
    server.signal(signal.SIGKILL)
    wait_until(Path(f"{gate}.reached").exists)
    server.start()
    gate.touch()

    output = training.communicate(timeout=120)[0]
    assert training.returncode == 0, output
    (run,) = repository.runs(server.address)
    assert run.info.status == "FINISHED"
    assert repository.curve(run, address=server.address) == WHOLE


@pytest.mark.long
def test_a_server_that_hangs_does_not_hold_a_training_and_the_next_run_delivers_both(repository, server) -> None:
    server.start()
    server.signal(signal.SIGSTOP)
    address = {"MLFLOW_TRACKING_URI": server.address}
    code, output = repository.train("--extra", "name=first", REPRISE_TRACKING_TIMEOUT="1.0", **address)
    assert code == 0
    assert "values and" in output

    server.signal(signal.SIGCONT)
    repository.train("--name", "second", "--extra", "name=second", **address)
    runs = {run.data.params["name"]: run for run in repository.runs(server.address)}
    assert {name: run.info.status for name, run in runs.items()} == {"first": "FINISHED", "second": "FINISHED"}
    assert [repository.curve(run, address=server.address) for run in runs.values()] == [WHOLE, WHOLE]


@pytest.mark.long
def test_a_server_that_answers_with_errors_costs_nothing(repository, failing_server: str) -> None:
    code, output = repository.train(MLFLOW_TRACKING_URI=failing_server, REPRISE_TRACKING_TIMEOUT="1.0")
    assert code == 0
    assert "500" in output
    assert len(repository.outbox) == 1


@pytest.mark.long
def test_demanding_delivery_makes_its_lack_an_error_after_the_work_is_done(repository, server) -> None:
    settings = {"REPRISE_TRACKING_REQUIRED": "true", "REPRISE_TRACKING_TIMEOUT": "1.0"}
    code, output = repository.train(MLFLOW_TRACKING_URI=server.address, **settings)
    assert code == 1
    assert "error: tracking_required is true, and 40 values" in output
    assert (repository.root / "data" / "runs" / "train_toy.json").exists()


@pytest.mark.long
def test_sync_fails_and_says_why_while_something_still_waits(repository, server) -> None:
    address = {"MLFLOW_TRACKING_URI": server.address, "REPRISE_TRACKING_TIMEOUT": "1.0"}
    repository.train(**address)
    code, output = repository.command("pipeline.sync", **address)
    assert code == 1
    assert output.startswith("1 journals wait, with 40 values and 6 files\n0 delivered, 1 still wait\n")
    assert output.endswith("error: no server answers at that address\n")


@pytest.mark.long
def test_an_error_in_the_training_is_told_as_it_is_when_delivery_fails_too(repository, server) -> None:
    code, output = repository.train(
        "--end",
        "exception",
        MLFLOW_TRACKING_URI=server.address,
        REPRISE_TRACKING_REQUIRED="true",
        REPRISE_TRACKING_TIMEOUT="1.0",
    )
    assert code == 1
    assert "ValueError: no such batch" in output
    assert "tracking_required is true" not in output


def test_the_password_in_an_address_is_written_nowhere(repository) -> None:
    code, _ = repository.train(
        "--extra", "corpus=https://me:hunter2@example.org/x",
        MLFLOW_TRACKING_URI="http://me:hunter2@127.0.0.1:9", REPRISE_TRACKING_TIMEOUT="0.5",
    )  # fmt: skip
    assert code == 0
    files = [path for path in repository.root.rglob("*") if path.is_file()]
    assert [path for path in files if b"hunter2" in path.read_bytes()] == []


class Failing(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(500)

    do_POST = do_PUT = do_PATCH = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def failing_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Failing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
