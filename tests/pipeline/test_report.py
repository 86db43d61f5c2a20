"""The report: one page that needs nothing beside itself, shows every sample, and says what is missing."""

import base64
import html.parser
import json
import re
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from pipeline import report
from pipeline.audio.files import write_wav
from pipeline.errors import InputError
from pipeline.page import Block, markdown_blocks, show_number
from pipeline.pictures import draw_waveform_and_spectrogram
from pipeline.sections.report import Report

PARAMS = Report(title="A title", max_samples=3, mlflow_address="http://127.0.0.1:5000/")
RUN_ID = "0123456789abcdef0123456789abcdef"
TONE = 0.3 * np.sin(np.arange(1600) / 5.0)
SENTENCES = ("Hello & <welcome>.", "Goodbye.", "One more.")
HISTORY = "step,train_loss,valid_loss,gradient_norm\n1,4.0,,1.5\n2,3.0,3.5,1.25\n3,2.0,2.75,1.0\n"
LOCK = """
stages:
  train_tacotron:
    params:
      params.yaml:
        train_tacotron: {clip_norm: 1.25, layers: [256, 128]}
        seed: 7
"""


class Page(html.parser.HTMLParser):
    """The elements of a page, with their attributes, and its text."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    """A folder with a corpus, what the stages leave, and DVC's note of their parameters."""
    root = tmp_path_factory.mktemp("a b")
    (root / "dvc.lock").write_text(LOCK)
    corpus = root / "data/corpora/allison"
    corpus.mkdir(parents=True)
    (corpus / "ATTRIBUTION.md").write_text(
        "# A corpus\n\nSpoken by A. Speaker.\n\n- Licence: CC BY-SA 3.0\n  (see `LICENCE`)\n"
    )
    _write_prepared(root / "data/prepare")
    _write_half(root / "data", "tacotron", {"test_error": 0.5, "test_stop_rate": 0.25})
    _write_half(root / "data", "wayback", {"test_bits_per_symbol": 3.25})
    return root


@pytest.fixture(scope="module")
def html(repository) -> str:
    with pytest.MonkeyPatch.context() as monkeypatch:
        return _make(repository, monkeypatch)


@pytest.fixture(scope="module")
def page(html) -> Page:
    return Page(html)


@pytest.fixture
def copy(repository, tmp_path) -> Path:
    """A copy to change, without histories, whose curves take time."""
    return shutil.copytree(repository, tmp_path / "copy", ignore=shutil.ignore_patterns("history.csv"))


def test_the_page_reaches_for_nothing_but_the_runs(page):
    sources = [
        value for _, attributes in page.elements for name, value in attributes.items() if name in ("src", "srcset")
    ]
    assert sources
    assert all(source.startswith("data:") for source in sources)
    links = {attributes["href"] for attributes in page.all("a") if not attributes["href"].startswith("#")}
    assert links == {f"http://127.0.0.1:5000/#/runs/{RUN_ID}"}
    assert page.all("script") == []


def test_no_address_stands_in_the_styles(html):
    styles = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    assert len(styles) == 1
    assert not re.search(r"url\(|@import|://", styles[0])
    assert "&gt;" not in styles[0]


def test_every_sample_has_a_player_with_its_sound_and_its_picture(page, repository):
    sounds = {attributes["src"] for attributes in page.all("audio")}
    pictures = {attributes["src"] for attributes in page.all("img")}
    for half in ("tacotron", "wayback"):
        folder = repository / f"data/synthesize_{half}"
        for entry in json.loads((folder / "samples.json").read_text()):
            assert _data_address(folder / entry["sound"], "audio/wav") in sounds
            assert _data_address(folder / entry["picture"], "image/png") in pictures


def test_sentences_are_shown_as_they_are_with_how_they_ended(page):
    for sentence in SENTENCES:
        assert sentence in page.text
    assert page.text.count("stopped by itself") == page.text.count("ran to the cap") * 2 == 4


def test_every_picture_and_player_says_what_it_is(page):
    assert all(attributes["alt"].strip() for attributes in page.all("img"))
    assert all(attributes["aria-label"].strip() for attributes in page.all("audio"))


def test_curves_are_told_in_words_too(page):
    told = [attributes["alt"] for attributes in page.all("img") if attributes["src"].startswith("data:image/svg")]
    assert any("The validation loss goes from 3.5 to 2.75; its least is 2.75." in words for words in told)


def test_headings_go_down_one_level_at_a_time(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(lower - upper <= 1 for upper, lower in pairwise(levels))


def test_headline_figures_stand_with_unit_and_meaning(page):
    assert "Mel error 0.5 ln How far a predicted frame is" in page.text
    assert "Stopped by itself 25 % Test sentences that ended" in page.text
    assert "3.25 bits a symbol" in page.text


def test_parameters_are_those_that_dvc_noted_for_the_stages(page):
    assert "train_tacotron.clip_norm 1.25" in page.text
    assert "train_tacotron.layers [256, 128]" in page.text


def test_counts_rejects_and_the_licence_of_the_corpus_are_shown(page):
    assert "3 utterances were kept and 1 left out" in page.text
    assert "silent: its peak is -80 dB" in page.text
    assert "Spoken by A. Speaker." in page.text
    assert "Licence: CC BY-SA 3.0 (see LICENCE )" in page.text


def test_a_missing_half_is_said_with_the_command_that_makes_it(copy, monkeypatch):
    for path in copy.rglob("*_wayback*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    page = Page(_make(copy, monkeypatch))
    assert page.text.count("This half is not here yet.") == 1
    assert "It lacks the training, the evaluation, the samples." in page.text
    assert "make repro-wayback" in page.text
    assert len(page.all("audio")) == len(SENTENCES)


def test_nothing_at_all_still_gives_a_page(monkeypatch, tmp_path):
    page = Page(_make(tmp_path, monkeypatch))
    assert page.text.count("This half is not here yet.") == 2
    assert "There is no ATTRIBUTION.md" in page.text


def test_a_run_that_mlflow_has_not_got_is_named_by_its_key(copy, monkeypatch):
    (copy / "data/runs/train_wayback.json").write_text(json.dumps({"run_id": None, "run_key": "abcd"}))
    page = Page(_make(copy, monkeypatch))
    assert "make sync delivers it. Its key is abcd" in page.text


def test_the_same_folders_give_the_same_page(html, repository, monkeypatch):
    assert _make(repository, monkeypatch) == html


def test_samples_beyond_the_limit_are_counted(copy, monkeypatch):
    page = Page(_make(copy, monkeypatch, PARAMS.model_copy(update={"max_samples": 1})))
    assert len(page.all("audio")) == 2
    assert page.text.count("2 more in data/synthesize_") == 2


def test_a_sample_whose_file_is_gone_is_refused_by_name(copy, monkeypatch):
    (copy / "data/synthesize_wayback/1.wav").unlink()
    with pytest.raises(InputError, match=r"data/synthesize_wayback/1.wav is missing"):
        _make(copy, monkeypatch)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.123456, "0.123"), (-2.5, "−2.5"), (12, "12"), (True, "yes"), (None, "–"), (float("nan"), "–"), (0, "0")],
)
def test_numbers_are_shown_with_three_digits(value, shown):
    assert show_number(value) == shown


def test_large_numbers_are_whole_and_grouped():
    assert show_number(1234567).split("\N{NARROW NO-BREAK SPACE}") == show_number(1234567.4).split(
        "\N{NARROW NO-BREAK SPACE}"
    )
    assert show_number(1234567).split("\N{NARROW NO-BREAK SPACE}") == ["1", "234", "567"]


def test_markdown_becomes_headings_paragraphs_and_lists():
    text = "# A\nOne\ntwo.\n\n- x\n  y\n- z\n\nThree."
    expected = [
        Block("heading", "A"),
        Block("paragraph", "One two."),
        Block("list", entries=("x y", "z")),
        Block("paragraph", "Three."),
    ]
    assert markdown_blocks(text) == expected


def _make(repository: Path, monkeypatch, params: Report = PARAMS) -> str:
    monkeypatch.chdir(repository)
    return report.make_page(Path("data"), Path("data/corpora/allison"), params)


def _data_address(path: Path, media_type: str) -> str:
    return f"data:{media_type};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _write_prepared(folder: Path) -> None:
    folder.mkdir(parents=True)
    header = "id,split,speaker,language,text,audio,seconds,sample_rate\n"
    rows = [f"u{k},{split},,en,NA,u{k}.flac,1.5,16000\n" for k, split in enumerate(("train", "validation", "test"))]
    (folder / "utterances.csv").write_text(header + "".join(rows))
    (folder / "rejects.csv").write_text("id,file,line,reason\nu9,metadata.csv,4,silent: its peak is -80 dB\n")


def _write_half(data: Path, name: str, figures: dict[str, float]) -> None:
    for step in ("train", "evaluate", "synthesize"):
        (data / f"{step}_{name}").mkdir(parents=True)
    (data / f"train_{name}" / "history.csv").write_text(HISTORY)
    for folder in ("runs", "metrics"):
        (data / folder).mkdir(exist_ok=True)
    (data / "runs" / f"train_{name}.json").write_text(json.dumps({"run_id": RUN_ID, "run_key": "k"}))
    (data / "metrics" / f"evaluate_{name}.json").write_text(json.dumps(figures))
    samples = data / f"synthesize_{name}"
    entries = []
    for number, text in enumerate(SENTENCES):
        write_wav(samples / f"{number}.wav", TONE * (number + 1) / 4, 16000)
        draw_waveform_and_spectrogram(samples / f"{number}.png", TONE, 16000, f"{name} {number}")
        stopped = {"stopped": number != 1}
        entries.append({"text": text, "sound": f"{number}.wav", "picture": f"{number}.png", "seconds": 0.1, **stopped})
    (samples / "samples.json").write_text(json.dumps(entries))
