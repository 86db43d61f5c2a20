"""What a stage writes appears whole or not at all: under a temporary name first, then renamed."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Gives an empty folder beside `target`; it takes `target`'s place when the block ends without an error."""
    partial = _partial(target)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Gives a path beside `target`, of the same suffix; what is written there replaces `target` when the block ends without an error."""
    partial = _partial(target)
    partial.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def write_json(target: Path, value: Any) -> None:
    """Writes strict JSON (no NaN or infinity), indented, keys in the order given, ending in a newline."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    with new_file(target) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def _partial(target: Path) -> Path:
    return target.with_name(f".partial.{target.name}")
