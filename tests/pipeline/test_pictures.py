"""Pictures: the same bytes for the same input, axes with units, and refusal of what cannot be drawn."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from pipeline import pictures
from pipeline.pictures import draw_alignment, draw_curves, draw_frames, draw_waveform_and_spectrogram

SAMPLE_RATE = 16000
TONE = 0.5 * np.sin(2 * np.pi * 1000 * np.arange(SAMPLE_RATE) / SAMPLE_RATE)
FRAMES = np.random.default_rng(1).normal(size=(60, 20)).astype(np.float32)
ALIGNMENT = np.eye(30, 12).astype(np.float32)
HISTORY = pd.DataFrame({"step": [1, 2, 3], "train_loss": [3.0, 2.0, 1.0], "valid_loss": [np.nan, 2.5, np.nan]})


def _frames(path: Path) -> None:
    draw_frames(path, {"Recording": FRAMES, "Model": FRAMES[:40]}, seconds_per_frame=0.016, fmin=0.0, fmax=8000.0)


def _alignment(path: Path) -> None:
    draw_alignment(path, ALIGNMENT, "Attention", list("hello $5 you"), seconds_per_step=0.032)


def _curves(path: Path) -> None:
    draw_curves(path, HISTORY, {"loss (nats)": ["train_loss", "valid_loss"]})


def _sound(path: Path) -> None:
    draw_waveform_and_spectrogram(path, TONE, SAMPLE_RATE, "A tone")


DRAWINGS = {"frames": _frames, "alignment": _alignment, "curves": _curves, "sound": _sound}


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_picture_drawn_twice_has_the_same_bytes(draw, suffix, tmp_path):
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    draw(first)
    draw(second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_a_png_names_no_date_and_no_program(draw, tmp_path):
    draw(tmp_path / "a.png")
    assert set(Image.open(tmp_path / "a.png").info) <= {"dpi", "transparency"}


@pytest.mark.parametrize(
    ("draw", "labels"),
    [
        (_frames, {"time (s)", "frequency (Hz)", "ln of mel amplitude"}),
        (_alignment, {"time (s)", "text", "attention weight"}),
        (_curves, {"training step", "loss (nats)"}),
        (_sound, {"time (s)", "frequency (kHz)", "amplitude", "level (dB)"}),
    ],
    ids=DRAWINGS,
)
def test_axes_are_named_with_their_units(draw, labels, tmp_path, monkeypatch):
    assert {label for ax in _axes_of(draw, tmp_path, monkeypatch) for label in _labels(ax)} == labels


def test_rows_of_a_short_text_are_named_by_its_symbols(tmp_path, monkeypatch):
    ax = _axes_of(_alignment, tmp_path, monkeypatch)[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "h",
        "e",
        "l",
        "l",
        "o",
        "␣",
        r"\$",
        "5",
        "␣",
        "y",
        "o",
        "u",
    ]


def test_rows_of_a_long_text_are_named_by_its_words_in_the_middle_of_each(tmp_path, monkeypatch):
    symbols = list("hello you there, my good old friends")
    ax = _axes_of(lambda path: draw_alignment(path, np.eye(40, 36), "A", symbols, 0.03), tmp_path, monkeypatch)[0]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["hello", "you", "there,", "my", "good", "old", "friends"]
    assert list(ax.get_yticks())[:2] == [2.0, 7.0]


def test_a_long_title_goes_on_in_a_second_line_and_ends_there(tmp_path, monkeypatch):
    ax = _axes_of(lambda path: draw_alignment(path, ALIGNMENT, "one two " * 40, None, 0.03), tmp_path, monkeypatch)[0]
    lines = ax.get_title(loc="left").splitlines()
    assert len(lines) == 2
    assert lines[1].endswith("…")


def test_panels_share_the_scale_of_time_and_of_colour(tmp_path, monkeypatch):
    recording, model = _axes_of(_frames, tmp_path, monkeypatch)[:2]
    assert recording.get_xlim() == model.get_xlim() == (0.0, pytest.approx(60 * 0.016))
    assert recording.images[0].get_clim() == model.images[0].get_clim() == (FRAMES.min(), FRAMES.max())


def test_a_curve_joins_the_steps_that_have_a_value(tmp_path, monkeypatch):
    train, valid = _axes_of(_curves, tmp_path, monkeypatch)[0].lines
    assert train.get_xydata().tolist() == [[1, 3.0], [2, 2.0], [3, 1.0]]
    assert valid.get_xydata().tolist() == [[2, 2.5]]


def test_a_1_khz_tone_is_loudest_at_1_khz():
    decibels, highest_khz = pictures._spectrogram(TONE, SAMPLE_RATE)
    loudest = decibels.max(axis=1).argmax() * highest_khz / (len(decibels) - 1)
    assert loudest == pytest.approx(1.0, abs=0.02)
    assert decibels.max() == 0.0
    assert decibels.min() >= -pictures.DYNAMIC_RANGE_DB


def test_the_mel_axis_is_slaneys_scale():
    assert pictures._mel(np.array([0.0, 500.0, 1000.0, 6400.0])).tolist() == pytest.approx([0.0, 7.5, 15.0, 42.0])


def test_silence_and_a_single_sample_can_be_drawn(tmp_path):
    for name, waveform in {"silence": np.zeros(4000), "sample": np.array([0.5])}.items():
        draw_waveform_and_spectrogram(tmp_path / f"{name}.png", waveform, SAMPLE_RATE, name)
        assert Image.open(tmp_path / f"{name}.png").size[0] > 0


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda path: draw_frames(path, {"Empty": FRAMES[:0]}, 0.016, 0.0, 8000.0), r"'Empty' have shape \(0, 20\)"),
        (lambda path: draw_alignment(path, ALIGNMENT[0], "A", None, 0.032), r"alignment have shape \(12,\)"),
        (lambda path: draw_waveform_and_spectrogram(path, TONE[:0], 16000, "A"), r"waveform has shape \(0,\)"),
    ],
)
def test_what_has_no_cells_is_refused_by_name(draw, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        draw(tmp_path / "a.png")


def _axes_of(draw, tmp_path, monkeypatch) -> list[Axes]:
    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, file, **_: figures.append(figure))
    draw(tmp_path / "a.svg")
    return figures[0].axes


def _labels(ax: Axes) -> set[str]:
    return {ax.get_xlabel(), ax.get_ylabel()} - {""}
