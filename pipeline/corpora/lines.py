"""Text files as people save them: UTF-8, with or without a byte order mark, with line ends of any system."""

from pathlib import Path
from typing import NamedTuple

from pipeline.errors import InputError

OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class Line(NamedTuple):
    """A line and its number, from 1."""

    number: int
    text: str


def read_text(path: Path, name: str) -> str:
    """The content of a UTF-8 file, without its byte order mark, lines ending in a line feed.

    Args:
        path: The file.
        name: What messages call it.

    Raises:
        InputError: It is missing, or not UTF-8; names line and column.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(
            f"{name} is missing in {path.parent}: set corpus.format and corpus.metadata to what is there"
        ) from error
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from error
    if content[:2] in OTHER_ENCODINGS:
        raise InputError(f"{name} is {OTHER_ENCODINGS[content[:2]]}: save it as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column, byte = _place(error)
        raise InputError(
            f"{name}, line {line}, column {column}: byte 0x{byte:02X} is not UTF-8; save the file as UTF-8"
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_lines(path: Path, name: str) -> list[Line]:
    """The lines of a UTF-8 file; only line feeds (and carriage returns) end a line. Raises as `read_text` does."""
    lines = read_text(path, name).split("\n")
    if lines[-1] == "":
        lines.pop()
    return [Line(number, text) for number, text in enumerate(lines, start=1)]


def _place(error: UnicodeDecodeError) -> tuple[int, int, int]:
    bom = b"\xef\xbb\xbf"
    content: bytes = error.object
    place = error.start
    before = content[:place].removeprefix(bom).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    line_begin = before.rfind(b"\n") + 1
    column = len(before[line_begin:].decode("utf-8", errors="replace")) + 1
    return before.count(b"\n") + 1, column, content[place]
