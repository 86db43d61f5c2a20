"""When a trained model takes the champion's place."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveInt

from pipeline.sections.base import Section


class Criterion(Section):
    """What is demanded of a figure.

    Attributes:
        better: Which values are better.
        tolerance: A loss up to it, in the figure's unit, is borne.
    """

    better: Literal["lower", "higher"]
    tolerance: NonNegativeFloat


Criteria = Annotated[dict[str, Criterion], Field(min_length=1)]


class Gate(Section):
    """A candidate is promoted when no figure may be worse by more than its tolerance, and one is surely better.

    Attributes:
        min_utterances: Pairs below which nothing is promoted.
        confidence: Of the interval in which a gain lies.
        resample_count: Bootstrap resamples that the interval is taken from.
        tacotron, wayback: Criteria by column of per_utterance.csv.
    """

    min_utterances: PositiveInt
    confidence: Annotated[float, Field(gt=0.5, lt=1.0)]
    resample_count: Annotated[int, Field(ge=1000)]
    tacotron: Criteria
    wayback: Criteria
