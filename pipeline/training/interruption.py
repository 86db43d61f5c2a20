"""Ctrl-C and SIGTERM ask a training to stop after the present step."""

import signal
from types import FrameType


class Interruption:
    """While the block runs, the first SIGINT or SIGTERM is only noted; a second one acts as usual."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> "Interruption":
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def raise_noted(self) -> None:
        """Ends the process as the signal asked: KeyboardInterrupt, or SystemExit with 128 + its number."""
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        if self.signal is not None:
            raise SystemExit(128 + self.signal)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.signal = signal.Signals(number)
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
