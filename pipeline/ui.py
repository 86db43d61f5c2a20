"""`make ui`: MLflow's pages on the store that runs go to, on this machine only, until Ctrl-C."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from pipeline import lineage, stage
from pipeline.errors import InputError
from pipeline.params import load_runtime
from pipeline.tracking.addresses import ARTIFACTS, database_file, pages_address, store_address

HOST = "127.0.0.1"
SECONDS_TO_START = 90.0
QUIET = {
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # else eight more processes and 600 MB
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "PYTHONWARNINGS": "ignore",
}


def main() -> None:
    """Serves MLflow's pages and says their address; where runs go to a server, its address is all that is needed."""
    root = lineage.main_root()
    store = store_address(root)
    if store.startswith(("http://", "https://")):
        address = pages_address(store)
        print(f"The runs are at {address}")
        print_views(address)
        return
    refuse_missing_store(store)
    port = load_runtime().ui_port
    refuse_taken_port(port, f"REPRISE_UI_PORT={port + 1} make ui, or ui_port in runtime.yaml")
    server = subprocess.Popen(command(store, port, root), cwd=root, env=os.environ | QUIET)
    address = f"http://{HOST}:{port}"

    def tell() -> None:
        print(f"\nMLflow: {address}  (Ctrl-C ends it)", flush=True)
        print_views(address)

    attend(server, address, tell)


def attend(server: subprocess.Popen, address: str, when_ready: Callable[[], None]) -> None:
    """Calls `when_ready` once the server answers, and ends the server on Ctrl-C or SIGTERM.

    Raises:
        InputError: It ended at once, or does not answer.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        wait_until_ready(server, f"{address}/health")
        when_ready()
        server.wait()
    except KeyboardInterrupt:
        pass
    finally:
        server.terminate()
        server.wait()


def print_views(address: str) -> None:
    """Says where the runs table opens with what differed and what came of it, one view a model."""
    from pipeline.tracking.queries import standard_views

    try:
        for name, path in standard_views().items():
            print(f"  {name}: {address}{path}", flush=True)
    except InputError as error:
        print(f"  no views: {error}", flush=True)


def command(store: str, port: int, root: Path) -> list[str]:
    """The command line of MLflow's server."""
    places = [
        "--backend-store-uri",
        store,
        "--registry-store-uri",
        store,
        "--artifacts-destination",
        (root / ARTIFACTS).as_uri(),
    ]
    quiet = ["--uvicorn-opts", "--log-level warning"]
    return [
        sys.executable,
        "-m",
        "mlflow",
        "ui",
        *places,
        "--host",
        HOST,
        "--port",
        str(port),
        "--workers",
        "1",
        *quiet,
    ]


def refuse_missing_store(store: str) -> None:
    """Raises an InputError when the store is a file that is not there yet."""
    file = database_file(store)
    if file is not None and not Path(file).exists():
        raise InputError(f"there are no runs yet ({file} is missing): make repro trains and tracks")


def refuse_taken_port(port: int, other: str) -> None:
    """Raises an InputError when another program listens on the port; `other` says how another is chosen."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise InputError(f"port {port} is taken ({error.strerror}); choose another: {other}") from error


def wait_until_ready(server: subprocess.Popen, address: str) -> None:
    """Returns when the address answers; raises an InputError when the server ends or does not answer."""
    end = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < end:
        if server.poll() is not None:
            raise InputError(f"MLflow ended with code {server.returncode}; what it said stands above")
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    raise InputError(f"MLflow did not answer at {address} within {SECONDS_TO_START:.0f} s")


if __name__ == "__main__":
    stage.run(main)
