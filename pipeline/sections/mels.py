"""Which part of a recording becomes log-mel frames."""

from typing import Annotated

from pydantic import Field, NonNegativeFloat, PositiveFloat

from pipeline.sections.base import Section


class Mels(Section):
    """Trimming and level, both relative to the clip's own peak, and the longest utterance that Tacotron learns from."""

    trim_db: PositiveFloat | None
    trim_margin: NonNegativeFloat
    peak_level: Annotated[float, Field(gt=0.0, le=1.0)] | None
    max_seconds: PositiveFloat
