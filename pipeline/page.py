"""What a page without a network is made of: embedded files, numbers and simple Markdown as HTML shows them."""

import base64
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup, escape

from pipeline.errors import InputError

TEMPLATES = Path(__file__).parent / "templates"
MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml", ".wav": "audio/wav"}
GROUP = "\N{NARROW NO-BREAK SPACE}"


def render(template: str, values: Mapping[str, Any]) -> str:
    """The template of that name, filled; text is escaped, and a value that the template lacks is an error."""
    return _environment(autoescape=True).get_template(template).render(values)


def render_text(template: str, values: Mapping[str, Any]) -> str:
    """The same for a template of Markdown; what a table's cell holds goes through the filter `cell`."""
    return re.sub(r"\n{3,}", "\n\n", _environment(autoescape=False).get_template(template).render(values))


def embed(path: Path) -> str:
    """The file as a data address, so that the page needs nothing beside itself.

    Raises:
        InputError: There is no such file.
    """
    if not path.is_file():
        raise InputError(f"{path} is missing, though samples.json names it: run dvc checkout, or dvc repro")
    content = base64.b64encode(path.read_bytes()).decode("ascii")
    return f"data:{MEDIA_TYPES[path.suffix]};base64,{content}"


def show_number(value: Any) -> str:
    """A number for reading: three significant digits, whole numbers in full with grouped thousands."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (isinstance(value, float) and abs(value) >= 1000):
        return f"{round(value):,}".replace(",", GROUP).replace("-", "−")
    return f"{value:.3g}".replace("-", "−") if isinstance(value, float) else str(value)


def show_value(value: float) -> str:
    """A number with four significant digits."""
    return f"{value:.4g}"


def show_change(value: float) -> str:
    """A number with its sign."""
    return f"{value + 0.0:+.4g}"  # no negative zero


def as_sentence(text: str) -> str:
    """The text with a capital first letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."


def as_cell(text: str) -> str:
    """The text as code in a cell of a Markdown table: in one line, without what would end the cell or the code."""
    plain = " ".join(text.split()).replace("`", "'").replace("|", "\\|")
    return f"`{plain}`" if plain else ""


class Block(NamedTuple):
    """A piece of simple Markdown.

    Attributes:
        kind: "heading", "paragraph" or "list".
        text: What it says; empty for a list.
        entries: The items of a list.
    """

    kind: str
    text: str = ""
    entries: tuple[str, ...] = ()


def markdown_blocks(text: str) -> list[Block]:
    """The headings, paragraphs and flat lists of a Markdown text, in order; marks inside a line stay as they are."""
    blocks: list[Block] = []
    is_open = False
    for line in text.splitlines():
        words = line.strip()
        if words.startswith("#"):
            blocks.append(Block("heading", words.lstrip("# ")))
        elif words.startswith(("- ", "* ")):
            entry = words[2:].strip()
            if is_open and blocks[-1].kind == "list":
                blocks[-1] = blocks[-1]._replace(entries=(*blocks[-1].entries, entry))
            else:
                blocks.append(Block("list", entries=(entry,)))
        elif words and is_open and blocks[-1].kind == "list":
            *before, last = blocks[-1].entries
            blocks[-1] = blocks[-1]._replace(entries=(*before, f"{last} {words}"))
        elif words and is_open and blocks[-1].kind == "paragraph":
            blocks[-1] = blocks[-1]._replace(text=f"{blocks[-1].text} {words}")
        elif words:
            blocks.append(Block("paragraph", words))
        is_open = bool(words) and not words.startswith("#")
    return blocks


def _environment(autoescape: bool) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=autoescape,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment.filters |= {
        "number": show_number,
        "with_code": _with_code,
        "value": show_value,
        "signed": show_change,
        "sentence": as_sentence,
        "cell": as_cell,
    }
    return environment


def _with_code(text: str) -> Markup:
    """The text as HTML, what stands between backticks as code."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if k % 2 else escape(piece) for k, piece in enumerate(pieces)
    )
