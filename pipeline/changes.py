"""Command `make changes BASE=origin/main`: what a retraining has changed, to read beside a pull request and to listen to.

`changes.md` holds the tables, `changes.html` these and the curves, pictures and sounds of both.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pipeline import lineage, locks, stage
from pipeline.cards import Card, Media, make_card, read_entries
from pipeline.errors import InputError
from pipeline.gate import FILE as DECISION
from pipeline.gate import run_file
from pipeline.headline import TITLES
from pipeline.outputs import new_folder
from pipeline.page import TEMPLATES, embed, render, render_text
from pipeline.params import check_params
from pipeline.pictures import draw_curves
from pipeline.report import CURVES, CURVES_OF_BOTH
from pipeline.restore import dvc, share_cache
from pipeline.tracking.addresses import pages_address
from pipeline.tracking.queries import find_run

SHOWN = ("prepare", *(f"{step}_{model}" for model in TITLES for step in ("train", "evaluate", "synthesize")))
LOWER_IS_BETTER = ("loss", "error", "distortion", "bits", "rejected")
HIGHER_IS_BETTER = ("stop_rate", "focus", "diagonality", "coverage")
MOST_NAMES = 20
ABSENT = "–"


class Row(NamedTuple):
    """A value before and now; `change` and `verdict` ("better", "worse") are empty where they mean nothing."""

    name: str
    before: str
    now: str
    change: str = ""
    verdict: str = ""


class Rows(NamedTuple):
    """Recordings that came, went, or are rejected now; the first names of each and their number."""

    added: list[str]
    removed: list[str]
    rejected: list[str]
    counts: tuple[int, int, int]


class Run(NamedTuple):
    """A training's run: its id, where the link leads, its time and what that is in hours of a core."""

    id: str
    link: str
    time: str
    core_hours: str


class Both(NamedTuple):
    """A model before and now."""

    title: str
    figures: list[Row]
    decision: Mapping[str, Any] | None
    runs: list[tuple[str, Run | None]]
    curves: list[Media]
    pairs: list[tuple[Card | None, Card | None]]


def main(base: str, into: Path = Path(".work/changes"), decisions: Path = Path(".work/gate")) -> None:
    """Compares what is here with what dvc.lock says at BASE; without anything there it says so."""
    root = lineage.code_root()
    commit = lineage.git(root, "rev-parse", "--verify", "--quiet", f"{base}^{{commit}}")
    if commit is None:
        raise InputError(f"git knows no commit {base!r}; a shallow clone lacks it (fetch-depth: 0)")
    with as_it_was(root, commit.strip()) as before, new_folder(into) as folder:
        values = {
            "base": commit.strip()[:10],
            "has_baseline": bool(locks.read_lock(root, base)),
            "parameters": changed_parameters(root, base),
            "data": changed_rows(before / "data/prepare", root / "data/prepare"),
            "models": {
                name: read_both(name, before, root, decisions)
                for name in TITLES
                if any(_figures(checkout, name) for checkout in (before, root))
            },
        }
        (folder / "changes.md").write_text(render_text("changes.md.jinja", values), encoding="utf-8")
        page = render("changes.html.jinja", values | {"style": (TEMPLATES / "report.css").read_text(encoding="utf-8")})
        (folder / "changes.html").write_text(page, encoding="utf-8")
    print(f"{into / 'changes.md'}\n{into / 'changes.html'}")


@contextmanager
def as_it_was(root: Path, commit: str) -> Iterator[Path]:
    """Gives a work tree of the commit with those outputs of its stages that the cache or the remote has."""
    inside = (lineage.git(root, "rev-parse", "--show-prefix") or "").strip("\n")
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch, "before")
        if lineage.git(root, "worktree", "add", "--quiet", "--detach", str(place), commit) is None:
            raise InputError(f"git could not check out {commit} beside this one")
        try:
            checkout = place / inside
            targets = sorted(path for path, _ in locks.locked_outputs(locks.read_lock(checkout)) if _is_shown(path))
            if targets:
                share_cache(lineage.main_root(), checkout)
                command = "pull" if dvc(checkout, "remote", "list").strip() else "checkout"
                _try(checkout, command, targets)
            yield checkout
        finally:
            lineage.git(root, "worktree", "remove", "--force", str(place))


def changed_parameters(root: Path, base: str) -> list[Row]:
    """The parameters that stages were run with, where they differ."""
    before, now = (_parameters(locks.read_lock(root, revision)) for revision in (base, ""))
    return [
        Row(name, *(as_text(values.get(name, ABSENT)) for values in (before, now)))
        for name in sorted(before.keys() | now.keys())
        if before.get(name, ABSENT) != now.get(name, ABSENT)
    ]


def changed_figures(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Row]:
    """The figures that differ, with the direction and size of the change."""
    names = dict.fromkeys((*before, *now))
    return [figure_row(name, before.get(name), now.get(name)) for name in names if before.get(name) != now.get(name)]


def figure_row(name: str, before: float | None, now: float | None) -> Row:
    """A figure before and now; whether more or less of it is better follows from its name."""
    if before is None or now is None:
        return Row(name, as_text(before), as_text(now))
    change = now - before
    relative = f" ({100.0 * change / abs(before):+.1f} %)" if before else ""
    lower, higher = (any(word in name for word in words) for words in (LOWER_IS_BETTER, HIGHER_IS_BETTER))
    known = (lower or higher) and not name.startswith("baseline_")
    verdict = ("better" if (change < 0) == (lower and not higher) else "worse") if known else ""
    return Row(name, as_text(before), as_text(now), f"{change:+.4g}{relative}", verdict)


def changed_rows(before: Path, now: Path) -> Rows | None:
    """Which recordings came, went or are newly rejected; None where one of both lists is not here."""
    if not all((folder / "utterances.csv").exists() for folder in (before, now)):
        return None
    kept = [_ids(folder / "utterances.csv") for folder in (before, now)]
    rejected = [_ids(folder / "rejects.csv") for folder in (before, now)]
    lists = [sorted(kept[1] - kept[0]), sorted(kept[0] - kept[1]), sorted(rejected[1] - rejected[0])]
    return Rows(*(names[:MOST_NAMES] for names in lists), counts=tuple(len(names) for names in lists))


def read_both(name: str, before: Path, now: Path, decisions: Path) -> Both:
    """A model in both checkouts, and what the gate has decided."""
    decided = decisions / name / DECISION
    address = pages_address(check_params().report.mlflow_address)
    return Both(
        title=TITLES[name],
        figures=changed_figures(*(_figures(checkout, name) for checkout in (before, now))),
        decision=json.loads(decided.read_text(encoding="utf-8")) if decided.exists() else None,
        runs=[(when, _run(checkout, name, address)) for when, checkout in (("before", before), ("now", now))],
        curves=list(_curves(name, before, now)),
        pairs=list(_pairs(name, before, now)),
    )


def as_text(value: Any) -> str:
    """A value in a table."""
    if value is None:
        return ABSENT
    return f"{value:.6g}" if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value)


def _is_shown(path: str) -> bool:
    return path in map(run_file, TITLES) or path in {f"data/{name}" for name in SHOWN}


def _try(checkout: Path, command: str, targets: list[str]) -> None:
    """Brings what there is; what is nowhere any more is not shown."""
    try:
        dvc(checkout, command, "--allow-missing", "--quiet", *targets)
    except InputError as error:
        print(f"warning: not everything of before is here: {error}")


def _parameters(lock: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for entry in lock.values() for name, value in locks.locked_facts(entry).params.items()}


def _figures(checkout: Path, name: str) -> dict[str, Any]:
    path = checkout / f"data/metrics/evaluate_{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _ids(path: Path) -> set[str]:
    return set(pd.read_csv(path, dtype=str, keep_default_na=False)["id"])


def _run(checkout: Path, name: str, address: str) -> Run | None:
    path = checkout / run_file(name)
    if not path.exists():
        return None
    try:
        record = find_run(str(path))
    except InputError:
        return Run(json.loads(path.read_text(encoding="utf-8"))["run_key"], address, "unknown", "unknown")
    run_id, link = record.run_id, f"{address}/#/runs/{record.run_id}"
    if record.seconds is None:
        return Run(run_id, link, "still running", "unknown")
    hours = record.seconds * float(record.tags.get("machine.cpus", "nan")) / 3600.0
    return Run(run_id, link, f"{record.seconds / 60.0:.1f} minutes", f"{hours:.2f}")


def _curves(name: str, before: Path, now: Path) -> Iterator[Media]:
    paths = [checkout / f"data/train_{name}/history.csv" for checkout in (before, now)]
    if not all(path.exists() for path in paths):
        return
    old, new = (pd.read_csv(path) for path in paths)
    both = new.merge(old, on="step", how="outer", suffixes=("", "_before")).sort_values("step")
    panels = {
        label: [each for column in columns for each in (column, f"{column}_before") if _is_drawn(both, each)]
        for label, columns in (CURVES[name] | CURVES_OF_BOTH).items()
    }
    with tempfile.TemporaryDirectory() as scratch:
        picture = Path(scratch, "curves.svg")
        draw_curves(picture, both, {label: columns for label, columns in panels.items() if columns})
        yield Media(embed(picture), "curves", f"Learning curves now and before of {TITLES[name]}")


def _is_drawn(history: pd.DataFrame, column: str) -> bool:
    return column in history and history[column].notna().any()


def _pairs(name: str, before: Path, now: Path) -> Iterator[tuple[Card | None, Card | None]]:
    """Samples and test utterances of both, side by side where they are of the same text."""
    most = check_params().report.max_samples
    for step in ("synthesize", "evaluate"):
        cards = [
            {card.text or card.title: card for card in _cards(checkout / f"data/{step}_{name}")}
            for checkout in (before, now)
        ]
        for title in list(dict.fromkeys((*cards[1], *cards[0])))[:most]:
            yield cards[0].get(title), cards[1].get(title)


def _cards(folder: Path) -> list[Card]:
    return [make_card(folder, entry) for entry in read_entries(folder)] if folder.exists() else []


if __name__ == "__main__":
    stage.run(main)
