"""A real MLflow server of the tests' own."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VARIABLES = ("MLFLOW_", "DVC_", "REPRISE_", "GIT_")


def clean_environment(**more: str) -> dict[str, str]:
    """This process's environment without addresses of other stores, with this repository's code."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(VARIABLES)}
    return kept | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"} | more


class Server:
    """A real MLflow server that can be killed, stopped and started again at the same address."""

    def __init__(self, folder: Path):
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen | None = None

    def start(self) -> "Server":
        command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--backend-store-uri", f"sqlite:///{self.folder}/mlflow.db", "--workers", "1"]
        command += ["--artifacts-destination", str(self.folder / "artifacts")]
        environment = clean_environment(MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false", MLFLOW_DISABLE_TELEMETRY="true")
        self._process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "server.log").open("a"),
            start_new_session=True,
        )
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.address}/health", timeout=2):
                    return self
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        raise TimeoutError((self.folder / "server.log").read_text())

    def signal(self, number: int) -> None:
        os.killpg(self._process.pid, number)
        if number == signal.SIGKILL:
            self._process.wait()

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGKILL)
