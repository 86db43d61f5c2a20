"""How Tacotron 2 is built and trained."""

from typing import Annotated, Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from pipeline.sections.training import Rate, Training


class TrainTacotron(Training):
    """Sizes, rates and losses. `batch_size` counts utterances of average length; longer ones come in smaller batches."""

    reduction_factor: PositiveInt
    embedding_units: PositiveInt
    encoder_layers: PositiveInt
    encoder_width: PositiveInt
    encoder_units: Annotated[int, Field(gt=0, multiple_of=2)]
    attention_units: PositiveInt
    location_filters: PositiveInt
    location_width: PositiveInt
    prenet_units: PositiveInt
    attention_lstm_units: PositiveInt
    decoder_lstm_units: PositiveInt
    postnet_layers: Annotated[int, Field(ge=2)]
    postnet_units: PositiveInt
    postnet_width: PositiveInt
    convolution_dropout: Rate
    prenet_dropout: Rate
    zoneout: Rate
    squared_weight: NonNegativeFloat
    absolute_weight: NonNegativeFloat
    stop_weight: PositiveFloat
    stop_frames: PositiveInt
    guide_weight: NonNegativeFloat
    guide_width: PositiveFloat
    guide_full_steps: NonNegativeInt
    guide_fade_steps: PositiveInt
    bucket_count: PositiveInt

    @model_validator(mode="after")
    def _has_a_frame_loss(self) -> Self:
        if self.squared_weight + self.absolute_weight == 0.0:
            raise ValueError("squared_weight or absolute_weight must be above 0: nothing would teach the frames")
        return self
