"""Command `make serve`: MLflow's model server on the champion, on this machine only, until Ctrl-C."""

import os
import subprocess
import sys
from pathlib import Path

from pipeline import lineage, stage
from pipeline.errors import InputError
from pipeline.server import ask
from pipeline.tracking.addresses import VARIABLE, store_address
from pipeline.ui import attend, refuse_missing_store, refuse_taken_port

HOST = "127.0.0.1"
APPLICATION = Path(__file__).parent / "tracking/serving/app.py"
MODEL = "__pyfunc_model_path__"  # MLflow's own variable of its model server
FIRST = {"reprise-tacotron": {"text": "Hello."}, "reprise-wayback": {"primer": ""}}


def main(model: str = "reprise-tacotron", port: int = 5001, host: str = HOST) -> None:
    """Serves `models:/MODEL@champion`; the first answer, for which TensorFlow compiles, is asked for at once."""
    if model not in FIRST:
        raise InputError(f"MODEL is {model!r}; it must be one of {', '.join(FIRST)}")
    from pipeline.tracking.champions import champion_of

    store = store_address(lineage.main_root())
    refuse_missing_store(store)
    champion = champion_of(model)
    if champion is None:
        raise InputError(f"{model} has no champion: make promote FIRST=1")
    refuse_taken_port(port, f"make serve PORT={port + 1}")
    server = subprocess.Popen(command(port, host), env=environment(store, champion.address))
    address = f"http://{host}:{port}"

    def begin() -> None:
        ask(address, [FIRST[model]])
        print(f"\n{champion.address} answers at {address}/invocations  (Ctrl-C ends it)\n", flush=True)

    attend(server, address, begin)


def command(port: int, host: str) -> list[str]:
    """The command line of MLflow's model server in this environment (its `--env-manager local`)."""
    place = ["--app-dir", str(APPLICATION.parent), "--host", host, "--port", str(port), "--workers", "1"]
    return [sys.executable, "-m", "uvicorn", *place, "--log-level", "warning", f"{APPLICATION.stem}:app"]


def environment(store: str, model: str) -> dict[str, str]:
    """The server finds the model in the store, and none of this checkout's code."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    settings = {VARIABLE: store, MODEL: model, "PYTHONSAFEPATH": "1", "MLFLOW_DISABLE_TELEMETRY": "true"}
    return kept | settings


if __name__ == "__main__":
    stage.run(main)
