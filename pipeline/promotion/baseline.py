"""Without a shared store: the figures that git has at the base commit, of the same test split or of none."""

import json
from pathlib import Path
from typing import Any

from pipeline import lineage, locks
from pipeline.params import check_params
from pipeline.promotion.decision import Decision, Outcome, decide_on_whole_figures

TEST_DATA = {"tacotron": "data/mels", "wayback": "data/codes"}
WHOLE = {"stopped": "stop_rate"}


def decide_by_git(model: str, base: str) -> Decision:
    """Compares the figures of the whole test split in `data/metrics` with those at the base commit.

    Raises:
        InputError: Git knows no such commit.
    """
    root = lineage.code_root()
    name = f"data/metrics/evaluate_{model}.json"
    before = lineage.git(root, "show", f"{base}:./{name}")
    if before is None:
        return Decision(Outcome.NO_CHAMPION, f"there is no champion, and commit {base[:10]} has no {name}")
    hashes = [_md5(locks.read_lock(root, revision), TEST_DATA[model]) for revision in (base, "")]
    if hashes[0] != hashes[1] or hashes[0] is None:
        reason = (
            f"{TEST_DATA[model]} is not what it was at commit {base[:10]}: figures of other utterances prove nothing"
        )
        return Decision(Outcome.NOT_COMPARABLE, reason)
    criteria = {WHOLE.get(name, name): each for name, each in getattr(check_params().gate, model).items()}
    now = (root / name).read_text(encoding="utf-8")
    return decide_on_whole_figures(*(_test_figures(text) for text in (before, now)), criteria)


def _test_figures(text: str) -> dict[str, Any]:
    return {name.removeprefix("test_"): value for name, value in json.loads(text).items() if name.startswith("test_")}


def _md5(lock: dict[str, Any], path: str) -> str | None:
    outs = [out for entry in lock.values() for out in entry.get("outs", [])]
    return next((out["md5"] for out in outs if out["path"] == path), None)


def locked_md5(root: Path, path: str) -> str | None:
    """What dvc.lock says of an output."""
    return _md5(locks.read_lock(root), path)
