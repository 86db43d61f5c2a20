"""A Dask cluster, whose workers do what processes of this machine would do. `distributed` is imported only here, when asked for."""

import pickle
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from pipeline.audio.finished import fingerprint
from pipeline.errors import InputError

if TYPE_CHECKING:
    from distributed import Client, Future

SECONDS_TO_ANSWER = 5


class Cluster(NamedTuple):
    """How to hand work over, which gives what waits for its result, and how many pieces are worked on at a time."""

    submit: Callable[..., Callable[[], Any]]
    threads: int


@contextmanager
def connect(address: str) -> Iterator[Cluster]:
    """Joins the cluster of a scheduler ("tcp://host:8786"), whose workers must have this code and these libraries.

    Raises:
        InputError: `distributed` is not installed, no scheduler answers, or it has no workers or other ones.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(
            "workers is dask, and the package distributed is missing: .venv/bin/python -m pip install distributed"
        ) from error
    try:
        _knock(address)  # a client that fails to connect lingers, and can block the process
        client = Client(address, timeout=SECONDS_TO_ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"scheduler is {address!r}, and no Dask scheduler answers there within {SECONDS_TO_ANSWER} s: start it "
            "(dask scheduler), correct its address, or set workers to a number of processes (runtime.yaml)"
        ) from error
    with client:
        _check_workers(client, address)
        yield Cluster(partial(_submit, client), sum(client.nthreads().values()))


def _knock(address: str) -> None:
    """Raises an OSError or a ValueError where nobody can answer."""
    parts = urlsplit(address)
    if parts.scheme not in ("tcp", "tls") or not parts.hostname or not parts.port:
        raise ValueError(address)
    socket.create_connection((parts.hostname, parts.port), SECONDS_TO_ANSWER).close()


class _Call:
    """A call that happens where its pickle is read: the scheduler, which reads tasks too, need not have this code."""

    def __init__(self, work: Callable[..., Any], given: tuple[Any, ...]):
        self._work, self._given = work, given

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._work, self._given


def _submit(client: "Client", work: Callable[..., Any], *given: Any) -> Callable[[], Any]:
    return partial(_result, client.submit(pickle.loads, pickle.dumps(_Call(work, given)), pure=False))


def _result(future: "Future") -> Any:
    """What the work has given; Dask's own words for a lost worker or cluster become those of a pool of processes."""
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        return future.result()
    except (KilledWorker, CommClosedError) as error:
        raise BrokenExecutor(str(error)) from error


def _check_workers(client: "Client", address: str) -> None:
    """Refuses workers that would give other results, or none."""
    start = f"start them in this folder: .venv/bin/python -m dask worker {address}"
    found = client.run(fingerprint, on_error="return")
    if not found:
        raise InputError(f"the Dask scheduler at {address} has no workers: {start}")
    for worker, theirs in found.items():
        if theirs != fingerprint():
            raise InputError(f"the Dask worker {worker} has not what is here ({fingerprint()}), but {theirs}: {start}")
