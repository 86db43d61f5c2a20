"""The registered model `reprise-wayback`: MLflow runs this file with the sources that were logged beside the weights."""

import contextlib
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel, PythonModelContext


class Wayback(PythonModel):
    """A column `primer` in, the bytes of a recording or file each, or none; the primer and what goes on from it out.

    A row of `audio` is WAV bytes, or the bytes themselves and sample rate 0 where the model learned bytes.
    """

    def load_context(self, context: PythonModelContext) -> None:
        """Reads the weights. TensorFlow gets the threads that the model was used with, unless it runs here already."""
        from pipeline.training.device import set_up_device
        from pipeline.wayback.trained import read_trained

        with contextlib.suppress(RuntimeError):
            set_up_device(context.model_config["threads"])
        self._trained = read_trained(Path(context.artifacts["trained"]))

    def predict(
        self, context: PythonModelContext, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> pd.DataFrame:
        """Goes on from each primer."""
        from pipeline.tracking.serving.refusal import refusing
        from pipeline.wayback.voice import from_nothing, go_on, symbols_of, write

        codec = self._trained.codec
        settings = SimpleNamespace(**params)
        with refusing(), tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch, "primer.wav")
            primers = []
            for primer in model_input["primer"]:
                file.write_bytes(primer)
                primers.append(symbols_of(file, codec) if primer else from_nothing(codec))
            made = go_on(self._trained, primers, settings.temperature, settings.continuation_length, settings.seed)
            rate = codec.codes.sample_rate if codec.codes.kind == "wave" else 0
            rows = []
            for primer, symbols in zip(primers, made, strict=True):
                write(file, symbols, codec)
                rows.append((file.read_bytes(), rate, len(primer)))
        return pd.DataFrame(rows, columns=["audio", "sample_rate", "primer_symbols"])


set_model(Wayback())
