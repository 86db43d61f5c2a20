"""What a stage writes appears whole or not at all."""

import json

import pytest

from pipeline.outputs import new_file, new_folder, write_json


def test_a_folder_appears_whole_and_replaces_the_one_before(tmp_path):
    target = tmp_path / "data" / "mels"
    with new_folder(target) as folder:
        (folder / "old").write_text("1")
        assert not target.exists()
    with new_folder(target) as folder:
        (folder / "new").write_text("2")
    assert [path.name for path in target.iterdir()] == ["new"]
    assert [path.name for path in target.parent.iterdir()] == ["mels"]


def test_an_error_leaves_what_was_there_and_nothing_half_written(tmp_path):
    target = tmp_path / "mels"
    with new_folder(target) as folder:
        (folder / "whole").write_text("1")
    with pytest.raises(RuntimeError), new_folder(target) as folder:
        (folder / "half").write_text("2")
        raise RuntimeError
    assert [path.name for path in tmp_path.rglob("*")] == ["mels", "whole"]


def test_leftovers_of_a_killed_process_do_not_enter_the_next_output(tmp_path):
    (tmp_path / ".partial.mels").mkdir()
    (tmp_path / ".partial.mels" / "stale").write_text("1")
    with new_folder(tmp_path / "mels") as folder:
        assert list(folder.iterdir()) == []
    assert list((tmp_path / "mels").iterdir()) == []


def test_a_file_keeps_its_ending_while_it_is_written(tmp_path):
    with new_file(tmp_path / "a.wav") as path:
        assert path.suffix == ".wav"
        path.write_text("1")
    assert [path.name for path in tmp_path.iterdir()] == ["a.wav"]


def test_json_is_strict(tmp_path):
    write_json(tmp_path / "metrics.json", {"test_loss": 1.5, "text": "Füße"})
    assert json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8")) == {"test_loss": 1.5, "text": "Füße"}
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "metrics.json", {"test_loss": float("nan")})
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.json"]
