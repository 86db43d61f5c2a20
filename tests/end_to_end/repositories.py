"""A repository like this one with few utterances and tiny models, in a path with a space and an umlaut."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from ruamel.yaml import YAML

from pipeline.params import set_param

ROOT = Path(__file__).resolve().parents[2]
CODE = (
    "pipeline",
    "models",
    "data/random_start",
    "dvc.yaml",
    "params.yaml",
    ".gitignore",
    ".dvcignore",
    ".dvc/config",
    ".dvc/.gitignore",
)
UTTERANCES = 24
TINY = {
    "prepare.validation_fraction": 0.2,
    "prepare.test_fraction": 0.2,
    "prepare.min_per_split": 1,
    "mels.max_seconds": 2.0,
    "train_tacotron.embedding_units": 12,
    "train_tacotron.encoder_layers": 1,
    "train_tacotron.encoder_units": 12,
    "train_tacotron.attention_units": 8,
    "train_tacotron.location_filters": 4,
    "train_tacotron.location_width": 5,
    "train_tacotron.prenet_units": 8,
    "train_tacotron.attention_lstm_units": 12,
    "train_tacotron.decoder_lstm_units": 12,
    "train_tacotron.postnet_layers": 2,
    "train_tacotron.postnet_units": 8,
    "train_tacotron.batch_size": 4,
    "train_tacotron.bucket_count": 1,
    "train_tacotron.max_step_count": 8,
    "train_tacotron.validation_interval": 4,
    "train_tacotron.tracking_interval": 2,
    "train_tacotron.checkpoint_interval": 2,
    "evaluate_tacotron.max_seconds": 1.0,
    "evaluate_tacotron.picture_count": 1,
    "evaluate_tacotron.recogniser": "pocketsphinx",
    "evaluate_tacotron.griffin_lim_iterations": 4,
    "synthesize_tacotron.max_seconds": 1.0,
    "synthesize_tacotron.griffin_lim_iterations": 4,
    "synthesize_tacotron.sentences": ["Goodbye.", "Thank you."],
    "codes.sample_rate": 8000,
    "train_wayback.layer_sizes": [12, 12, 12],
    "train_wayback.io_sizes": [12],
    "train_wayback.boundaries": [32, 8, 4],
    "train_wayback.batch_size": 4,
    "train_wayback.max_validation_steps": 2,
    "train_wayback.max_step_count": 8,
    "train_wayback.validation_interval": 4,
    "train_wayback.tracking_interval": 2,
    "train_wayback.checkpoint_interval": 2,
    "synthesize_wayback.temperatures": [1.0],
    "synthesize_wayback.primer_count": 1,
    "synthesize_wayback.primer_length": 200,
    "synthesize_wayback.continuation_length": 400,
}


class Repository:
    """A checkout to run commands in."""

    def __init__(self, folder: Path):
        self.folder = folder

    def environment(self, **more: str) -> dict[str, str]:
        """This process's environment with this interpreter, without addresses of other stores."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_", "DVC_", "REPRISE_"))
        }
        return kept | {"REPRISE_PYTHON": sys.executable, "GIT_CEILING_DIRECTORIES": str(self.folder.parent)} | more

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen:
        """Starts `dvc ARGUMENTS` as the leader of a process group."""
        command = [sys.executable, "-m", "dvc", *arguments]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(**environment),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def dvc(self, *arguments: str, code: int = 0, **environment: str) -> str:
        """Runs `dvc ARGUMENTS` and gives what it printed."""
        process = self.start(*arguments, **environment)
        printed, _ = process.communicate()
        assert process.returncode == code, printed
        return printed

    def command(self, module: str, *arguments: str) -> str:
        """Runs `python -m MODULE ARGUMENTS` and gives what it printed."""
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=self.environment(), check=True, capture_output=True, text=True
        ).stdout

    def git(self, *arguments: str) -> str:
        """Runs `git ARGUMENTS` and gives what it printed."""
        identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost"]
        return subprocess.run(
            ["git", *identity, *arguments], cwd=self.folder, check=True, capture_output=True, text=True
        ).stdout

    def set_params(self, values: Mapping[str, object]) -> None:
        """Changes parameters."""
        for name, value in values.items():
            set_param(self.folder / "params.yaml", name, value)

    def hashes(self) -> dict[str, str]:
        """What dvc.lock says of every output."""
        lock = YAML(typ="safe").load(self.folder / "dvc.lock")
        return {out["path"]: out["md5"] for stage in lock["stages"].values() for out in stage["outs"]}

    def read(self, path: str) -> dict:
        """A JSON file."""
        return json.loads((self.folder / path).read_text(encoding="utf-8"))


def stop(process: subprocess.Popen, number: signal.Signals) -> str:
    """Sends a signal to a process and all that it started, and gives what it printed."""
    os.killpg(process.pid, number)
    printed, _ = process.communicate()
    return printed


def make_repository(folder: Path, utterances: int = UTTERANCES) -> Repository:
    """A repository of its own in `folder`, committed, nothing run."""
    for name in CODE:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".partial.*"))
        else:
            shutil.copy(source, target)
    _copy_corpus(ROOT / "data/corpora/allison", folder / "data/corpora/allison", utterances)
    repository = Repository(folder)
    repository.set_params(TINY)
    repository.git("init", "-q", "-b", "main")
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", "start")
    return repository


def keep_wayback_alone(repository: Repository) -> None:
    """Takes the stages of text to speech out of dvc.yaml, as a user without transcripts may."""
    yaml = YAML()
    graph = yaml.load(repository.folder / "dvc.yaml")
    gone = [name for name in graph["stages"] if name in ("vocabulary", "mels") or name.endswith("_tacotron")]
    lost = set()
    for name in gone:
        stage = graph["stages"].pop(name)
        lost |= {*stage["outs"], *(path for each in stage.get("metrics", []) for path in each)}
    for stage in graph["stages"].values():
        stage["deps"] = [path for path in stage["deps"] if path not in lost]
    graph["plots"] = [each for each in graph["plots"] if "tacotron" not in str(each)]
    yaml.dump(graph, repository.folder / "dvc.yaml")


def copy_repository(repository: Repository, folder: Path) -> Repository:
    """Another one, with all that was made in the first."""
    shutil.copytree(repository.folder, folder, ignore=shutil.ignore_patterns("mlflow.db*", "mlartifacts", ".work"))
    return Repository(folder)


def _copy_corpus(source: Path, target: Path, count: int) -> None:
    """Some short recordings, in a folder of their own, so that ids hold a slash."""
    rows = (source / "metadata.csv").read_text(encoding="utf-8").splitlines()
    short = sorted(rows, key=lambda row: (source / "wavs" / f"{row.split('|')[0]}.flac").stat().st_size)
    chosen = sorted(short[20 : 20 + count])
    (target / "wavs/prompts").mkdir(parents=True)
    (target / "metadata.csv").write_text("".join(f"prompts/{row}\n" for row in chosen), encoding="utf-8")
    shutil.copy(source / "ATTRIBUTION.md", target)
    for row in chosen:
        shutil.copy(source / "wavs" / f"{row.split('|')[0]}.flac", target / "wavs/prompts")
