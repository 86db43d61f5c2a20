"""How Tacotron 2 is measured."""

from typing import Annotated

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from pipeline.sections.base import Section
from pipeline.sections.training import Rate


class EvaluateTacotron(Section):
    """Free running ends at the stop threshold or at the cap. Pictures are of the first test utterances.

    Attributes:
        recogniser: "none", "pocketsphinx", or the folder of a Whisper model; it hears what Griffin-Lim makes of mels.
    """

    batch_size: PositiveInt
    prenet_dropout: Rate
    stop_threshold: Annotated[float, Field(gt=0.0, lt=1.0)]
    max_seconds: PositiveFloat
    picture_count: NonNegativeInt
    recogniser: Annotated[str, Field(min_length=1)]
    griffin_lim_iterations: PositiveInt
    griffin_lim_power: PositiveFloat
    threads: PositiveInt
