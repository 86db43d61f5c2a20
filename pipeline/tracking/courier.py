"""The training's end of delivery.

Starts the child process, keeps it alive, waits for it at the end and no longer than allowed.
"""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

from pipeline.tracking import addresses, process
from pipeline.tracking.journal import Delivered, last_sign, put_away, read_delivered, records_size

SECONDS_BETWEEN_STARTS = 60.0
SECONDS_BETWEEN_LOOKS = 0.05
CODE = Path(__file__).resolve().parents[2]
NOT_INHERITED = ("MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT_ID", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_ACTIVE_MODEL_ID")


class Courier:
    """A child process that delivers a journal. It has a session of its own, so that Ctrl-C leaves it to finish.

    Args:
        folder: The journal's.
        address: Of the store.
        root: The main checkout.
    """

    def __init__(self, folder: Path, address: str, root: Path):
        self._folder, self._address, self._root = folder, address, root
        self._last = Delivered()
        self._child: subprocess.Popen | None = None
        self._start()

    def look_after(self) -> None:
        """Starts the child again if it has died; costs microseconds."""
        if self._has_ended() and time.monotonic() - self._started > SECONDS_BETWEEN_STARTS:
            self._start()

    def delivered(self) -> Delivered:
        """How far delivery has come."""
        self._last = max(read_delivered(self._folder), self._last, key=lambda delivered: delivered.offset)
        return self._last

    def run_id(self, seconds: float) -> str | None:
        """Id of the run, once the store has answered; waits for that as long as the store has not failed to."""
        deadline = time.monotonic() + seconds
        while not (delivered := self.delivered()).runs:
            if delivered.error or self._has_ended() or time.monotonic() > deadline:
                return None
            time.sleep(SECONDS_BETWEEN_LOOKS)
        return delivered.runs[0]

    def finish(self, seconds: float, longest: float) -> bool:
        """Waits until everything is delivered, and ends the child.

        Args:
            seconds: How long to wait without any progress.
            longest: How long to wait at all.

        Returns:
            Whether everything is delivered; the journal is then put away.
        """
        try:
            self._wait(seconds, longest)
        finally:
            self.delivered()
            if self._child is not None:
                self._child.kill()
                self._child.wait()
        return put_away(self._folder)

    def _wait(self, seconds: float, longest: float) -> None:
        progress = None
        latest = first = time.monotonic()
        while not self._has_ended():
            now = time.monotonic()
            seen = self._progress()
            if seen != progress:
                progress, latest = seen, now
            if now - latest > seconds or now - first > longest:
                return
            time.sleep(SECONDS_BETWEEN_LOOKS)
        if self.delivered().offset < records_size(self._folder):
            self._start()
            self._wait_once_more(seconds)

    def _wait_once_more(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self._has_ended() and time.monotonic() < deadline:
            time.sleep(SECONDS_BETWEEN_LOOKS)

    def _progress(self) -> tuple[int, int, int]:
        """Changes whenever something was delivered, of this journal or of one that waited."""
        delivered = self.delivered()
        return delivered.offset, delivered.files, last_sign(self._folder)

    def _has_ended(self) -> bool:
        return self._child is None or self._child.poll() is not None

    def _start(self) -> None:
        self._child = None
        self._started = time.monotonic()
        environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        environment |= {addresses.VARIABLE: self._address, "PYTHONPATH": str(CODE), "MLFLOW_DISABLE_TELEMETRY": "true"}
        command = [
            sys.executable,
            "-P",
            "-m",
            "pipeline.tracking.deliver",
            str(self._folder),
            process.identity(os.getpid()),
        ]
        with contextlib.suppress(OSError):  # no memory for a process: the journal is there, a later one delivers it
            self._child = subprocess.Popen(
                command,
                cwd=self._root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
