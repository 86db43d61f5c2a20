"""What preparing, features and codes cost as a corpus grows: time, the largest process, files, `dvc status`.

Run as `python -m bench.scale [utterances ...]`. The corpora repeat the bundled recordings under other names. Every stage
is a process of its own, as DVC runs it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
BUNDLED = ROOT / "data/corpora/allison"
CORPUS = "data/corpora/allison"
COPIED = ("pipeline", "models", "data/random_start", "dvc.yaml", "params.yaml", ".gitignore", ".dvcignore", ".dvc")
COUNTS = (20, 500, 5000)
STATUS_ROUNDS = 3
STAGES = {
    "prepare": ["--corpus", CORPUS, "--prepared", "data/prepare", "--metrics", "data/metrics/prepare.json"],
    "vocabulary": ["--prepared", "data/prepare", "--vocabulary", "data/vocabulary"],
    "mels": [
        "--corpus",
        CORPUS,
        "--prepared",
        "data/prepare",
        "--vocabulary",
        "data/vocabulary",
        "--mels",
        "data/mels",
    ],
    "codes": ["--corpus", CORPUS, "--prepared", "data/prepare", "--codes", "data/codes"],
}


class Cost(NamedTuple):
    """Seconds that a command took, and the memory (MiB) of the largest process that took part."""

    seconds: float
    largest_process: float


def make_repository(folder: Path, utterances: int) -> None:
    """Writes a repository like this one whose corpus has so many utterances; nothing is run."""
    for name in COPIED:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "cache", "tmp"))
        else:
            shutil.copyfile(source, target)
    params = folder / "params.yaml"
    params.write_text(params.read_text(encoding="utf-8").replace("min_per_split: 8", "min_per_split: 1"), "utf-8")
    write_corpus(folder / CORPUS, utterances)


def write_corpus(folder: Path, utterances: int) -> None:
    """Writes so many utterances in LJSpeech's layout, the bundled recordings again and again."""
    rows = [line.split("|", 1) for line in (BUNDLED / "metadata.csv").read_text(encoding="utf-8").splitlines()]
    (folder / "wavs").mkdir(parents=True)
    lines = []
    for number in range(utterances):
        name, text = rows[number % len(rows)]
        shutil.copyfile(BUNDLED / f"wavs/{name}.flac", folder / f"wavs/{number:06d}.flac")
        lines.append(f"{number:06d}|{text}\n")
    (folder / "metadata.csv").write_text("".join(lines), encoding="utf-8")


def run(folder: Path, *command: str, workers: int = 2) -> Cost:
    """Runs `python -m COMMAND` in a folder to its end."""
    environment = os.environ | {"PYTHONPATH": str(folder), "REPRISE_WORKERS": str(workers)}
    begin = time.perf_counter()
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *command], cwd=folder, env=environment, stdout=output, stderr=output
        )
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed:\n{(folder / 'output').read_text()}")
    return Cost(time.perf_counter() - begin, usage.ru_maxrss / 1024)


def main(counts: list[int]) -> None:
    """Prints a line a stage and corpus."""
    for utterances in counts:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_repository(folder, utterances)
            subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
            for stage, arguments in STAGES.items():
                seconds, largest = run(folder, f"pipeline.{stage}", *arguments)
                files = len(list((folder / "data" / stage).iterdir()))
                print(
                    f"{utterances} utterances, {stage}: {seconds:.1f} s ({utterances / seconds:.0f} a second), "
                    f"largest process {largest:.0f} MiB, {files} files",
                    flush=True,
                )
            run(folder, "dvc", "commit", "--force", "--quiet", *STAGES)
            status = min(run(folder, "dvc", "status", *STAGES).seconds for _ in range(STATUS_ROUNDS))
            print(f"{utterances} utterances: dvc status {status:.2f} s", flush=True)


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or list(COUNTS))
