"""Stage codes: waves and bytes as sequences of categories."""

import numpy as np
import pytest
import soundfile

from pipeline.audio.files import read_audio
from pipeline.audio.quantisation import decode
from pipeline.codes import write_sequences
from pipeline.corpora.utterances import Utterance
from pipeline.errors import InputError
from pipeline.sections.codes import Codes
from pipeline.shards import open_codes

RATE = 16000
CODES = Codes(
    kind="wave",
    sample_rate=RATE,
    encoding="mulaw",
    bit_depth=8,
    trim_db=None,
    trim_margin=0.0,
    peak_level=None,
    min_length=10,
    max_length=None,
)
SPLITS = ("train", "validation", "test")


@pytest.fixture
def utterances(tmp_path):
    """Six recordings: a tone, a pause, a tone."""
    made = []
    for number in range(6):
        tone = 0.4 * np.sin(2 * np.pi * (200 + 100 * number) * np.arange(4000) / RATE)
        soundfile.write(tmp_path / f"{number}.wav", np.concatenate([tone, np.zeros(2000), tone]), RATE)
        made.append(Utterance(str(number), SPLITS[number % 3], "", "en", "", f"{number}.wav", 10000 / RATE, RATE))
    return made


@pytest.fixture
def write(tmp_path, utterances):
    """Runs the stage's work into a folder and opens the result."""

    def write(name="codes", workers=1, utterances=utterances, **changes):
        folder = tmp_path / name
        folder.mkdir()
        write_sequences(folder, tmp_path, utterances, Codes(**(CODES.model_dump() | changes)), workers)
        return open_codes(folder)

    return write


def test_a_wave_comes_back_from_its_codes_within_a_step(write, tmp_path):
    for encoding, tolerance in (("linear", 0.5 * 2 / 255 + 1e-4), ("mulaw", 0.012)):
        part = write(encoding, encoding=encoding).split("train")
        waveform = read_audio(tmp_path / "0.wav", RATE)
        waveform = waveform - waveform.mean()
        assert np.abs(decode(part[0], encoding, 8) - waveform).max() < tolerance


def test_the_peak_is_set_and_another_rate_and_depth_are_kept_to(write):
    sequences = write(sample_rate=8000, bit_depth=4, peak_level=1.0)
    codes = sequences.split("train")[0]
    assert len(codes) == pytest.approx(5000, abs=1)
    assert (codes.min(), codes.max()) == (0, 15)
    assert sequences.manifest["categories"] == 16
    assert len(sequences.manifest["levels"]) == 16


def test_a_long_wave_is_cut_in_its_pause(write):
    part = write(max_length=8000, encoding="linear").split("train")
    assert part.ids[:2] == ["0#0000", "0#0001"]
    assert 4000 <= part.lengths[0] <= 6000
    assert part.lengths[0] + part.lengths[1] == 10000


def test_the_bytes_of_any_file_are_its_codes(write, tmp_path, utterances):
    texts = [u._replace(audio=f"{u.id}.txt", sample_rate=0) for u in utterances]
    for number, utterance in enumerate(texts):
        (tmp_path / utterance.audio).write_bytes(bytes(range(256)) + b"x" * number)
    sequences = write(utterances=texts, kind="bytes", max_length=200)
    assert sequences.manifest["categories"] == 256
    first = np.concatenate([sequences.split("train")[0], sequences.split("train")[1]])
    assert first.tolist() == list(range(256))
    with pytest.raises(InputError, match=r"set codes\.kind to bytes"):
        write("wave", utterances=texts)


def test_short_sequences_are_left_out_and_listed(write, tmp_path, utterances):
    soundfile.write(tmp_path / "short.wav", 0.1 * np.ones(5), RATE)
    more = [*utterances, Utterance("short", "train", "", "en", "", "short.wav", 0.0, RATE)]
    sequences = write(utterances=more)
    assert sequences.manifest["rejected"] == {"too short": 1}
    assert (
        "short,short.wav,0,too short: 5 symbols are below codes.min_length 10"
        in (tmp_path / "codes/rejects.csv").read_text()
    )


def test_a_split_with_nothing_left_stops(write):
    with pytest.raises(InputError, match="no sequence left: train 0, validation 0, test 0; 6 left out"):
        write(min_length=20000)


def test_the_number_of_workers_changes_no_byte(write, tmp_path):
    write("one", workers=1)
    write("two", workers=2)
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two
