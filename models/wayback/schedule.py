"""The layout in time, as plain integers: when each layer is updated, how long a segment is, and where its gradient is
cut.

Layers are numbered from 0 = bottom = fastest. P_i = periods[0] * ... * periods[i]; layer i is due when `time mod P_i ==
0`, layer 0 always. With `unroll_layer_count` U > 0 the top U layers are outer, the rest inner; q is the lowest outer
layer, m = q - 1 the topmost inner one. A segment falls into runs of P_q steps.

* Layer i's gradient reaches back boundaries[i] updates from the segment's end: at each run start t <= b_i = steps -
  boundaries[i] * P_i its state is passed through a stop-gradient, before the outer layers are updated.
* The steps of a run count in the loss, and are differentiated, where the run starts at t >= b_m.
* Outer states are constant in a run and keep their gradient across runs that do not count.

It follows that a segment is a chain of spans: in the last one everything is live; in each earlier one only the layers
above some layer are, and what is below goes forward and keeps nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple


class Span(NamedTuple):
    """Steps `start` <= t < `stop` of a segment.

    Attributes:
        live: The lowest layer whose updates get a gradient; 0 = all of them, and the steps count.
        cut: The layers below this one have their state passed through a stop-gradient before step `start`.
    """

    start: int
    stop: int
    live: int
    cut: int


@dataclass(frozen=True)
class Schedule:
    """A layout whose rules hold.

    Attributes:
        intervals: P_i, steps from one update of layer i to its next.
        step_count: Steps of a segment; its sequence has one element more.
        run_length: Steps of a run.
        boundary_steps: b_i; all zero where nothing is truncated.
        spans: The whole segment, in order; the last one counts.
    """

    intervals: tuple[int, ...]
    step_count: int
    run_length: int
    boundary_steps: tuple[int, ...]
    spans: tuple[Span, ...]

    @property
    def period(self) -> int:
        """Steps of a whole cycle."""
        return self.intervals[-1]

    @property
    def layer_count(self) -> int:
        return len(self.intervals)

    @property
    def first_counted(self) -> int:
        """The first step that counts in the loss."""
        return self.spans[-1].start

    def is_due(self, layer: int, time: int) -> bool:
        """Whether the layer is updated at a time."""
        return layer == 0 or time % self.intervals[layer] == 0

    def recut(self, layer: int) -> bool:
        """Whether the layer's state is cut at run starts after the first that counts."""
        return self.boundary_steps[layer] >= self.first_counted + self.run_length


def make_schedule(
    layout: str, layer_count: int, periods: Sequence[int], boundaries: Sequence[int], unroll_layer_count: int
) -> Schedule:
    """The schedule of layout "stack" or "wayback".

    Raises:
        ValueError: The settings break a rule of the layout; the message says which.
    """
    if layout == "stack":
        if unroll_layer_count:
            raise ValueError(
                f"unroll_layer_count is {unroll_layer_count}; layout stack truncates nothing inside a segment: 0"
            )
        return stack_schedule(layer_count, boundaries)
    if len(periods) != layer_count or len(boundaries) != layer_count:
        raise ValueError(
            f"layout wayback needs one period and one boundary a layer: there are {layer_count} layers, "
            f"periods {list(periods)}, boundaries {list(boundaries)}"
        )
    return wayback_schedule(periods, boundaries, unroll_layer_count)


def stack_schedule(layer_count: int, boundaries: Sequence[int]) -> Schedule:
    """Every layer at every step, the gradient through the whole segment of `max(boundaries)` steps.

    Raises:
        ValueError: A boundary is not a positive number.
    """
    _check_positive("boundaries", boundaries)
    steps = max(boundaries)
    return Schedule((1,) * layer_count, steps, 1, (0,) * layer_count, (Span(0, steps, 0, 0),))


def wayback_schedule(periods: Sequence[int], boundaries: Sequence[int], unroll_layer_count: int) -> Schedule:
    """Each layer at its own pace, in segments of `boundaries[-1]` updates of the top layer.

    Runs of a single step are legal (the original fails on them).

    Raises:
        ValueError: The settings break a rule of the layout; the message says which.
    """
    _check_positive("periods", periods)
    _check_positive("boundaries", boundaries)
    if len(periods) != len(boundaries):
        raise ValueError(f"periods and boundaries need one number a layer: {list(periods)} and {list(boundaries)}")
    if not 0 <= unroll_layer_count < len(periods):
        raise ValueError(
            f"unroll_layer_count is {unroll_layer_count}; it must leave one of {len(periods)} layers inner: "
            f"0 to {len(periods) - 1}"
        )
    intervals = tuple(accumulate(periods, lambda low, period: low * period))
    steps = boundaries[-1] * intervals[-1]
    if unroll_layer_count == 0:
        return Schedule(intervals, steps, intervals[-1], (0,) * len(periods), (Span(0, steps, 0, 0),))
    lowest_outer = len(periods) - unroll_layer_count
    cuts = tuple(steps - boundary * interval for boundary, interval in zip(boundaries, intervals, strict=True))
    _check_order(boundaries, intervals, cuts, steps)
    run_length = intervals[lowest_outer]
    spans = _spans(cuts, steps, run_length, lowest_outer)
    return Schedule(intervals, steps, run_length, cuts, spans)


def _check_positive(name: str, values: Sequence[int]) -> None:
    if not values or any(value < 1 for value in values):
        raise ValueError(f"{name} is {list(values)}; it must hold numbers from 1 up")


def _check_order(boundaries: Sequence[int], intervals: Sequence[int], cuts: Sequence[int], steps: int) -> None:
    for layer, (boundary, interval, cut) in enumerate(zip(boundaries, intervals, cuts, strict=True)):
        if cut < 0:
            raise ValueError(
                f"boundaries[{layer}] is {boundary}: so many updates of layer {layer} reach back {boundary * interval} "
                f"steps, and a segment has {steps}; it must be at most {steps // interval}"
            )
    for below, (low, high) in enumerate(pairwise(cuts)):
        if low < high:
            raise ValueError(
                f"boundaries is {list(boundaries)}: layer {below + 1} would reach back {steps - high} steps, less than "
                f"the {steps - low} of layer {below} below it; a boundary times its layer's interval "
                f"({list(intervals)}) must not fall from bottom to top"
            )


def _spans(cuts: Sequence[int], steps: int, run_length: int, lowest_outer: int) -> tuple[Span, ...]:
    counted = -(-cuts[lowest_outer - 1] // run_length) * run_length
    if counted >= steps:
        raise ValueError(
            f"no step would count in the loss: the last run starts at step {steps - run_length}, and "
            f"boundaries[{lowest_outer - 1}] lets no run before step {cuts[lowest_outer - 1]} count; raise it"
        )
    first_live = [counted] * lowest_outer + [cut // run_length * run_length for cut in cuts[lowest_outer:]]
    starts = sorted(set(first_live))
    return tuple(_span(start, stop, first_live) for start, stop in pairwise([*starts, steps]))


def _span(start: int, stop: int, first_live: Sequence[int]) -> Span:
    live = sum(first > start for first in first_live)
    return Span(start, stop, live, cut=sum(first >= start for first in first_live))
