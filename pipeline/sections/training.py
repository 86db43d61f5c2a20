"""The parameters that every training has."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from pipeline.sections.base import Section

Rate = Annotated[float, Field(ge=0.0, lt=1.0)]


class Training(Section):
    """The optimisation of a model. Intervals, patience and schedules are counted in training steps."""

    initialize_from: Annotated[str, Field(min_length=1)]
    batch_size: PositiveInt
    max_step_count: PositiveInt
    initial_learning_rate: PositiveFloat
    warmup_step_count: NonNegativeInt
    decay_rate: Annotated[float, Field(gt=0.0, le=1.0)]
    decay_patience: PositiveInt | None
    decay_start_step: NonNegativeInt
    decay_half_life: PositiveInt | None
    clip_norm: PositiveFloat | None
    weight_decay: Annotated[float, Field(ge=0.0)]
    adam_beta1: Rate
    adam_beta2: Rate
    adam_epsilon: PositiveFloat
    validation_interval: PositiveInt
    tracking_interval: PositiveInt
    checkpoint_interval: PositiveInt
    checkpoint_count: PositiveInt
    published_checkpoint: Literal["best", "final"]
    threads: PositiveInt
