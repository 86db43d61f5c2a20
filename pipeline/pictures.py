"""Pictures of sound, attention and training: PNG, or SVG for a path that ends so; the same input gives the same bytes.

Backgrounds are transparent, the ink is a grey that reads on white and on black, colour maps are perceptually uniform.
"""

import textwrap
from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import groupby
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib import mlab
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from PIL import Image

SOUND_MAP = "magma"
ATTENTION_MAP = "viridis"
INK = "#73777e"
# Okabe and Ito 2008, "Color universal design": told apart by colour-blind eyes, and mid-toned, for both backgrounds.
LINE_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
LINE_DASHES = ("solid", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))

WIDTH_INCHES = 5.2
DYNAMIC_RANGE_DB = 70.0
ENVELOPE_COLUMNS = 1000
MOST_ROWS_NAMED = 26
LONGEST_ROW_NAME = 14
LONGEST_TITLE_LINE = 52
FREQUENCY_TICKS_HZ = (500, 1000, 2000, 4000, 8000, 16000)

STYLE = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "grid.color": INK,
    "grid.alpha": 0.22,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "svg.hashsalt": "reprise",
    "svg.fonttype": "path",
}


@matplotlib.rc_context(STYLE)
def draw_frames(
    path: Path, panels: Mapping[str, np.ndarray], seconds_per_frame: float, fmin: float, fmax: float
) -> None:
    """Draws log-mel frames, one panel under the other, on one scale of time and one of colour.

    Args:
        path: Where the picture goes.
        panels: Natural-log mel frames [frames, n_mels] by the panel's title.
        seconds_per_frame: Time from one frame to the next.
        fmin: Lower edge of the lowest band (Hz).
        fmax: Upper edge of the highest band (Hz).
    """
    for title, frames in panels.items():
        _require_cells(frames, f"the frames of '{title}'", "[frames, n_mels]")
    lowest = min(float(np.nanmin(frames)) for frames in panels.values())
    highest = max(float(np.nanmax(frames)) for frames in panels.values())
    seconds = max(len(frames) for frames in panels.values()) * seconds_per_frame

    figure = Figure(figsize=(WIDTH_INCHES, 0.5 + 1.4 * len(panels)), layout="constrained")
    axes = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    for ax, (title, frames) in zip(axes, panels.items(), strict=True):
        image = ax.imshow(
            np.asarray(frames).T,
            origin="lower",
            aspect="auto",
            interpolation="nearest",
            cmap=SOUND_MAP,
            vmin=lowest,
            vmax=highest,
            extent=(0.0, len(frames) * seconds_per_frame, 0.0, 1.0),
        )
        ax.set(title=_title(title), ylabel="frequency (Hz)", xlim=(0.0, seconds))
        _mel_ticks(ax, fmin, fmax)
    axes[-1].set_xlabel("time (s)")
    _colour_bar(figure, image, list(axes), "ln of mel amplitude")
    _save(figure, path)


@matplotlib.rc_context(STYLE)
def draw_alignment(
    path: Path, alignment: np.ndarray, title: str, symbols: Sequence[str] | None, seconds_per_step: float
) -> None:
    """Draws what each decoder step attended to: time from left to right, the text from bottom to top.

    Args:
        path: Where the picture goes.
        alignment: Attention weights [steps, symbols], each row a distribution.
        title: Title of the picture.
        symbols: What stands at each position of the text, to name its words; None numbers the positions.
        seconds_per_step: Duration of the frames that one decoder step makes.
    """
    _require_cells(alignment, "the alignment", "[steps, symbols]")
    step_count, symbol_count = alignment.shape

    figure = Figure(figsize=(WIDTH_INCHES, 3.1), layout="constrained")
    ax = figure.subplots()
    image = ax.imshow(
        np.asarray(alignment).T,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        cmap=ATTENTION_MAP,
        vmin=0.0,
        extent=(0.0, step_count * seconds_per_step, -0.5, symbol_count - 0.5),
    )
    ax.set(title=_title(title), xlabel="time (s)", ylabel="position in the text (symbols)")
    names = _row_names(symbols or [])
    if 0 < len(names) <= MOST_ROWS_NAMED:
        ax.set_yticks([place for place, _ in names], [name for _, name in names])
        ax.tick_params(axis="y", labelsize=7.5)
        ax.set_ylabel("text")
    _colour_bar(figure, image, [ax], "attention weight")
    _save(figure, path)


@matplotlib.rc_context(STYLE)
def draw_curves(path: Path, history: pd.DataFrame, panels: Mapping[str, Sequence[str]]) -> None:
    """Draws columns of a training's history against its steps, one panel under the other.

    A missing value leaves no gap: the line joins the steps that have one. Spikes above six times the 95th percentile
    are cut off and the panel says so.

    Args:
        path: Where the picture goes.
        history: One row a logged step, with the column `step`.
        panels: Columns to draw together, by the label of their axis, with its unit: {"loss (nats)": ["train_loss"]}.
    """
    figure = Figure(figsize=(WIDTH_INCHES, 0.4 + 1.5 * len(panels)), layout="constrained")
    axes = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    for ax, (label, columns) in zip(axes, panels.items(), strict=True):
        for column, colour, dashes in zip(columns, LINE_COLOURS, LINE_DASHES, strict=False):
            points = history[["step", column]].dropna()
            marker = "o" if len(points) < 30 else None
            ax.plot(
                points["step"],
                points[column],
                color=colour,
                linestyle=dashes,
                marker=marker,
                markersize=2.6,
                label=column.replace("train_", "training ").replace("valid_", "validation ").replace("_", " "),
            )
        _limit_spikes(ax, history[list(columns)].to_numpy(dtype=float))
        ax.set_ylabel(label)
        ax.grid(True)
        ax.margins(x=0.01)
        if len(columns) > 1:
            ax.legend(loc="upper right", handlelength=2.6)
    axes[-1].set_xlabel("training step")
    figure.align_ylabels(axes)
    _save(figure, path)


@matplotlib.rc_context(STYLE)
def draw_waveform_and_spectrogram(path: Path, waveform: np.ndarray, sample_rate: int, title: str) -> None:
    """Draws a waveform [samples] in [-1, 1] above its spectrogram in decibels below the loudest cell."""
    waveform = np.asarray(waveform, dtype=np.float64)
    if waveform.ndim != 1 or waveform.size == 0:
        raise ValueError(f"the waveform has shape {waveform.shape}; a picture needs at least one sample, [samples]")
    seconds = waveform.size / sample_rate

    figure = Figure(figsize=(WIDTH_INCHES, 3.1), layout="constrained")
    wave, spectrum = figure.subplots(2, sharex=True, height_ratios=(1, 1.9))
    times, low, high = _envelope(waveform, sample_rate)
    wave.fill_between(times, low, high, color=LINE_COLOURS[0], linewidth=0.4)
    peak = max(float(np.abs(waveform).max()), 1e-3)
    wave.set(title=_title(title), ylabel="amplitude", ylim=(-1.05 * peak, 1.05 * peak), xlim=(0.0, seconds))

    decibels, highest_khz = _spectrogram(waveform, sample_rate)
    image = spectrum.imshow(
        decibels,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        cmap=SOUND_MAP,
        vmin=-DYNAMIC_RANGE_DB,
        vmax=0.0,
        extent=(0.0, seconds, 0.0, highest_khz),
    )
    spectrum.set(xlabel="time (s)", ylabel="frequency (kHz)")
    _colour_bar(figure, image, [wave, spectrum], "level (dB)")
    figure.align_ylabels([wave, spectrum])
    _save(figure, path)


def _require_cells(values: np.ndarray, name: str, axes: str) -> None:
    if values.ndim != 2 or values.size == 0:
        raise ValueError(f"{name} have shape {values.shape}; a picture needs at least one cell, {axes}")


def _mel_ticks(ax: Axes, fmin: float, fmax: float) -> None:
    low, high = _mel(np.array([fmin, fmax]))
    ticks = [tick for tick in FREQUENCY_TICKS_HZ if fmin <= tick <= fmax]
    ax.set_yticks((_mel(np.array(ticks)) - low) / (high - low), [str(tick) for tick in ticks])


def _mel(hertz: np.ndarray) -> np.ndarray:
    """Slaney's mel scale (Auditory Toolbox): linear up to 1 kHz, logarithmic above."""
    hertz = np.asarray(hertz, dtype=np.float64)
    above = 15.0 + 27.0 * np.log(np.maximum(hertz, 1000.0) / 1000.0) / np.log(6.4)
    return np.where(hertz < 1000.0, 3.0 * hertz / 200.0, above)


def _row_names(symbols: Sequence[str]) -> list[tuple[float, str]]:
    """Places and names of the rows: each symbol of a short text, else the middle of each word between spaces."""
    if len(symbols) <= MOST_ROWS_NAMED:
        return [(place, _literal("\N{OPEN BOX}" if symbol == " " else symbol)) for place, symbol in enumerate(symbols)]
    words = []
    for is_word, run in groupby(enumerate(symbols), key=lambda item: item[1] != " "):
        places, letters = zip(*run, strict=True)
        if is_word:
            joint = "\N{THIN SPACE}" if max(map(len, letters)) > 1 else ""
            words.append(((places[0] + places[-1]) / 2.0, _literal(_shortened(joint.join(letters), LONGEST_ROW_NAME))))
    return words


def _title(text: str) -> str:
    """The text on two lines at most."""
    return _literal("\n".join(textwrap.wrap(text, LONGEST_TITLE_LINE, max_lines=2, placeholder=" …")))


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _literal(text: str) -> str:
    """The text as Matplotlib shows it as it is: a dollar sign begins no formula."""
    return text.replace("$", r"\$")


def _envelope(waveform: np.ndarray, sample_rate: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (s), minima and maxima of at most ENVELOPE_COLUMNS equal pieces of the waveform."""
    starts = np.unique(np.linspace(0, waveform.size, ENVELOPE_COLUMNS, endpoint=False).astype(int))
    return starts / sample_rate, np.minimum.reduceat(waveform, starts), np.maximum.reduceat(waveform, starts)


def _spectrogram(waveform: np.ndarray, sample_rate: int) -> tuple[np.ndarray, float]:
    """Levels [bins, frames] in dB below the loudest cell, of 32 ms at every 8 ms, and the highest frequency (kHz)."""
    window = 2 * (int(0.032 * sample_rate) // 2)
    power, _, _ = mlab.specgram(
        np.pad(waveform, window // 2), NFFT=window, Fs=sample_rate, noverlap=window - window // 4, mode="psd"
    )
    loudest = max(float(power.max()), 1e-20)
    return 10.0 * np.log10(np.maximum(power / loudest, 10.0 ** (-DYNAMIC_RANGE_DB / 10.0))), sample_rate / 2000.0


def _limit_spikes(ax: Axes, values: np.ndarray) -> None:
    """Keeps a few spikes from flattening the rest: an early gradient norm can be hundreds of times the usual."""
    values = values[np.isfinite(values)]
    if values.size < 20:
        return
    limit = 6.0 * float(np.percentile(values, 95))
    if 0.0 < limit < values.max():
        ax.set_ylim(top=limit)
        note = f"spikes up to {values.max():.3g} are cut off"
        ax.text(0.5, 0.97, note, transform=ax.transAxes, ha="center", va="top", size=8)


def _colour_bar(figure: Figure, image: AxesImage, axes: list[Axes], label: str) -> None:
    bar = figure.colorbar(image, ax=axes, label=label, pad=0.015, fraction=0.035, aspect=28)
    bar.outline.set_visible(False)


def _save(figure: Figure, path: Path) -> None:
    """Writes the picture without a date or a program's version; a PNG with a palette, which is four times smaller."""
    if path.suffix == ".svg":
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        return
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=180)
    Image.open(drawn).quantize(256, method=Image.Quantize.FASTOCTREE).save(path, format="png", optimize=True)
