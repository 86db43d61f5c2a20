"""Tables with a header line: every value is text."""

import csv
import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.corpora.lines import read_text
from pipeline.errors import InputError

LONGEST_FIELD = 2**31 - 1


class Record(NamedTuple):
    """A line of a table: its number, its values by column, and "" or what is wrong with it."""

    line: int
    values: dict[str, str]
    problem: str


def read_table(path: Path, name: str, separator: str, columns: tuple[str, ...]) -> tuple[list[Record], int]:
    """Reads a table; commas and semicolons come with quotes as spreadsheets write them, tabs and bars without.

    Args:
        path: The file.
        name: What messages call it.
        separator: One character.
        columns: Those that must be there.

    Returns:
        The records, and the number of blank lines.

    Raises:
        InputError: The file is missing or not UTF-8, a column is missing, or a quote is never closed.
    """
    text = read_text(path, name)
    records = _records(text, name, separator)
    first, header = next(records, (1, []))
    header = [column.strip() for column in header]
    _require_columns(header, columns, f"{name}, line {first}")
    found, blank = [], 0
    for line, values in records:
        if not any(value.strip() for value in values):
            blank += 1
            continue
        wrong = len(values) != len(header)
        columns = "1 column" if len(values) == 1 else f"{len(values)} columns"
        problem = f"row: {columns} where the header has {len(header)}" if wrong else ""
        found.append(Record(line, dict(zip(header, values, strict=False)), problem))
    return found, blank


def _records(text: str, name: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a table, each with the line on which it begins."""
    quoting = csv.QUOTE_NONE if separator in "|\t" else csv.QUOTE_MINIMAL
    csv.field_size_limit(LONGEST_FIELD)
    lines = [line + "\n" for line in text.split("\n")]
    if lines[-1] == "\n":
        lines.pop()
    reader = csv.reader(lines, delimiter=separator, quoting=quoting, strict=True)
    line = 1
    while True:
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(
                f"{name}, line {line}: {error}; a quote opens a field that is never closed, or text follows a closing "
                'quote: write quotes inside a field twice ("")'
            ) from error
        yield line, values
        line = reader.line_num + 1


def _require_columns(header: list[str], columns: tuple[str, ...], place: str) -> None:
    for column in columns:
        if column not in header:
            nearest = difflib.get_close_matches(column, header, n=1)
            hint = f"did you mean {nearest[0]!r}?" if nearest else f"it has {', '.join(header) or 'none'}"
            raise InputError(
                f"{place}: the header has no column {column!r}; {hint} (corpus.column_*, corpus.column_separator)"
            )
