"""Command `make promote`: moves the champion where the gate has found the candidate better."""

import json
from pathlib import Path

from pipeline import stage
from pipeline.errors import InputError
from pipeline.gate import FILE, MODELS, candidate_of, run_file
from pipeline.promotion.decision import Outcome
from pipeline.tracking.champions import CHAMPION, champion_of, move_champion
from pipeline.tracking.registry import model_name


def main(first: str = "", decisions: Path = Path(".work/gate")) -> None:
    """Moves each champion that a decision there says so of; with FIRST=1 makes what was trained last the first champion."""
    if first:
        for model in _trained_models():
            print(promote_first(model))
        return
    found = [model for model in MODELS if (decisions / model / FILE).exists()]
    if not found:
        raise InputError(f"{decisions} holds no decision: make gate")
    for model in found:
        print(promote(decisions / model / FILE))


def promote(path: Path) -> str:
    """Moves a champion if the decision in the file says so, and says what became of it.

    Raises:
        InputError: The champion is not the one that the candidate was compared with.
    """
    decision = json.loads(path.read_text(encoding="utf-8"))
    name = model_name(f"train_{decision['model']}")
    if decision["outcome"] != Outcome.BETTER.words or decision["champion"] is None:
        return f"{name}: the champion stays ({decision['outcome']}: {decision['reason']})"
    candidate, compared = decision["candidate"]["version"], decision["champion"]["version"]
    champion = champion_of(name)
    if champion is not None and champion.number == candidate:
        return f"{name}: version {candidate} is the champion"
    if champion is None or champion.number != compared:
        now = f"version {champion.number}" if champion else "none"
        raise InputError(
            f"{name}: version {candidate} was compared with version {compared}, and the champion is {now}: make gate"
        )
    move_champion(name, candidate)
    return f"{name}: version {candidate} is the {CHAMPION}, was {compared}"


def promote_first(model: str) -> str:
    """Makes what was trained last the champion, where there is none.

    Raises:
        InputError: There is one.
    """
    name, champion = model_name(f"train_{model}"), champion_of(model_name(f"train_{model}"))
    if champion is not None:
        raise InputError(
            f"{name} has a champion, version {champion.number}: make gate and make promote weigh another against it, "
            f"make champion MODEL={name} VERSION=number names one by hand"
        )
    version = candidate_of(model)
    move_champion(name, version.number)
    return f"{name}: version {version.number} is the first {CHAMPION}"


def _trained_models() -> list[str]:
    found = [model for model in MODELS if Path(run_file(model)).exists()]
    if not found:
        raise InputError("nothing has been trained here: dvc repro, or dvc pull")
    return found


if __name__ == "__main__":
    stage.run(main)
