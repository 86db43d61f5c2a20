"""Stage report: both models' figures, curves, pictures and sounds -> one page to look at and listen to."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pipeline import stage
from pipeline.cards import Card, Media, make_card, read_entries
from pipeline.headline import TITLES, Shown, headlines, read_figures
from pipeline.outputs import new_folder
from pipeline.page import TEMPLATES, Block, embed, markdown_blocks, render
from pipeline.params import load_params, read_yaml
from pipeline.pictures import draw_curves
from pipeline.sections.report import Report

ABOUT = {
    "tacotron": "Tacotron 2 reads a sentence and draws the spectrum of its sound, frame by frame; Griffin-Lim makes "
    "that audible. Nothing but the text leads it here: it decides where to look, and when to stop.",
    "wayback": "A stack of recurrent layers, each slower than the one below, hears a beginning and goes on from it, "
    "one symbol at a time. It knows no text: what it says is what the recordings' sound has taught it.",
}
SAMPLES_TITLE = {"tacotron": "Sentences it was given", "wayback": "How it goes on"}
CURVES = {
    "tacotron": {"loss": ("train_loss", "valid_loss"), "error (ln)": ("train_error", "valid_error")},
    "wayback": {
        "loss (nats)": ("train_loss", "valid_loss"),
        "error (share)": ("train_error", "valid_error"),
    },
}
CURVES_OF_BOTH = {"gradient norm": ("gradient_norm",), "learning rate": ("learning_rate",)}
MAX_REJECTS = 40
LOCK = Path("dvc.lock")


class Run(NamedTuple):
    """A training's run in MLflow; the link is empty while the run waits to be delivered."""

    id: str
    link: str


class Model(NamedTuple):
    """What the page shows of a model; `missing` names what has not been made yet."""

    name: str
    title: str
    about: str
    missing: list[str]
    figures: list[Shown]
    samples_title: str
    samples: list[Card]
    left_out: int
    folder: Path
    examples: list[Card]
    curves: list[Media]
    test_figures: Mapping[str, float]
    parameters: Mapping[str, str]
    run: Run | None


class Split(NamedTuple):
    """The utterances of a split: their number, minutes in all, and median and longest (s)."""

    split: str
    utterances: int
    minutes: float
    median: float
    longest: float


class Corpus(NamedTuple):
    """What the page shows of the recordings."""

    utterances: int
    minutes: float
    speakers: int
    splits: list[Split]
    rejects: list[Mapping[str, str]]
    rejected: int
    attribution: list[Block]


def main(data: Path, report: Path) -> None:
    """Writes the page from what the stages left in `data`; it says what is missing, and the command that makes it."""
    params = load_params("report")
    page = make_page(data, Path(params.corpus.path), params.report)
    with new_folder(report) as folder:
        (folder / "index.html").write_text(page, encoding="utf-8")


def make_page(data: Path, corpus: Path, params: Report) -> str:
    """The page as HTML that needs nothing beside itself."""
    values = {
        "title": params.title,
        "style": (TEMPLATES / "report.css").read_text(encoding="utf-8"),
        "models": [read_model(data, name, params) for name in TITLES],
        "corpus": read_corpus(data / "prepare", corpus),
    }
    return render("report.html.jinja", values)


def read_model(data: Path, name: str, params: Report) -> Model:
    """What there is of a model."""
    trained, evaluated, synthesized = (data / f"{step}_{name}" for step in ("train", "evaluate", "synthesize"))
    parts = {"the training": trained, "the evaluation": evaluated, "the samples": synthesized}
    entries = read_entries(synthesized)
    return Model(
        name=name,
        title=TITLES[name],
        about=ABOUT[name],
        missing=[part for part, folder in parts.items() if not folder.exists()],
        figures=headlines(data, name),
        samples_title=SAMPLES_TITLE[name],
        samples=[make_card(synthesized, entry) for entry in entries[: params.max_samples]],
        left_out=max(0, len(entries) - params.max_samples),
        folder=synthesized,
        examples=[make_card(evaluated, entry) for entry in read_entries(evaluated)[: params.max_samples]],
        curves=list(_curves(trained / "history.csv", (CURVES[name], CURVES_OF_BOTH))),
        test_figures=read_figures(data, name),
        parameters=_parameters([trained.name, evaluated.name, synthesized.name]),
        run=_run(data / "runs" / f"train_{name}.json", params.mlflow_address),
    )


def read_corpus(prepared: Path, corpus: Path) -> Corpus:
    """Counts of what `prepare` kept and left out, and the corpus' own words on whose it is."""
    utterances = _table(prepared / "utterances.csv", ["split", "speaker", "seconds"])
    rejects = _table(prepared / "rejects.csv", ["id", "reason"])
    seconds = utterances["seconds"].astype(float)
    return Corpus(
        utterances=len(utterances),
        minutes=seconds.sum() / 60.0,
        speakers=utterances["speaker"].nunique(),
        splits=[
            Split(split, len(part), part.sum() / 60.0, part.median(), part.max())
            for split in ("train", "validation", "test")
            if len(part := seconds[utterances["split"] == split])
        ],
        rejects=rejects.head(MAX_REJECTS).to_dict("records"),
        rejected=len(rejects),
        attribution=_attribution(corpus / "ATTRIBUTION.md"),
    )


def _curves(path: Path, pictures: Sequence[Mapping[str, tuple[str, ...]]]) -> Iterator[Media]:
    history = pd.read_csv(path) if path.exists() else pd.DataFrame({"step": []})
    known = history.columns[history.notna().any()]
    for panels in pictures:
        drawn = {label: present for label, columns in panels.items() if (present := [c for c in columns if c in known])}
        if drawn:
            with tempfile.TemporaryDirectory() as folder:
                picture = Path(folder, "curves.svg")
                draw_curves(picture, history, drawn)
                yield Media(embed(picture), "curves", f"Curves of {', '.join(drawn)}. {' '.join(_in_words(history))}")


def _in_words(history: pd.DataFrame) -> Iterator[str]:
    yield f"{int(history['step'].max())} training steps."
    for column, title in {"train_loss": "training", "valid_loss": "validation"}.items():
        values = history[column].dropna() if column in history else pd.Series(dtype=float)
        if len(values):
            ends = f"{values.iloc[0]:.3g} to {values.iloc[-1]:.3g}"
            yield f"The {title} loss goes from {ends}; its least is {values.min():.3g}."


def _parameters(stages: Sequence[str]) -> dict[str, str]:
    """What the stages that made a model's files were run with, as DVC noted it then."""
    lock = read_yaml(LOCK)["stages"] if LOCK.exists() else {}
    noted = [values for name in stages for values in lock.get(name, {}).get("params", {}).values()]
    return dict(sorted(entry for values in noted for entry in _flat(values)))


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _run(path: Path, address: str) -> Run | None:
    if not path.exists():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    run_id = found["run_id"]
    return Run(run_id, f"{address.rstrip('/')}/#/runs/{run_id}") if run_id else Run(found["run_key"], "")


def _table(path: Path, columns: list[str]) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False) if path.exists() else pd.DataFrame(columns=columns)


def _attribution(path: Path) -> list[Block]:
    if path.exists():
        return markdown_blocks(path.read_text(encoding="utf-8"))
    words = (
        f"There is no {path.name} in {path.parent}: say there whose recordings these are and what one may do with them."
    )
    return [Block("paragraph", words)]


if __name__ == "__main__":
    stage.run(main)
