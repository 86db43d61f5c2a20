"""The parameters of the report."""

from typing import Annotated

from pydantic import Field, NonNegativeInt

from pipeline.sections.base import Section


class Report(Section):
    """What the report page says and holds.

    Attributes:
        title: Heading of the page.
        max_samples: Samples a model that the page holds, with their sounds and pictures; it counts the others.
        mlflow_address: Where links to runs lead: the address of `make ui`, or of the tracking server.
    """

    title: Annotated[str, Field(min_length=1)]
    max_samples: NonNegativeInt
    mlflow_address: Annotated[str, Field(pattern=r"^https?://\S+$")]
