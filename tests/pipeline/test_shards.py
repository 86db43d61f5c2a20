"""Arrays of many utterances in few files."""

import json

import numpy as np
import pytest

from pipeline.errors import InputError
from pipeline.shards import FORMAT, MANIFEST, open_codes, open_mels, write_codes, write_mels


@pytest.fixture
def utterances():
    rng = np.random.default_rng(0)
    return [
        (
            f"u{n}",
            ("train", "test", "validation")[n % 3],
            rng.normal(size=(n + 1, 4)).astype(np.float32),
            np.arange(n % 5 + 1),
        )
        for n in range(40)
    ]


def written(folder, utterances, shard_bytes):
    with write_mels(folder, 4, shard_bytes) as writer:
        for identity, split, frames, symbols in utterances:
            arrays = {"frames": frames, "symbols": symbols.astype(np.int32)}
            writer.add(identity, split, arrays, (f'text, "{identity}"\u2028NA',))
    (folder / MANIFEST).write_text(json.dumps({"content": "mels", "format": FORMAT}))
    return open_mels(folder)


@pytest.mark.parametrize("shard_bytes", [1, 500, 2**30])
def test_every_utterance_comes_back_in_order_whatever_the_size_of_shards(tmp_path, utterances, shard_bytes):
    mels = written(tmp_path, utterances, shard_bytes)
    for split in ("train", "validation", "test"):
        expected = [utterance for utterance in utterances if utterance[1] == split]
        part = mels.split(split)
        assert part.ids == [utterance[0] for utterance in expected]
        assert part.frame_counts.tolist() == [len(utterance[2]) for utterance in expected]
        assert part.symbol_counts.tolist() == [len(utterance[3]) for utterance in expected]
        for found, (identity, _, frames, symbols) in zip(part, expected, strict=True):
            assert found.id == identity
            assert found.text == f'text, "{identity}"\u2028NA'
            np.testing.assert_array_equal(found.frames, frames)
            np.testing.assert_array_equal(found.symbol_ids, symbols)
            assert (found.frames.dtype, found.symbol_ids.dtype) == (np.float32, np.int32)


def test_there_are_as_many_files_as_shards_need_not_as_utterances(tmp_path, utterances):
    written(tmp_path, utterances, 2**30)
    assert len(list(tmp_path.iterdir())) == 3 * 2 + 2


def test_frames_are_mapped_not_read_and_cannot_be_changed(tmp_path, utterances):
    frames = written(tmp_path, utterances, 2**30).split("train")[3].frames
    assert isinstance(frames.base, np.memmap) or isinstance(frames, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        frames[0, 0] = 1.0


def test_the_same_utterances_make_the_same_bytes(tmp_path, utterances):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        written(tmp_path / name, utterances, 500)
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two


def test_codes_come_back(tmp_path):
    sequences = [np.arange(n, dtype=np.uint8) for n in (3, 1, 5)]
    with write_codes(tmp_path) as writer:
        for number, codes in enumerate(sequences):
            writer.add(str(number), "train", {"codes": codes})
    (tmp_path / MANIFEST).write_text(json.dumps({"content": "codes", "format": FORMAT, "kind": "wave"}))
    part = open_codes(tmp_path).split("train")
    assert part.lengths.tolist() == [3, 1, 5]
    assert [codes.tolist() for codes in part] == [codes.tolist() for codes in sequences]
    assert len(open_codes(tmp_path).split("test")) == 0


def test_missing_or_other_features_are_refused_with_the_command_that_makes_them(tmp_path, utterances):
    with pytest.raises(InputError, match="dvc repro mels"):
        open_mels(tmp_path)
    written(tmp_path, utterances, 500)
    with pytest.raises(InputError, match="mels of format 1, not codes of format 1"):
        open_codes(tmp_path)


def test_rows_of_another_shape_or_type_are_refused(tmp_path):
    with write_codes(tmp_path) as writer, pytest.raises(ValueError, match="rows are"):
        writer.add("x", "train", {"codes": np.zeros(3)})
