"""How Wayback is measured."""

from pydantic import NonNegativeInt, PositiveInt

from pipeline.sections.base import Section


class EvaluateWayback(Section):
    """`batch_size` counts sequences; of the first `dump_count` test sequences every prediction is written as an
    array.
    """

    batch_size: PositiveInt
    dump_count: NonNegativeInt
    threads: PositiveInt
