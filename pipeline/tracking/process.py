"""Which process on which machine, so that another one can tell whether it still lives."""

import os
import platform
from pathlib import Path

SEPARATOR = "|"
ENDED = "ended"


def identity(pid: int) -> str:
    """Host, boot, process namespace, process id and its start time: no later process has the same."""
    return SEPARATOR.join((platform.node(), _boot(), _namespace(), str(pid), _start_time(pid)))


def is_gone(process: str) -> bool | None:
    """Whether the process with this identity has ended; None when that cannot be seen from here."""
    parts = process.split(SEPARATOR)
    if len(parts) != 5 or parts[0] != platform.node():
        return None
    _, boot, namespace, pid, started = parts
    if boot != _boot():
        return True
    if namespace != _namespace():
        return None
    now = _start_time(int(pid))
    return now == ENDED or now != started


def _boot() -> str:
    return _read(Path("/proc/sys/kernel/random/boot_id"))


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _start_time(pid: int) -> str:
    """Clock ticks from boot to the start of a process; "ended" for one that has ended, waited for or not."""
    if not Path("/proc/self/stat").exists():
        return _signalled(pid)
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return fields[19] if fields and fields[0] not in "ZX" else ENDED


def _signalled(pid: int) -> str:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ENDED
    except PermissionError:
        pass
    return ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
