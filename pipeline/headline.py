"""What `make repro` says at its end: the headline figures, where the samples and the report are, how to open MLflow."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pipeline import stage


class Headline(NamedTuple):
    """A test figure that tells in a glance how good a model is.

    Attributes:
        metric: Its name in data/metrics/evaluate_<model>.json.
        label: Its name for readers.
        unit: Its unit; empty for a pure number.
        meaning: What it says, and which values are good.
        is_share: Whether it is a share, shown in percent.
    """

    metric: str
    label: str
    unit: str
    meaning: str
    is_share: bool = False


class Shown(NamedTuple):
    """A headline with its value, as readers see it."""

    label: str
    value: float
    unit: str
    meaning: str


TITLES = {"tacotron": "Text to speech", "wayback": "Sound, symbol by symbol"}
HEADLINES: Mapping[str, tuple[Headline, ...]] = {
    "tacotron": (
        Headline(
            "test_error",
            "Mel error",
            "ln",
            "How far a predicted frame is from the recording's when that one leads. 0 is perfect, 0.1 nearly 1 dB.",
        ),
        Headline(
            "test_free_diagonality",
            "Alignment",
            "of 1",
            "How straight attention walks from the first symbol to the last when nothing leads it. 0 is chance.",
        ),
        Headline(
            "test_stop_rate",
            "Stopped by itself",
            "%",
            "Test sentences that ended on their own, before the cap.",
            is_share=True,
        ),
        Headline(
            "test_free_mel_cepstral_distortion_db",
            "Cepstral distortion",
            "dB",
            "Distance between what it says alone and the recording. Less is better.",
        ),
        Headline(
            "test_free_word_error_rate",
            "Misheard words",
            "%",
            "Words that a recogniser gets wrong when the model says the test sentences alone.",
            is_share=True,
        ),
        Headline(
            "test_recording_word_error_rate",
            "Misheard in recordings",
            "%",
            "The same of the real recordings, through the same mel and Griffin-Lim: the floor.",
            is_share=True,
        ),
    ),
    "wayback": (
        Headline(
            "test_bits_per_symbol",
            "Surprise",
            "bits a symbol",
            "What each next symbol still tells the model. Knowing nothing of sound costs 8 bits.",
        ),
        Headline(
            "baseline_order1_bits_per_symbol",
            "Counting alone",
            "bits a symbol",
            "What remains for one who only knows which symbol follows which how often. Surprise must be below.",
        ),
        Headline(
            "test_error",
            "Wrong guesses",
            "%",
            "Symbols of the test split that were not the one it held for likeliest.",
            is_share=True,
        ),
    ),
}


def headlines(data: Path, model: str) -> list[Shown]:
    """The headline figures that the model's evaluation has written, in their order; none before it has run."""
    figures = read_figures(data, model)
    return [
        Shown(each.label, 100.0 * value if each.is_share else value, each.unit, each.meaning)
        for each in HEADLINES[model]
        if (value := figures.get(each.metric)) is not None
    ]


def read_figures(data: Path, model: str) -> dict[str, float]:
    """The test figures of a model by name; empty before its evaluation has run."""
    path = data / "metrics" / f"evaluate_{model}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def main(data: Path = Path("data")) -> None:
    """Says in a few lines what the pipeline made."""
    print()
    for model, title in TITLES.items():
        shown = headlines(data, model)
        figures = ", ".join(f"{each.label.lower()} {each.value:.3g} {each.unit}".rstrip() for each in shown)
        print(f"{title:<24} {figures or f'not here yet: make repro-{model}'}")
        sounds = data / f"synthesize_{model}"
        if sounds.exists():
            print(f"{'':<24} samples in {sounds}")
    page = data / "report" / "index.html"
    if page.exists():
        print(f"{'Look and listen':<24} {page}")
    print(f"{'Runs in MLflow':<24} make ui")


if __name__ == "__main__":
    stage.run(main)
