"""What makes a recording usable, and how the corpus is split."""

from typing import Annotated, Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from pipeline.sections.base import Section

Fraction = Annotated[float, Field(ge=0.0, lt=1.0)]


class Prepare(Section):
    """Limits of a verdict on one recording, and the shares of the splits."""

    min_seconds: NonNegativeFloat
    max_seconds: PositiveFloat | None
    min_sample_rate: PositiveInt
    min_peak_db: Annotated[float, Field(lt=0.0)]
    max_clipped_fraction: Annotated[float, Field(gt=0.0, le=1.0)]
    max_cancellation_db: PositiveFloat
    validation_fraction: Fraction
    test_fraction: Fraction
    min_per_split: NonNegativeInt

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.validation_fraction + self.test_fraction >= 1.0:
            raise ValueError(
                "validation_fraction + test_fraction must leave something to train on: their sum must be below 1"
            )
        if self.max_seconds is not None and self.max_seconds <= self.min_seconds:
            raise ValueError(f"max_seconds {self.max_seconds} must exceed min_seconds {self.min_seconds}")
        return self
