"""Progress of long steps: a bar on a terminal, plain lines elsewhere, both with the time left."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Counts `total` units of work under a title; use as a context manager.

    Args:
        title: What is being done, as a phrase.
        total: Number of units.
        unit: Name of a unit, plural.
        done: Units that an earlier process did already; they do not count for the rate.
    """

    def __init__(self, title: str, total: int, unit: str, done: int = 0):
        self._bar = tqdm(
            total=total,
            initial=done,
            desc=title,
            unit=f" {unit}",
            file=sys.stderr,
            dynamic_ncols=True,
            mininterval=0.5 if sys.stderr.isatty() else SECONDS_BETWEEN_LINES,
            maxinterval=SECONDS_BETWEEN_LINES,
            disable=not sys.stderr.isatty(),
        )
        self._title, self._total, self._unit = title, total, unit
        self._first, self._count, self._skipped = done, done, 0
        self._started = self._last_line = time.monotonic()
        self._note = ""

    def __enter__(self) -> "Progress":
        if self._bar.disable:
            self.say(f"{self._title}: {self._total - self._first} {self._unit} to do")
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
        if self._skipped:
            self.say(f"{self._title}: {self._skipped} {self._unit} were finished before an interruption")
        if self._bar.disable and self._count > self._first:
            self.say(self._line())

    def skip(self, count: int) -> None:
        """Adds units that an earlier process finished; they do not count for the rate."""
        self._first, self._count, self._skipped = self._first + count, self._count + count, self._skipped + count
        if not self._bar.disable:
            self._bar.initial += count
            self._bar.update(count)

    def advance(self, count: int = 1, note: str = "") -> None:
        """Adds finished units; `note` (a few figures) is shown beside the rate."""
        self._count += count
        self._note = note or self._note
        if not self._bar.disable:
            self._bar.set_postfix_str(self._note, refresh=False)
            self._bar.update(count)
        elif time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self.say(self._line())

    def say(self, line: str) -> None:
        """Prints a line without breaking the bar."""
        self._last_line = time.monotonic()
        if self._bar.disable:
            print(line, file=sys.stderr, flush=True)
        else:
            self._bar.write(line, file=sys.stderr)

    def _line(self) -> str:
        elapsed = time.monotonic() - self._started
        rate = (self._count - self._first) / elapsed if elapsed > 0 else 0.0
        left = (self._total - self._count) / rate if rate > 0 else 0.0
        note = f", {self._note}" if self._note else ""
        return (
            f"{self._title}: {self._count}/{self._total} {self._unit}, {rate:.3g} a second, "
            f"{tqdm.format_interval(left)} left{note}"
        )


def progress(items: Iterable[Item], title: str, total: int, unit: str) -> Iterator[Item]:
    """Yields the items, counting each as it is finished."""
    with Progress(title, total, unit) as counter:
        for item in items:
            yield item
            counter.advance()
