"""Steps a second of a training that logs ten figures a step, to each kind of store and to none.

Run as `python -m bench.tracking`. The step is a matrix product on two threads, so that delivery has no processor of its
own. The stores are measured in turn, several rounds of it; the ratios to "off" are what carries over to another machine.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import numpy as np

from pipeline import tracking

ROUNDS = 3
STEPS = 60
SIZE = 1600
FIGURES = {f"figure_{number}": 0.5 for number in range(10)}
PARAMS = SimpleNamespace(flat=lambda: {"train_bench.size": SIZE})


def main() -> None:
    """Prints, for each store, steps a second, the ratio to tracking off, and microseconds of a call of log_metrics."""
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        Path("dvc.yaml").write_text("stages: {}\n")
        with server(Path(name)) as (address, running):
            stores = {
                "off": ("off", ""),
                "SQLite": ("on", ""),
                "server": ("on", address),
                "server dead": ("on", "http://127.0.0.1:9"),
                "server hangs": ("on", address),
            }
            figures: dict[str, list[tuple[float, float]]] = {store: [] for store in stores}
            for number in range(ROUNDS):
                for store, (switch, uri) in stores.items():
                    running.send_signal(signal.SIGSTOP if store == "server hangs" else signal.SIGCONT)
                    figures[store].append(measure(Path(f"state-{number}-{store}"), switch, uri))
    off = median(rate for rate, _ in figures["off"])
    for store, measured in figures.items():
        rate, call = (median(values) for values in zip(*measured, strict=True))
        print(f"{store:14s} {rate:6.2f} steps/s  {rate / off:5.3f} of off  {call * 1e6:6.0f} us a call")


def measure(state: Path, switch: str, address: str) -> tuple[float, float]:
    """Steps a second, and median seconds of a call, once delivery has started."""
    os.environ |= {"REPRISE_TRACKING": switch, "REPRISE_TRACKING_TIMEOUT": "0.5", "MLFLOW_TRACKING_URI": address}
    matrix = np.ones((SIZE, SIZE), np.float32)
    calls = []
    with tracking.training_run("train_bench", PARAMS, state) as run:
        run.write_id(state / "id.json")
        began = time.perf_counter()
        for step in range(STEPS):
            matrix @ matrix
            before = time.perf_counter()
            run.log_metrics(FIGURES, step)
            calls.append(time.perf_counter() - before)
        rate = STEPS / (time.perf_counter() - began)
    return rate, median(calls)


@contextmanager
def server(folder: Path) -> Iterator[tuple[str, SimpleNamespace]]:
    """A real MLflow server and its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += [
        "--backend-store-uri",
        f"sqlite:///{folder}/server.db",
        "--artifacts-destination",
        str(folder / "files"),
    ]
    settings = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=os.environ | settings, start_new_session=True, **quiet)
    group = SimpleNamespace(send_signal=lambda number: os.killpg(process.pid, number))
    try:
        wait_for(f"http://127.0.0.1:{port}/health")
        yield f"http://127.0.0.1:{port}", group
    finally:
        os.killpg(process.pid, signal.SIGCONT)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(address: str) -> None:
    """Returns when the address answers."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise TimeoutError(address)


if __name__ == "__main__":
    main()
