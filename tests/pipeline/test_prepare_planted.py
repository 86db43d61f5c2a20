"""The bundled corpus with thirty planted faults: all are found, none is invented."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.check import main as check
from pipeline.corpora import read_corpus
from pipeline.params import check_params
from pipeline.prepare import judge
from pipeline.sections.corpus import Corpus
from pipeline.sections.prepare import Prepare

ROOT = Path(__file__).parents[2]
BUNDLED = ROOT / "data/corpora/allison"
RATE = 16000
CORPUS = Corpus(
    path="data/corpora/x",
    format="ljspeech",
    metadata="metadata.csv",
    audio_folder="wavs",
    column_id=None,
    column_text="text",
    column_audio="audio_path",
    column_speaker=None,
    column_separator=",",
    speakers=[],
    on_reject="skip",
)
LIMITS = Prepare(
    min_seconds=0.1,
    max_seconds=60.0,
    min_sample_rate=8000,
    min_peak_db=-60.0,
    max_clipped_fraction=0.01,
    max_cancellation_db=20.0,
    validation_fraction=0.05,
    test_fraction=0.05,
    min_per_split=1,
)


def voice(seconds: float = 1.0) -> np.ndarray:
    samples, _ = soundfile.read(BUNDLED / "wavs/activated.flac")
    return np.tile(samples, int(seconds) + 1)[: round(seconds * RATE)]


def sound(samples: Callable[[], np.ndarray], rate: int = RATE, subtype: str = "FLOAT") -> Callable[[Path], None]:
    return lambda path: soundfile.write(path, samples(), rate, subtype=subtype, format="WAV")


def with_value(value: float) -> Callable[[], np.ndarray]:
    def make() -> np.ndarray:
        samples = voice()
        samples[100] = value
        return samples

    return make


def cut(kind: str, share: float) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        soundfile.write(path, voice(3.0), RATE, format=kind)
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])

    return write


RECORDINGS: dict[str, tuple[Callable[[Path], None], str]] = {
    "zero-bytes": (lambda path: path.write_bytes(b""), "empty"),
    "header-only": (sound(lambda: np.zeros(0)), "empty"),
    "text": (lambda path: path.write_text("RIFF of another kind"), "unreadable"),
    "html": (lambda path: path.write_text("<html>404</html>"), "unreadable"),
    "folder": (lambda path: path.mkdir(), "missing"),
    "cut-wav": (cut("WAV", 0.5), "truncated"),
    "cut-by-two-bytes": (cut("WAV", 0.9999), "truncated"),
    "nan": (sound(with_value(np.nan)), "not finite"),
    "infinite": (sound(with_value(np.inf)), "not finite"),
    "all-nan": (sound(lambda: voice() * np.nan), "not finite"),
    "silent": (sound(lambda: 0 * voice()), "silent"),
    "constant": (sound(lambda: 0 * voice() + 0.5), "silent"),
    "nearly-silent": (sound(lambda: voice() * 1e-4), "silent"),
    "short": (sound(lambda: voice(0.05)), "too short"),
    "one-sample": (sound(lambda: np.array([0.5])), "too short"),
    "long": (sound(lambda: voice(61.0)), "too long"),
    "clipped": (sound(lambda: np.clip(20 * voice(), -1, 1)), "clipped"),
    "clipped-16-bit": (sound(lambda: np.clip(20 * voice(), -1, 1), subtype="PCM_16"), "clipped"),
    "integers-as-floats": (sound(lambda: voice() * 32768), "level"),
    "opposite": (sound(lambda: np.stack([voice(), -voice()], 1)), "cancelling"),
    "low-rate": (sound(lambda: voice()[::4], rate=4000), "sample rate"),
}
LINES = {
    "no-such-recording|gone": "missing",
    "../outside|leads out": "id",
    "/etc/passwd|leads out": "id",
    "only-one-column": "row",
    "four|co|lu|mns": "row",
    "|no id": "id",
    "zero-text|": "no text",
    "activated|a second time": "duplicate",
    "added.flac|another name for one file": "duplicate",
}


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """The first 60 prompts, and below them the faults."""
    folder = tmp_path_factory.mktemp("planted")
    (folder / "wavs").mkdir()
    lines = (BUNDLED / "metadata.csv").read_text("utf-8").splitlines()[:60]
    for line in lines:
        name = f"wavs/{line.split('|')[0]}.flac"
        shutil.copyfile(BUNDLED / name, folder / name)
    for name, (write, _) in RECORDINGS.items():
        write(folder / f"wavs/{name}.wav")
    sound(voice)(folder / "wavs/zero-text.wav")
    lines += [*(f"{name}|A fault." for name in RECORDINGS), *LINES]
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def test_all_planted_faults_are_found_with_their_kind_and_place_and_none_is_invented(planted):
    assert len(RECORDINGS) + len(LINES) == 30
    verdicts = judge(planted, read_corpus(planted, CORPUS), CORPUS, LIMITS, workers=2)
    found = {verdict.row.line: verdict.reason.split(":")[0] for verdict in verdicts if verdict.reason}
    expected = [*(kind for _, kind in RECORDINGS.values()), *LINES.values()]
    assert found == dict(enumerate(expected, start=61))


def test_the_whole_bundled_corpus_is_kept():
    section = CORPUS.model_copy(update={"path": str(BUNDLED)})
    limits = LIMITS.model_copy(update={"max_seconds": None})
    verdicts = judge(BUNDLED, read_corpus(BUNDLED, section), section, limits, workers=2)
    assert [verdict.reason for verdict in verdicts] == [""] * 504


def test_the_check_prints_every_fault_and_writes_the_same_as_a_page(planted, monkeypatch, tmp_path, capsys):
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    check_params(tmp_path)
    monkeypatch.chdir(tmp_path)
    check(planted)
    printed = capsys.readouterr().out
    assert "layout ljspeech: 90 rows" in printed
    page = (tmp_path / f".work/check/{planted.name}.html").read_text("utf-8")
    for name in RECORDINGS:
        if name != "long":
            assert f" {name}: " in printed
            assert f" {name}: " in page
    assert "src=" not in page
    assert "http" not in page


def test_the_check_of_the_bundled_corpus_finds_a_pair_whose_text_belongs_to_another(
    planted, monkeypatch, tmp_path, capsys
):
    folder = tmp_path / "swapped"
    shutil.copytree(planted, folder, ignore=shutil.ignore_patterns("long.wav"))
    lines = (BUNDLED / "metadata.csv").read_text("utf-8").splitlines()[:60]
    lines[0] = f"activated|{lines[12].split('|')[1]}"
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n", "utf-8")
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    check(folder)
    printed = capsys.readouterr().out.split("Suspicious pairs")[1].split("Repeated")[0]
    assert "1 pairs are far from it" in printed
    assert "activated (metadata.csv:1): 1.06 s" in printed
