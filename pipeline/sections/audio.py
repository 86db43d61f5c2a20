"""What a log-mel frame is."""

from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from pipeline.sections.base import Section


class Audio(Section):
    """The sample rate and the mel analysis, in librosa's words: rates and frequencies in Hz, lengths in samples."""

    sample_rate: Annotated[int, Field(ge=4000, le=192000)]
    n_fft: PositiveInt
    hop_length: PositiveInt
    win_length: PositiveInt
    n_mels: PositiveInt
    fmin: NonNegativeFloat
    fmax: PositiveFloat
    padding: Literal["reflect", "constant"]
    log_floor: PositiveFloat

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        rules = (
            (self.win_length <= self.n_fft, f"win_length {self.win_length} must not exceed n_fft {self.n_fft}"),
            (
                self.hop_length <= self.win_length,
                f"hop_length {self.hop_length} must not exceed win_length {self.win_length}",
            ),
            (self.fmin < self.fmax, f"fmin {self.fmin} must be below fmax {self.fmax}"),
            (
                2 * self.fmax <= self.sample_rate,
                f"fmax {self.fmax} must not exceed half the sample_rate, {self.sample_rate / 2}",
            ),
            (self.n_mels <= self.n_fft // 2, f"n_mels {self.n_mels} must not exceed half of n_fft, {self.n_fft // 2}"),
        )
        for holds, message in rules:
            if not holds:
                raise ValueError(message)
        return self
