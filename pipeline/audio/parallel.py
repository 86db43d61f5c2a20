"""The same work on many recordings, in several processes, with results in the order of the recordings."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from joblib import Parallel, delayed

from pipeline.progress import Progress

Item = TypeVar("Item")
Result = TypeVar("Result")

ITEMS_A_TASK = 16
TASKS_A_ROUND = 8


def map_in_order(
    work: Callable[[Item], Result], items: Sequence[Item], workers: int, title: str, unit: str
) -> Iterator[Result]:
    """Yields work(item) for each item, in order, whatever the number of worker processes.

    Items go out in rounds, so that no more than a round of results waits in memory.

    Args:
        work: A picklable function.
        items: What it is called with.
        workers: Processes; 1 works in this one.
        title: Of the progress shown.
        unit: Plural name of the items.
    """
    in_a_round = ITEMS_A_TASK * TASKS_A_ROUND * workers
    with Progress(title, len(items), unit) as progress, Parallel(n_jobs=workers, batch_size=1) as parallel:
        for first in range(0, len(items), in_a_round):
            part = items[first : first + in_a_round]
            tasks = [part[start : start + ITEMS_A_TASK] for start in range(0, len(part), ITEMS_A_TASK)]
            for results in parallel(delayed(_work_on)(work, task) for task in tasks):
                yield from results
                progress.advance(len(results))


def _work_on(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    return [work(item) for item in items]
