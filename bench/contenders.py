"""Processes that measure on demand, so that contenders are alive side by side and take turns."""

import os
import statistics
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

TORCH = "torch==2.13.0"
ROOT = Path(__file__).parents[1]
LAUNCHER = ROOT / "pipeline" / "python"
"""Starts ours as the stages are started."""


class Contender:
    """A process that runs a script with `arguments` and measures what it is asked for.

    Args:
        python: The interpreter of its environment.
        script: A script that calls `serve`.
        arguments: Of the script.
        environment: Variables besides those of this process.
    """

    def __init__(
        self, python: Path, script: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None
    ):
        settings = {"PYTHONPATH": str(ROOT), "REPRISE_PYTHON": sys.executable, **(environment or {})}
        self._process = subprocess.Popen(
            [str(python), script, *arguments],
            env={**os.environ, **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def measure(self, work: str) -> float:
        """Seconds of one execution, or the number that the work gives: of `memory`, the bytes of the process at its
        largest.
        """
        self._process.stdin.write(work + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def end(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def in_turn(contenders: Mapping[str, Contender], work: str, samples: int) -> dict[str, float]:
    """The median of each contender's measurements, taken in turn after one that does not count."""
    for contender in contenders.values():
        contender.measure(work)
    taken = [{name: contender.measure(work) for name, contender in contenders.items()} for _ in range(samples)]
    return {name: statistics.median(each[name] for each in taken) for name in contenders}


def serve(works: Mapping[str, Callable[[], float | None]]) -> None:
    """Executes the works named on the standard input; on the standard output, for each the number that it gives, or how
    many seconds it took.
    """
    works = {"memory": largest_memory, **works}
    for line in sys.stdin:
        started = time.perf_counter()
        number = works[line.strip()]()
        print(time.perf_counter() - started if number is None else number, flush=True)


def largest_memory() -> int:
    """Bytes of this process at its largest."""
    return _memory("VmHWM")


def present_memory() -> int:
    """Bytes of this process now."""
    return _memory("VmRSS")


def forget_largest_memory() -> None:
    """Makes `largest_memory` count from now on (Linux)."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def _memory(field: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(next(line for line in status.splitlines() if line.startswith(field)).split()[1])


def make_torch(folder: Path) -> Path:
    """The Python of an environment with PyTorch; it is made once."""
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(folder / "venv", with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", TORCH, "numpy"], check=True)
    return python
