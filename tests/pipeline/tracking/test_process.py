"""A process is told from every other one, also from a later one with its number."""

import os
import subprocess
import sys

from pipeline.tracking.process import identity, is_gone


def test_a_living_process_is_there_and_an_ended_one_is_gone_waited_for_or_not() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    name = identity(child.pid)
    assert is_gone(name) is False
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_gone(name) is True
    child.wait()
    assert is_gone(name) is True


def test_another_process_with_the_same_number_is_not_the_same_process() -> None:
    parts = identity(os.getpid()).split("|")
    assert is_gone("|".join((*parts[:4], str(int(parts[4]) - 1)))) is True


def test_a_process_from_before_the_last_boot_is_gone() -> None:
    host, _, *rest = identity(os.getpid()).split("|")
    assert is_gone("|".join((host, "another boot", *rest))) is True


def test_of_another_machine_or_another_container_nothing_can_be_seen() -> None:
    host, boot, _, *rest = identity(os.getpid()).split("|")
    assert is_gone("|".join(("elsewhere", boot, "", *rest))) is None
    assert is_gone("|".join((host, boot, "another container", *rest))) is None
    assert is_gone("nonsense") is None
