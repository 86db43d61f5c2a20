"""The registered model `reprise-tacotron`: MLflow runs this file with the sources that were logged beside the weights."""

import contextlib
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel, PythonModelContext


class Tacotron(PythonModel):
    """A column `text` in; a row each of WAV bytes, sample rate and whether speech stopped by itself out."""

    def load_context(self, context: PythonModelContext) -> None:
        """Reads the weights. TensorFlow gets the threads that the model was used with, unless it runs here already."""
        from pipeline.tacotron.trained import read_trained
        from pipeline.training.device import set_up_device

        with contextlib.suppress(RuntimeError):
            set_up_device(context.model_config["threads"])
        self._trained = read_trained(Path(context.artifacts["trained"]))

    def predict(
        self, context: PythonModelContext, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> pd.DataFrame:
        """Says each text."""
        from pipeline.audio.files import write_wav
        from pipeline.errors import InputError
        from pipeline.tacotron.voice import speak
        from pipeline.tracking.serving.refusal import refusing

        speech = SimpleNamespace(**params)
        rows = []
        with refusing(), tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch, "sound.wav")
            for text in model_input["text"]:
                if not isinstance(text, str):
                    raise InputError(f"text is {text!r}; it must be a text")
                spoken = speak(self._trained, text, speech, speech.seed)
                write_wav(file, spoken.sound, spoken.sample_rate)
                rows.append((file.read_bytes(), spoken.sample_rate, spoken.stopped))
        return pd.DataFrame(rows, columns=["audio", "sample_rate", "stopped"])


set_model(Tacotron())
