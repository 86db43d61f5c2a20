"""How Wayback is built and trained."""

from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from models.wayback.schedule import make_schedule
from pipeline.sections.training import Training

Sizes = Annotated[list[PositiveInt], Field(min_length=1)]


class TrainWayback(Training):
    """The authors' hyperparameters under their names; lists run from layer 0 = bottom = fastest.

    Their defaults: initial_learning_rate 0.002, decay_rate 0.1, decay_patience 100, clip_norm 1, batch_size 100, use_bn
    false, activation tanh, io_sizes [512], weight_decay 1e-7, layout stack, cell lstm, layer_sizes [1000], vskip false,
    boundaries [100], periods [1], unroll_layer_count 0, carry true, bit_depth 8, validation_interval, tracking_interval
    and max_validation_steps 100, max_step_count 100000.
    """

    layout: Literal["stack", "wayback"]
    cell: Literal["lstm", "gru", "rnn", "rrnn"]
    activation: Literal["tanh", "elu", "identity"]
    layer_sizes: Sizes
    io_sizes: Sizes
    use_bn: bool
    vskip: bool
    carry: bool
    periods: Sizes
    boundaries: Sizes
    unroll_layer_count: NonNegativeInt
    max_examples: PositiveInt | None
    max_validation_steps: PositiveInt

    @model_validator(mode="after")
    def _layout_is_legal(self) -> Self:
        make_schedule(self.layout, len(self.layer_sizes), self.periods, self.boundaries, self.unroll_layer_count)
        return self

    @model_validator(mode="after")
    def _batch_has_statistics(self) -> Self:
        if self.use_bn and self.batch_size < 2:
            raise ValueError("batch_size must be at least 2 with use_bn: there are no statistics over one row")
        return self
