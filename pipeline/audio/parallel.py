"""The same work on many recordings, by processes of this machine or a Dask cluster, with results in the order of the recordings."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from joblib.externals.loky import get_reusable_executor

from pipeline.audio.cluster import connect
from pipeline.audio.finished import Finished, keep, load
from pipeline.errors import InputError
from pipeline.progress import Progress

Result = TypeVar("Result")

LARGEST_PART = 16
"""Recordings that are handed over together: fewer cost more to hand over, more make workers wait for the last."""
LARGEST_PART_BYTES = 2**22
PARTS_AHEAD = 4
"""Parts for each worker that are begun before their results are taken: so many results at most wait in memory."""


class _Pool(NamedTuple):
    """Begins work and gives what waits for its outcome; `ahead` parts keep it busy."""

    begin: Callable[..., Callable[[], "_Done"]]
    ahead: int


class _Done(NamedTuple):
    """Results of some recordings, and whether an interrupted process had them."""

    results: list
    earlier: bool


def map_in_order(
    work: Callable[[Path], Result],
    paths: Sequence[Path],
    workers: int | str,
    title: str,
    unit: str,
    finished: Finished | None = None,
) -> Iterator[Result]:
    """Yields work(path) for each path, in order, whoever works; no more than some parts' results wait in memory.

    Args:
        work: A picklable function.
        paths: The recordings it is called with.
        workers: Processes, of which 1 is this one; or the address of a Dask scheduler.
        title: Of the progress shown.
        unit: Plural name of the recordings.
        finished: Where results of an interrupted process are found, and those that are made are kept.

    Raises:
        InputError: The cluster cannot be used, or workers died.
    """
    with Progress(title, len(paths), unit) as progress, _pool(workers) as pool:
        begun: deque[Callable[[], _Done]] = deque()
        for part in _parts(paths):
            begun.append(pool.begin(_work_on, work, part, finished))
            if len(begun) > pool.ahead:
                yield from _results(begun.popleft(), progress)
        while begun:
            yield from _results(begun.popleft(), progress)


def _parts(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Neighbours in parts that hold neither too many recordings nor, unless one alone does, too many bytes."""
    part, size = [], 0
    for path in paths:
        more = path.stat().st_size if path.exists() else 0
        if part and (len(part) == LARGEST_PART or size + more > LARGEST_PART_BYTES):
            yield part
            part, size = [], 0
        part.append(path)
        size += more
    if part:
        yield part


def _work_on(work: Callable[[Path], Result], paths: Sequence[Path], finished: Finished | None) -> _Done:
    if finished is None:
        return _Done([work(path) for path in paths], False)
    place = finished.place_of(paths)
    known = load(place)
    if known is not None:
        return _Done(known, True)
    results = [work(path) for path in paths]
    keep(place, results)
    return _Done(results, False)


def _results(outcome: Callable[[], _Done], progress: Progress) -> Iterator:
    try:
        results, earlier = outcome()
    except (BrokenExecutor, CancelledError) as error:
        raise InputError(
            f"workers died or were lost ({type(error).__name__}): too little memory, or a cluster that ended? "
            "The same command goes on from where they were"
        ) from error
    yield from results
    count = progress.skip if earlier else progress.advance
    count(len(results))


@contextmanager
def _pool(workers: int | str) -> Iterator[_Pool]:
    if workers == 1:
        yield _Pool(partial, 0)
    elif isinstance(workers, int):
        executor = get_reusable_executor(max_workers=workers)
        yield _Pool(lambda *work: executor.submit(*work).result, PARTS_AHEAD * workers)
    else:
        with connect(workers) as cluster:
            yield _Pool(cluster.submit, PARTS_AHEAD * cluster.threads)
