"""What tracking costs a training that logs ten figures a step, for each kind of store.

Run as `python -m bench.tracking`. The step is a matrix product on two threads, so that delivery has no processor of its
own. Blocks of steps with tracking alternate with blocks without, in which nothing is logged and the delivering process
is stopped; the ratio of their rates is what carries over to another machine.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import numpy as np

from pipeline import tracking

PAIRS = 8
STEPS = 15
SIZE = 1600
FIGURES = {f"figure_{number}": 0.5 for number in range(10)}
PARAMS = SimpleNamespace(flat=lambda: {"train_bench.size": SIZE})


def main() -> None:
    """Prints, for each store, steps a second with tracking, and their ratio to steps a second without."""
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        Path("dvc.yaml").write_text("stages: {}\n")
        with server(Path(name)) as (address, running):
            stores = {"SQLite": "", "server": address, "dead server": "http://127.0.0.1:9", "hanging server": address}
            for store, uri in stores.items():
                if store == "hanging server":
                    running.send_signal(signal.SIGSTOP)
                pairs = measure(Path(store), uri)
                ratio, rate = median(on / off for on, off in pairs), median(on for on, _ in pairs)
                print(f"{store:14s} {rate:6.2f} steps/s  {ratio:5.3f} of what it is without", flush=True)


def measure(state: Path, address: str) -> list[tuple[float, float]]:
    """Steps a second with and without tracking, pair by pair, once delivery has started."""
    os.environ |= {"REPRISE_TRACKING_TIMEOUT": "0.5", "MLFLOW_TRACKING_URI": address}
    pairs = []
    with tracking.training_run("train_bench", PARAMS, state) as run:
        run.write_id(state / "id.json")
        courier = run._courier._child
        for number in range(PAIRS):
            courier.send_signal(signal.SIGCONT)
            on = steps_a_second(lambda step, first=number * STEPS: run.log_metrics(FIGURES, first + step))
            courier.send_signal(signal.SIGSTOP)
            pairs.append((on, steps_a_second(lambda step: None)))
        courier.send_signal(signal.SIGCONT)
    return pairs


def steps_a_second(after: Callable[[int], None]) -> float:
    """The rate of steps that each end with a call of `after`."""
    matrix = np.ones((SIZE, SIZE), np.float32)
    began = time.perf_counter()
    for step in range(STEPS):
        matrix @ matrix
        after(step)
    return STEPS / (time.perf_counter() - began)


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
