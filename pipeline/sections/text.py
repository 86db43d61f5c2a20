"""How a transcript becomes symbols."""

from typing import Annotated, Literal

from pydantic import Field

from pipeline.sections.base import Section


class Text(Section):
    """The normaliser's settings. They travel with the vocabulary, so that synthesis speaks as training did."""

    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}(_[A-Z]{2})?$")]
    normaliser: Literal["spoken", "basic"]
    case: Literal["lower", "keep"]
    units: Literal["characters", "phonemes"]
    stress: Literal["keep", "drop"]
    unknown: Literal["fail", "skip", "symbol"]
