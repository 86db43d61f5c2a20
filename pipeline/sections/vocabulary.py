"""What enters the vocabulary."""

from pydantic import PositiveInt

from pipeline.sections.base import Section


class Vocabulary(Section):
    """A symbol enters when the training split holds it this often at least."""

    min_count: PositiveInt
