"""What Wayback goes on from, and how far."""

from typing import Annotated, Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, model_validator

from pipeline.sections.base import Section


class SynthesizeWayback(Section):
    """Each primer is continued at each temperature. Lengths are in symbols."""

    temperatures: Annotated[list[NonNegativeFloat], Field(min_length=1)]
    primer_count: NonNegativeInt
    primer_length: PositiveInt
    unprimed_count: NonNegativeInt
    continuation_length: PositiveInt
    threads: PositiveInt

    @model_validator(mode="after")
    def _makes_something(self) -> Self:
        if self.primer_count + self.unprimed_count == 0:
            raise ValueError("primer_count or unprimed_count must be above 0: nothing would be sampled")
        return self
