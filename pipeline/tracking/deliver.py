"""The child process that delivers a journal.

    python -m pipeline.tracking.deliver <journal> <identity of the training process>

It ends with 0 when the journal has been ended and is delivered whole. It goes on trying as long as the training lives;
when the training vanishes without a word (kill -9, out of memory), it delivers what is there and marks the run KILLED.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from pipeline.tracking import addresses, process
from pipeline.tracking.journal import (
    give_sign,
    is_closed,
    put_away,
    read_delivered,
    sign_of_life,
    sole_delivery,
    write_delivered,
)

SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_BETWEEN_BATCHES = 1.0
SECONDS_BETWEEN_LAST_TRIES = 0.5
SECONDS_BETWEEN_TRIES = (0.5, 1.0, 2.0, 4.0, 8.0)
SECONDS_ALONE = 60.0

Say = Callable[[str], None]


class Errand:
    """Bringing one journal's records to the store, for as long as it takes.

    Args:
        folder: The journal's.
        training: Identity of the process that writes it.
    """

    def __init__(self, folder: Path, training: str):
        self._folder, self._training = folder, training
        self._address, self._root = os.environ[addresses.VARIABLE], Path.cwd()
        self._say = logger(folder)
        self._alone_since: float | None = None
        self._failures, self._is_first = 0, True
        self._store = self._delivery = None

    def run(self) -> int:
        """Returns 0 when everything is delivered and the run has ended."""
        while True:
            try:
                if self._is_over():
                    break
                self._failures = 0
                self._pause(SECONDS_BETWEEN_BATCHES)
            except Exception as error:  # whatever keeps the store from answering
                self._note(error)
                self._pause(SECONDS_BETWEEN_TRIES[min(self._failures, len(SECONDS_BETWEEN_TRIES)) - 1])
            if self._gives_up():
                return 1
        self._deliver_others()
        if self._training_is_gone():
            put_away(self._folder)
        return 0

    def _is_over(self) -> bool:
        """Delivers what has come in; says whether the run has ended."""
        if self._delivery is None:
            self._open()
        if self._failures and not is_closed(self._folder):
            self._delivery.still_runs()
        while self._delivery.advance():
            self._alone_since = None
        self._delivery.failed("")
        if self._is_first:
            self._is_first = False
            self._deliver_others()
            self._close_orphans()
        if is_closed(self._folder) and not self._delivery.waits:
            return True
        if self._training_is_gone() and self._delivery.owner()[1] == self._training:
            self._delivery.end_as_killed()
            return True
        self._delivery.beat()
        return False

    def _open(self) -> None:
        with sign_of_life(self._folder):
            from pipeline.tracking.delivery import Delivery
            from pipeline.tracking.store import Store

            self._store = self._store or Store(self._address, self._root)
        self._delivery = Delivery(self._folder, self._store, self._say)

    def _deliver_others(self) -> None:
        """Delivers what earlier runs left."""
        from pipeline.tracking.delivery import deliver_waiting

        def progressed() -> None:
            give_sign(self._folder)
            self._delivery.advance()
            self._delivery.beat()

        deliver_waiting(self._root, self._address, self._say, self._folder, progressed)

    def _close_orphans(self) -> None:
        try:
            for run_id in self._store.close_orphans():
                self._say(f"run {run_id} was left RUNNING by a process that is gone; it is KILLED now")
        except Exception as error:  # the next start tries again
            self._say(f"{type(error).__name__}: {error}")

    def _note(self, error: Exception) -> None:
        from pipeline.tracking.store import explain

        self._failures += 1
        line = explain(error)
        self._say(line)
        write_delivered(self._folder, read_delivered(self._folder)._replace(error=line))

    def _training_is_gone(self) -> bool:
        return process.is_gone(self._training) is True

    def _gives_up(self) -> bool:
        """Whether to leave the rest to others: nobody waits for it any more, or another attempt has taken over."""
        if not self._training_is_gone():
            return False
        self._alone_since = self._alone_since or time.monotonic()
        return time.monotonic() - self._alone_since > SECONDS_ALONE or self._taken_over()

    def _taken_over(self) -> bool:
        return self._delivery is not None and self._delivery.owner()[1] != self._training

    def _pause(self, seconds: float) -> None:
        """Waits, and much less when the run has ended."""
        started = time.monotonic()
        gone = self._training_is_gone()
        while (elapsed := time.monotonic() - started) < seconds:
            time.sleep(SECONDS_BETWEEN_LOOKS)
            if elapsed > SECONDS_BETWEEN_LAST_TRIES and is_closed(self._folder):
                return
            if is_closed(self._folder) and not self._failures:
                return
            if not gone and self._training_is_gone():
                return


def logger(folder: Path) -> Say:
    """A function that adds a line to the journal's deliver.log."""

    def say(line: str) -> None:
        with contextlib.suppress(OSError), (folder / "deliver.log").open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now():%Y-%m-%d %H:%M:%S} {addresses.without_password(line)}\n")

    return say


def main(folder: Path, training: str) -> int:
    """Delivers the journal in `folder`, written by the process with the identity `training`; gives the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.nice(10)
    while process.is_gone(training) is not True:
        with sole_delivery(folder) as alone:
            if alone:
                return Errand(folder, training).run()
        give_sign(folder)
        time.sleep(SECONDS_BETWEEN_LOOKS)
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
