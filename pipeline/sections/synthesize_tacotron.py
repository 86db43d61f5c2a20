"""What Tacotron 2 says, and how its frames become sound."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from pipeline.sections.base import Section
from pipeline.sections.training import Rate


class SynthesizeTacotron(Section):
    """Sentences, where they end, and Griffin-Lim. `long_text` counts for what is longer than any text in training.

    Attributes:
        recogniser: "none", "pocketsphinx", or the folder of a Whisper model; it listens to the sentences.
    """

    sentences: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]
    long_text: Literal["whole", "split"]
    prenet_dropout: Rate
    stop_threshold: Annotated[float, Field(gt=0.0, lt=1.0)]
    max_seconds: PositiveFloat
    griffin_lim_iterations: PositiveInt
    griffin_lim_power: PositiveFloat
    recogniser: Annotated[str, Field(min_length=1)]
    threads: PositiveInt
