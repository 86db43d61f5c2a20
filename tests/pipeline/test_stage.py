"""How a stage starts, and how progress is shown."""

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import stage
from pipeline.errors import InputError
from pipeline.progress import Progress, progress

ROOT = Path(__file__).resolve().parents[2]


def test_arguments_are_named_after_the_parameters_and_converted():
    seen = []

    def main(trained_model: Path, count: int = 3) -> None:
        """Collects."""
        seen.append((trained_model, count))

    stage.run(main, ["--trained-model", "a b"])
    stage.run(main, ["--trained-model", "a", "--count", "5"])
    assert seen == [(Path("a b"), 3), (Path("a"), 5)]


def test_a_user_s_mistake_is_one_line_and_exit_code_1(capsys):
    def main() -> None:
        raise InputError("corpus: there is none")

    with pytest.raises(SystemExit) as ended:
        stage.run(main, [])
    assert ended.value.code == 1
    assert capsys.readouterr().err == "error: corpus: there is none\n"


def test_off_a_terminal_progress_is_plain_lines_with_count_and_time_left(capsys):
    for _ in progress(range(4), "reading", total=4, unit="files"):
        pass
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "reading: 4 files to do"
    assert lines[-1].startswith("reading: 4/4 files, ")
    assert lines[-1].endswith("00:00 left")


def test_what_was_done_before_does_not_count_for_the_rate(capsys):
    with Progress("training", total=10, unit="steps", done=6) as counter:
        counter.advance(4, note="loss 1.5")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "training: 4 steps to do"
    assert lines[-1].startswith("training: 10/10 steps")
    assert lines[-1].endswith("loss 1.5")


def test_the_launcher_says_what_to_do_without_an_environment(tmp_path):
    ended = subprocess.run(
        [ROOT / "pipeline/python", "-V"],
        env={"DVC_ROOT": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    assert "make venv" in ended.stderr


def test_the_launcher_takes_a_named_interpreter_and_keeps_arguments_whole(tmp_path):
    command = [ROOT / "pipeline/python", "-c", "import sys; print(sys.argv[1])", "Größe $x `y`"]
    ended = subprocess.run(
        command,
        env={"REPRISE_PYTHON": sys.executable, "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ended.stdout == "Größe $x `y`\n"
