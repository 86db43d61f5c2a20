"""Which recordings and transcripts everything is made from."""

from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, field_validator

from pipeline.sections.base import Section

Name = Annotated[str, Field(min_length=1)]


class Corpus(Section):
    """A folder of recordings and how it is laid out. Keys that a layout does not name are not read for it."""

    path: Name
    format: Literal["ljspeech", "csv", "vctk", "libritts", "commonvoice", "folder", "audio", "files"]
    metadata: Name
    audio_folder: str
    column_id: Name | None
    column_text: Name
    column_audio: Name
    column_speaker: Name | None
    column_separator: Annotated[str, Field(min_length=1, max_length=1)]
    speakers: list[Name]
    on_reject: Literal["skip", "fail"]

    @field_validator("metadata", "audio_folder")
    @classmethod
    def _stays_inside(cls, value: str) -> str:
        path = PurePosixPath(value)
        if path.is_absolute() or ".." in path.parts or "\\" in value:
            raise ValueError("must be a relative path with forward slashes that stays inside the corpus folder")
        return value
