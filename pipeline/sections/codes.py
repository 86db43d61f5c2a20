"""How a recording or a file becomes a sequence of categories."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from pipeline.sections.base import Section


class Codes(Section):
    """The categorical sequences that Wayback learns. All but `kind` and the lengths concern waves alone."""

    kind: Literal["wave", "bytes"]
    sample_rate: Annotated[int, Field(ge=1000, le=192000)]
    encoding: Literal["mulaw", "linear"]
    bit_depth: Annotated[int, Field(ge=2, le=8)]
    trim_db: PositiveFloat | None
    trim_margin: NonNegativeFloat
    peak_level: Annotated[float, Field(gt=0.0, le=1.0)] | None
    min_length: PositiveInt
    max_length: Annotated[int, Field(ge=2)] | None
