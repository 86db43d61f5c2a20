"""Results come in order, whoever works; what an interrupted process had finished is not made again, unless it would differ."""

from functools import partial

import pytest

from pipeline.audio import parallel
from pipeline.audio.finished import Finished
from pipeline.audio.parallel import map_in_order

COUNT = 40


@pytest.fixture
def paths(tmp_path):
    """Files of some bytes each."""
    made = [tmp_path / f"{number}.bin" for number in range(COUNT)]
    for number, path in enumerate(made):
        path.write_bytes(bytes([number]) * 10)
    return made


def count_bytes(path, log):
    with log.open("a") as file:
        file.write(f"{path.stem}\n")
    return path.name, len(path.read_bytes())


@pytest.fixture
def run(tmp_path, paths):
    """Maps over the files and gives the results, and the numbers of the files that were worked on."""

    def run(settings="a", workers=1, taken=COUNT):
        log = tmp_path / "log"
        log.write_text("")
        finished = Finished(tmp_path / "finished", settings)
        made = map_in_order(partial(count_bytes, log=log), paths, workers, "bytes", "files", finished)
        results = [next(made) for _ in range(taken)] if taken < COUNT else list(made)
        return results, sorted(int(line) for line in log.read_text().split())

    return run


@pytest.mark.parametrize("workers", [1, 2])
def test_every_result_comes_once_and_in_order(run, workers):
    results, worked_on = run(workers=workers)
    assert results == [(f"{number}.bin", 10) for number in range(COUNT)]
    assert worked_on == list(range(COUNT))


def test_what_was_finished_is_taken_up_and_only_the_rest_is_worked_on(run):
    run(taken=20)
    results, worked_on = run()
    assert results == [(f"{number}.bin", 10) for number in range(COUNT)]
    assert worked_on == list(range(32, COUNT))


def test_a_changed_recording_costs_its_neighbours_in_its_part_and_no_others(run, paths):
    run()
    paths[20].write_bytes(b"longer than before")
    results, worked_on = run()
    assert results[20] == ("20.bin", 18)
    assert worked_on == list(range(16, 32))


def test_a_recording_that_appears_is_worked_on(run, paths):
    paths[3].unlink()
    with pytest.raises(FileNotFoundError):
        run()
    paths[3].write_bytes(b"x")
    assert run()[0][3] == ("3.bin", 1)


def test_other_settings_start_afresh(run):
    run()
    assert run(settings="b")[1] == list(range(COUNT))


def test_other_code_or_libraries_start_afresh(run, monkeypatch):
    run()
    monkeypatch.setattr("pipeline.audio.finished.fingerprint", lambda: "other code")
    assert run()[1] == list(range(COUNT))


@pytest.mark.parametrize("damage", [lambda content: content[:-3], lambda content: bytes(len(content)), lambda _: b""])
def test_a_damaged_file_is_made_again(run, tmp_path, damage):
    run()
    for path in (tmp_path / "finished").iterdir():
        path.write_bytes(damage(path.read_bytes()))
    assert run()[1] == list(range(COUNT))


def test_parts_hold_neither_too_many_recordings_nor_too_many_bytes(paths, monkeypatch):
    monkeypatch.setattr(parallel, "LARGEST_PART_BYTES", 45)
    paths[7].write_bytes(bytes(100))
    sizes = [[path.stat().st_size for path in part] for part in parallel._parts(paths)]
    assert sizes[:3] == [[10] * 4, [10] * 3, [100]]
    assert all(sum(part) <= 45 for part in sizes if part != [100])
    assert sum(map(len, sizes)) == COUNT
