"""Command `make compare A=run B=run`: the parameters and figures in which two runs differ, and nothing else."""

from collections.abc import Mapping
from typing import Any

from pipeline import stage

ABSENT = "-"
DETAIL = "meanlogabs"


def main(a: str, b: str) -> None:
    """Prints what differs between two runs.

    A run is a run-id file, an id from the MLflow UI or the beginning of one, or a name.
    """
    from pipeline.tracking.queries import all_params, find_run

    first, second = find_run(a), find_run(b)
    print(f"A  {first.name}  {first.run_id}\nB  {second.name}  {second.run_id}")
    print(table("parameters", difference(all_params(first), all_params(second))))
    print(table("figures", difference(_main_figures(first.figures), _main_figures(second.figures))))


def difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Name and both values, as text, of each entry that differs; equal numbers do not differ."""
    names = sorted(first.keys() | second.keys())
    pairs = [(name, first.get(name, ABSENT), second.get(name, ABSENT)) for name in names]
    return [(name, _text(one), _text(other)) for name, one, other in pairs if _number(one) != _number(other)]


def table(title: str, rows: list[tuple[str, str, str]]) -> str:
    """The rows in columns under a title."""
    if not rows:
        return f"\n{title}: all equal"
    lines = [(title, "A", "B"), *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    return "\n" + "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _main_figures(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in figures.items() if DETAIL not in name}


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _number(value: Any) -> Any:
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


if __name__ == "__main__":
    stage.run(main)
