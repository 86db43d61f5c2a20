"""What was logged is on disk, whole, once, as it was."""

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.tracking import journal as journals
from pipeline.tracking.journal import Delivered, Journal, count_waiting, open_journal, put_away, read_records


def metrics(step: int, **values: float) -> dict:
    return {"kind": "metrics", "time": step + 1000, "step": step, "metrics": values}


def written(folder: Path) -> list[dict]:
    return [record for record, _ in read_records(folder)]


def test_a_record_cut_off_by_a_crash_is_dropped_and_writing_goes_on_after_the_last_whole_one(tmp_path: Path) -> None:
    first = Journal(tmp_path)
    first.append(metrics(0, loss=1.0))
    with (tmp_path / "records.jsonl").open("ab") as file:
        file.write(b'{"kind": "metrics", "step": 1, "met')

    second = Journal(tmp_path)
    second.append(metrics(1, loss=0.5))

    assert written(tmp_path) == [metrics(0, loss=1.0), metrics(1, loss=0.5)]


def test_a_reader_takes_whole_records_only_and_goes_on_from_where_it_was(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(metrics(0, loss=1.0))
    with (tmp_path / "records.jsonl").open("ab") as file:
        file.write(b'{"kind": "tags"')
        file.flush()
        ((_, offset),) = read_records(tmp_path)
        file.write(b', "tags": {}}\n')

    assert [record["kind"] for record, _ in read_records(tmp_path, offset)] == ["tags"]


def test_an_opened_journal_knows_the_figures_that_it_has(tmp_path: Path) -> None:
    Journal(tmp_path).append(metrics(3, loss=0.25))
    assert Journal(tmp_path).known == {("loss", 3): (1003, 0.25)}


def test_a_kept_file_stays_as_it_was_when_the_original_changes(tmp_path: Path) -> None:
    source = tmp_path / "events"
    source.write_text("first")
    journal = Journal(folder(tmp_path / "journal"))
    name = journal.keep(source)
    with source.open("a") as file:
        file.write(" and more")

    assert (journal.folder / name).read_text() == "first"


def test_a_checkpoint_is_kept_without_a_copy_and_outlives_its_deletion(tmp_path: Path) -> None:
    source = folder(tmp_path / "step-5")
    (source / "weights").write_bytes(bytes(10))
    journal = Journal(folder(tmp_path / "journal"))
    kept = journal.folder / journal.keep(source, link=True) / "weights"
    assert kept.stat().st_ino == (source / "weights").stat().st_ino

    (source / "weights").unlink()
    assert kept.read_bytes() == bytes(10)


def test_a_full_disk_costs_records_and_nothing_else(tmp_path: Path) -> None:
    script = """
import resource, sys
from pathlib import Path
from pipeline.tracking.journal import Journal
journal = Journal(Path(sys.argv[1]))
journal.append({"kind": "tags", "tags": {"a": "1"}})
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
for _ in range(5):
    journal.append({"kind": "tags", "tags": {"b": "x" * 40}})
print(journal.refused)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
journal.append({"kind": "tags", "tags": {"c": "3"}})
"""
    result = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)

    assert int(result.stdout) == 5
    assert [record["tags"] for record in written(tmp_path)] == [{"a": "1"}, {"c": "3"}]


def test_a_delivered_journal_goes_into_its_state_folder_and_comes_back_when_training_goes_on(tmp_path: Path) -> None:
    outbox, state = tmp_path / "outbox", folder(tmp_path / "state")
    (state / "run.json").write_text('{"run_key": "k"}')
    journal = open_journal(outbox, "k", state, "somebody")
    journal.append(metrics(0, loss=1.0))
    deliver(journal.folder)

    assert put_away(journal.folder)
    assert not journal.folder.exists()
    assert (state / "journal" / "records.jsonl").exists()

    again = open_journal(outbox, "k", state, "somebody else")
    assert again.folder == outbox / "k"
    assert ("loss", 0) in again.known
    assert not put_away(again.folder)


def test_a_delivered_journal_without_a_state_folder_is_removed(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "outbox", "k", None, "somebody")
    deliver(journal.folder)
    assert put_away(journal.folder)
    assert not journal.folder.exists()


def test_removing_the_state_folder_of_a_training_loses_nothing_that_waits(tmp_path: Path) -> None:
    state = folder(tmp_path / "state")
    (state / "run.json").write_text('{"run_key": "k"}')
    journal = open_journal(tmp_path / "outbox", "k", state, "somebody")
    journal.append(metrics(0, loss=1.0, error=2.0))
    (state / "run.json").unlink()

    assert not put_away(journal.folder)
    assert count_waiting(journal.folder).values == 2


@pytest.mark.parametrize("content", ["", "{", "[]", '{"unknown": 1}'])
def test_a_damaged_memory_of_delivery_means_from_the_beginning(tmp_path: Path, content: str) -> None:
    (tmp_path / "delivered.json").write_text(content)
    assert journals.read_delivered(tmp_path) == Delivered()


def deliver(journal: Path) -> None:
    journals.write_delivered(journal, Delivered(offset=journals.records_size(journal)))


def folder(path: Path) -> Path:
    path.mkdir()
    return path
