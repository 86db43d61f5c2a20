"""Command check: says what is wrong with a corpus before anything learns from it, and writes the same as a page."""

import html
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from pipeline import stage
from pipeline.corpora import LAYOUTS, read_corpus
from pipeline.corpora.recognise import recognise_layout
from pipeline.corpora.rows import Listing
from pipeline.errors import InputError
from pipeline.outputs import new_file
from pipeline.params import check_params, load_runtime
from pipeline.prepare import Verdict, judge
from pipeline.sections.corpus import Corpus
from pipeline.text import TextSettings, normalise
from pipeline.text.vocabulary import describe_symbols

PAGES = Path(".work/check")
SHOWN = 20
BARS = 10
BAR_WIDTH = 40
RARE = 3
SUSPICIOUS_FACTOR = 2.5
"""A pair is suspicious when its recording is this many times longer or shorter than its text lets expect."""
SLOPES = 20_000
MINIMAL_PACE = 1e-3


class Table(NamedTuple):
    """A title, and lines of text below it."""

    title: str
    lines: list[str]


def main(corpus: Path, format: str = "") -> None:
    """Reads every row and recording of a folder, prints a summary and writes it as a page."""
    params = check_params()
    section = _section(corpus, params.corpus, format)
    listing = read_corpus(corpus, section)
    verdicts = judge(corpus, listing, section, params.prepare, load_runtime().pool)
    tables = summarise(section, listing, verdicts, TextSettings.from_section(params.text))
    for table in tables:
        print(f"\n{table.title}")
        print("\n".join(f"  {line}" for line in table.lines))
    page = PAGES / f"{corpus.resolve().name}.html"
    write_page(page, f"Corpus {corpus.name}", tables)
    print(f"\nthe same as a page: {page}")


def summarise(corpus: Corpus, listing: Listing, verdicts: Sequence[Verdict], settings: TextSettings) -> list[Table]:
    """What there is to say about a corpus.

    Args:
        corpus: Its layout.
        listing: Its rows.
        verdicts: On each row.
        settings: How texts are normalised before their characters are counted.
    """
    kept = [verdict for verdict in verdicts if not verdict.reason]
    texts = {verdict.row.id: normalise(verdict.row.text, settings) for verdict in kept}
    tables = [_rows(corpus, listing, verdicts), _rejects(verdicts)]
    if listing.has_audio:
        seconds = [verdict.inspection.seconds for verdict in kept]
        peaks = [verdict.inspection.peak_db for verdict in kept]
        loudness = [verdict.inspection.rms_db for verdict in kept]
        tables += [_recordings(kept), Table("Duration, s", _histogram(seconds))]
        tables += [
            Table("Peak, dB re full scale", _histogram(peaks)),
            Table("Loudness (RMS), dB", _histogram(loudness)),
        ]
    if listing.has_text:
        lengths = [float(len(text)) for text in texts.values()]
        tables += [Table("Text length, characters", _histogram(lengths)), _characters(kept, texts)]
        tables += [_suspicious(kept, texts)] if listing.has_audio else []
    return [*tables, _repeated(kept, texts)]


def write_page(path: Path, title: str, tables: Sequence[Table]) -> None:
    """Writes the tables as one HTML file that needs no other."""
    parts = (
        f"<h2>{html.escape(table.title)}</h2>\n<pre>{html.escape(chr(10).join(table.lines))}</pre>" for table in tables
    )
    style = "body{font:16px sans-serif;max-width:60em;margin:2em auto;padding:0 1em}pre{white-space:pre-wrap}"
    page = (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
        f"<style>{style}</style>\n<h1>{html.escape(title)}</h1>\n" + "\n".join(parts) + "\n</html>\n"
    )
    with new_file(path) as partial:
        partial.write_text(page, encoding="utf-8")


def _section(folder: Path, corpus: Corpus, layout: str) -> Corpus:
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder")
    if layout and layout not in LAYOUTS:
        raise InputError(f"FORMAT={layout} is not a layout; layouts are {', '.join(LAYOUTS)}")
    if layout:
        return corpus.model_copy(update={"format": layout})
    return corpus if folder == Path(corpus.path) else recognise_layout(folder, corpus)


def _rows(corpus: Corpus, listing: Listing, verdicts: Sequence[Verdict]) -> Table:
    rejected = Counter(verdict.reason.split(":")[0] for verdict in verdicts if verdict.reason)
    speakers = Counter(verdict.row.speaker for verdict in verdicts if not verdict.reason)
    lines = [f"layout {corpus.format}: {len(verdicts)} rows, {listing.blank_lines} blank lines"]
    lines.append(f"kept {len(verdicts) - rejected.total()}, rejected {rejected.total()}")
    lines += [f"  {kind}: {count}" for kind, count in rejected.most_common()]
    lines += [f"speaker {name or '(only one)'}: {count}" for name, count in speakers.most_common(SHOWN)]
    return Table("Rows", lines)


def _rejects(verdicts: Sequence[Verdict]) -> Table:
    faulty = [verdict for verdict in verdicts if verdict.reason]
    lines = [f"{v.row.file}:{v.row.line} {v.row.id}: {v.reason}" for v in faulty]
    return Table("Rejected", lines or ["none"])


def _recordings(kept: Sequence[Verdict]) -> Table:
    inspections = [verdict.inspection for verdict in kept]
    hours = sum(inspection.seconds for inspection in inspections) / 3600
    lines = [f"{hours:.3f} h in {len(inspections)} recordings"]
    for name, values in (
        ("rate, Hz", Counter(i.sample_rate for i in inspections)),
        ("channels", Counter(i.channels for i in inspections)),
        ("format", Counter(i.encoding for i in inspections)),
    ):
        lines += [f"{name} {value}: {count}" for value, count in values.most_common()]
    clipped = [verdict for verdict in kept if verdict.inspection.clipped_fraction > 0]
    lines += [f"clipped in places: {len(clipped)}"]
    lines += [f"  {v.row.id}: {v.inspection.clipped_fraction:.3%} of its samples" for v in clipped[:SHOWN]]
    return Table("Recordings", lines)


def _characters(kept: Sequence[Verdict], texts: dict[str, str]) -> Table:
    counts = Counter(character for text in texts.values() for character in text)
    lines = [" ".join(f"{'space' if c == ' ' else c}:{count}" for c, count in counts.most_common())]
    for character, count in counts.items():
        if count < RARE or not (character.isalpha() or character in " ,.?!'\"-:;"):
            first = next(v.row for v in kept if character in texts[v.row.id])
            described = describe_symbols(Counter({character: count}))
            lines.append(f"rare or unusual: {described}, first in {first.id} ({first.file}:{first.line})")
    return Table("Characters after normalisation", lines)


def _suspicious(kept: Sequence[Verdict], texts: dict[str, str]) -> Table:
    """Pairs whose recording lasts much longer or shorter than its text lets expect."""
    if not kept:
        return Table("Suspicious pairs of text and duration", ["none"])
    seconds = np.array([verdict.inspection.seconds for verdict in kept])
    lengths = np.array([len(texts[verdict.row.id]) for verdict in kept])
    pause, pace = _usual_pace(lengths, seconds)
    distance = np.abs(np.log(seconds / (pause + pace * lengths)))
    far = [place for place in np.argsort(-distance) if distance[place] > math.log(SUSPICIOUS_FACTOR)]
    lines = [f"usual: {pause:.2f} s and {pace:.3f} s a character; {len(far)} pairs are far from it"]
    for place in far[:SHOWN]:
        row = kept[place].row
        lines.append(f"{row.id} ({row.file}:{row.line}): {seconds[place]:.2f} s for {texts[row.id]!r:.80}")
    return Table("Suspicious pairs of text and duration", lines)


def _usual_pace(lengths: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    """Seconds of pause, seconds a character of most pairs: the medians of Theil and Sen, which outliers move little."""
    first, second = np.random.default_rng(0).integers(len(lengths), size=(2, SLOPES))
    differ = lengths[first] != lengths[second]
    rise, run = seconds[second] - seconds[first], lengths[second] - lengths[first]
    pace = max(float(np.median(rise[differ] / run[differ])), MINIMAL_PACE) if differ.any() else MINIMAL_PACE
    return max(float(np.median(seconds - pace * lengths)), MINIMAL_PACE), pace


def _repeated(kept: Sequence[Verdict], texts: dict[str, str]) -> Table:
    groups: dict[str, list[str]] = {}
    for verdict in kept:
        if verdict.inspection.digest:
            groups.setdefault(verdict.inspection.digest, []).append(verdict.row.id)
    same_sound = [names for names in groups.values() if len(names) > 1]
    same_text = Counter(text for text in texts.values() if text)
    lines = [f"equal recordings: {' = '.join(names)}" for names in same_sound[:SHOWN]]
    lines += [f"{count}x {text!r:.80}" for text, count in same_text.most_common(SHOWN) if count > 1]
    return Table("Repeated recordings and texts", lines or ["none"])


def _histogram(values: Sequence[float]) -> list[str]:
    finite = sorted(value for value in values if math.isfinite(value))
    if not finite:
        return ["none"]
    low, high = finite[0], finite[-1]
    step = (high - low) / BARS or 1.0
    counts = Counter(min(int((value - low) / step), BARS - 1) for value in finite)
    highest = max(counts.values())
    lines = [f"least {low:.4g}, median {median(finite):.4g}, most {high:.4g}"]
    for place in range(BARS if high > low else 1):
        bar = "#" * math.ceil(counts[place] / highest * BAR_WIDTH)
        lines.append(f"{low + place * step:9.4g} to {low + (place + 1) * step:9.4g} {counts[place]:7d} {bar}")
    return lines


if __name__ == "__main__":
    stage.run(main)
