"""Each record reaches the store once, however often it is sent, and one that the store refuses costs only itself."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.tracking import journal as journals
from pipeline.tracking.journal import Delivered, Journal, open_journal

OPEN = {
    "kind": "open", "mode": "training", "run_key": "key", "run_id": None, "attempt": 1, "stage": "train_toy",
    "process": "nowhere|b|n|1|1", "params": {"units": "8"}, "digest": "d", "name": "toy", "time": 1000,
    "source_tags": {}, "machine_tags": {}, "store": "",
}  # fmt: skip


@pytest.fixture
def journal(repository: Any) -> Journal:
    made = open_journal(repository.root / ".work" / "outbox", "key", None, "nowhere|b|n|1|1")
    made.append(OPEN)
    return made


@pytest.fixture
def deliver(repository: Any, journal: Journal) -> Callable[..., list[str]]:
    """Delivers all of the journal, and gives what was said on the way."""
    from pipeline.tracking.delivery import Delivery

    def whole() -> list[str]:
        said: list[str] = []
        delivery = Delivery(journal.folder, repository.store(), said.append)
        while delivery.advance():
            pass
        return said

    return whole


def metrics(step: int, **values: float) -> dict[str, Any]:
    return {"kind": "metrics", "time": 1000 + step, "step": step, "metrics": values}


def checkpoint(journal: Journal, step: int, loss: float) -> None:
    source = journal.folder.parent / f"step-{step}"
    source.mkdir()
    (source / "weights").write_bytes(bytes(10))
    kept = journal.keep(source, link=True)
    figures = {"valid_loss": (1000 + step, loss)}
    place = f"checkpoints/step-{step:08d}"
    journal.append({"kind": "checkpoint", "source": kept, "folder": place, "step": step, "figures": figures, "time": 1})


def test_a_journal_delivered_twice_leaves_each_value_and_each_checkpoint_once(
    repository: Any, journal: Journal, deliver: Callable
) -> None:
    for step in range(5):
        journal.append(metrics(step, train_loss=1.0 / (step + 1), valid_loss=2.0))
    checkpoint(journal, 4, 2.0)
    journal.append({"kind": "close", "status": "FINISHED", "reason": "", "time": 2000})

    for _ in range(2):
        deliver()
        journals.write_delivered(journal.folder, Delivered())

    (run,) = repository.runs()
    assert run.info.status == "FINISHED"
    assert repository.curve(run) == [(step, 1.0 / (step + 1)) for step in range(5)]
    assert repository.curve(run, "valid_loss") == [(step, 2.0) for step in range(5)]
    assert len(repository.store().client.search_logged_models([run.info.experiment_id])) == 1


def test_more_values_than_a_request_takes_all_arrive(repository: Any, journal: Journal, deliver: Callable) -> None:
    journal.append(metrics(0, **{f"m{number}": 0.5 for number in range(2500)}))
    for step in range(1, 1200):
        journal.append(metrics(step, train_loss=0.5))
    deliver()
    (run,) = repository.runs()
    assert len(run.data.metrics) == 2501
    assert len(repository.curve(run)) == 1199


def test_what_the_store_refuses_and_what_cannot_be_read_cost_only_themselves(
    repository: Any, journal: Journal, deliver: Callable
) -> None:
    journal.append(metrics(0, **{"good": 1.0, "train@gru": 2.0, "also good": 3.0}))
    with (journal.folder / "records.jsonl").open("ab") as file:
        file.write(b"\xff not a record\n")
    journal.append({"kind": "tags", "tags": {"note": "after"}, "time": 1})
    said = deliver()

    (run,) = repository.runs()
    assert run.data.metrics == {"good": 1.0, "also good": 3.0}
    assert run.data.tags["note"] == "after"
    assert len(said) == 2
    assert "train@gru" in said[0]
    assert len(journals.read_delivered(journal.folder).lost) == 2


def test_a_run_that_its_user_deleted_stays_deleted_and_holds_nothing_up(
    repository: Any, journal: Journal, deliver: Callable
) -> None:
    deliver()
    (run,) = repository.runs()
    repository.store().client.delete_run(run.info.run_id)
    journal.append(metrics(0, train_loss=1.0, train_error=1.0))
    deliver()
    assert repository.runs() == []
    assert journals.count_waiting(journal.folder).values == 0


def test_another_store_gets_everything_from_the_beginning(
    repository: Any, journal: Journal, deliver: Callable, empty_database: Path
) -> None:
    journal.append(metrics(0, train_loss=1.0))
    deliver()
    other = repository.root / "other.db"
    other.write_bytes(empty_database.read_bytes())
    from pipeline.tracking.delivery import Delivery

    address = f"sqlite:///{other}"
    delivery = Delivery(journal.folder, repository.store(address), print)
    while delivery.advance():
        pass
    (run,) = repository.runs(address)
    assert repository.curve(run, address=address) == [(0, 1.0)]


def test_two_who_make_the_run_of_a_key_make_one(repository: Any) -> None:
    first, second = repository.store(), repository.store()
    ids = {store.find_or_create("k", "toy", 1000, {}).info.run_id for store in (first, second)}
    assert len(ids) == 1
