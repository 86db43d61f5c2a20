"""Command `make gate`: whether what was trained last is better than the champion, on the same utterances.

It changes no alias. Exit codes: `pipeline.promotion.decision.Outcome`; of several models, the gravest.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pipeline import lineage, stage
from pipeline.errors import InputError
from pipeline.headline import TITLES
from pipeline.outputs import new_folder, write_json
from pipeline.params import check_params
from pipeline.promotion.baseline import decide_by_git, locked_md5
from pipeline.promotion.decision import Decision, Outcome, decide
from pipeline.promotion.pairs import pair
from pipeline.tracking.addresses import DATABASE, VARIABLE
from pipeline.tracking.champions import (
    TAKEN_BACK,
    Version,
    champion_of,
    download_trained,
    note_decision,
    version_of_run,
)
from pipeline.tracking.queries import find_run
from pipeline.tracking.registry import model_name

FILE, PAIRS = "decision.json", "pairs.csv"
OUTCOME, AGAINST, REASON = "gate.outcome", "gate.against", "gate.reason"
MODELS = tuple(TITLES)


class Judged(NamedTuple):
    """A decision, and whom it is about; versions are None where only git was asked."""

    decision: Decision
    way: str
    champion: Version | None = None
    candidate: Version | None = None
    pairs: pd.DataFrame = pd.DataFrame()


def main(model: str = "", base: str = "", into: Path = Path(".work/gate")) -> None:
    """Decides, says why, and leaves `INTO/<model>/decision.json`; without MODEL for each model that was evaluated.

    `base` is the commit whose metrics count while there is no champion.
    """
    if model not in ("", *MODELS):
        raise InputError(f"MODEL is {model!r}; it must be one of {', '.join(MODELS)}")
    if not model:
        raise SystemExit(max((_run_alone(name, base, into) for name in evaluated_models()), default=0))
    judged = judge(model, base)
    with new_folder(into / model) as folder:
        write_json(folder / FILE, as_json(model, judged))
        judged.pairs.to_csv(folder / PAIRS, index=False, lineterminator="\n")
    print(as_text(model, judged))
    if judged.candidate is not None and judged.champion is not None:
        note_decision(judged.candidate, _tags(judged), into / model)
    raise SystemExit(judged.decision.outcome.value)


def evaluated_models() -> list[str]:
    """The models whose evaluation is here.

    Raises:
        InputError: There are none.
    """
    found = [name for name in MODELS if Path(f"data/evaluate_{name}/per_utterance.csv").exists()]
    if not found:
        raise InputError("nothing has been evaluated here: dvc repro, or dvc pull")
    return found


def judge(model: str, base: str) -> Judged:
    """Measures the champion and weighs the candidate against it.

    Raises:
        InputError: The candidate's outputs are not what dvc.lock says, it is not registered, or the registry does not answer.
    """
    _require_locked(f"data/evaluate_{model}", run_file(model), f"data/train_{model}")
    name = model_name(f"train_{model}")
    champion = champion_of(name) if os.environ.get(VARIABLE) or has_store() else None
    if champion is None and base and not os.environ.get(VARIABLE):
        return Judged(decide_by_git(model, base), f"whole test splits, as git has them at {base[:10]}")
    if champion is None:
        reason = f"{name} has no champion; the first is made by hand: make promote FIRST=1"
        return Judged(Decision(Outcome.NO_CHAMPION, reason), "nothing was compared")
    candidate = candidate_of(model)
    if candidate.number == champion.number:
        same = Decision(Outcome.CHAMPION_ALREADY, f"version {champion.number} is the champion")
        return Judged(same, "nothing was compared", champion, candidate)
    if TAKEN_BACK in candidate.tags:
        words = f"version {candidate.number} was taken back {candidate.tags[TAKEN_BACK]}; make champion undoes that"
        return Judged(Decision(Outcome.TAKEN_BACK, words), "nothing was compared", champion, candidate)
    return _compare(model, champion, candidate)


def run_file(model: str) -> str:
    """The file that names the run of what was trained last."""
    return f"data/runs/train_{model}.json"


def candidate_of(model: str) -> Version:
    """The registered version of the training that is here.

    Raises:
        InputError: Its run has not reached the store, or registered nothing.
    """
    path, sync = run_file(model), "make sync delivers what waits"
    if not Path(path).exists():
        raise InputError(f"{path} is missing: dvc repro, or dvc pull")
    try:
        run_id = find_run(path).run_id
    except InputError as error:
        raise InputError(f"the run of {path} is not in the store ({error}): {sync}") from error
    version = version_of_run(model_name(f"train_{model}"), run_id)
    if version is None:
        raise InputError(f"run {run_id} of {path} has registered no model in the store: {sync}")
    return version


def has_store() -> bool:
    """Whether runs were tracked in the file that is asked where no server is named."""
    return (lineage.main_root() / DATABASE).exists()


def as_json(model: str, judged: Judged) -> dict[str, Any]:
    """What decision.json holds."""
    decision = judged.decision
    versions = {
        of: {"version": version.number, "run_id": version.run_id} if version else None
        for of, version in (("champion", judged.champion), ("candidate", judged.candidate))
    }
    figures = [
        {
            "name": verdict.name,
            "better": verdict.criterion.better,
            "tolerance": verdict.criterion.tolerance,
            "champion": verdict.champion,
            "candidate": verdict.candidate,
            "gain": verdict.gain,
            "low": verdict.interval.low if verdict.interval else None,
            "high": verdict.interval.high if verdict.interval else None,
            "verdict": verdict.words,
        }
        for verdict in decision.verdicts
    ]
    return {
        "model": model,
        "outcome": decision.outcome.words,
        "exit_code": decision.outcome.value,
        "reason": decision.reason,
        "way": judged.way,
        "utterances": decision.utterances,
        **versions,
        "figures": figures,
    }


def as_text(model: str, judged: Judged) -> str:
    """The decision for a terminal."""
    decision = judged.decision
    lines = [f"{model_name('train_' + model)}: {decision.outcome.words} ({decision.reason})"]
    if decision.verdicts:
        pairs = f"{decision.utterances} utterances, " if decision.utterances else ""
        lines.append(f"  compared: {pairs}{judged.way}")
    for verdict in decision.verdicts:
        interval = verdict.interval
        range_ = f" [{interval.low:+.4g}, {interval.high:+.4g}]" if interval else ""
        lines.append(
            f"  {verdict.name:<34} champion {verdict.champion:<9.4g} candidate {verdict.candidate:<9.4g} "
            f"gain {verdict.gain + 0.0:+.4g}{range_}  {verdict.words}"
        )
    return "\n".join(lines)


def _compare(model: str, champion: Version, candidate: Version) -> Judged:
    from pipeline.promotion.measuring import NotComparableError, measure_tacotron, measure_wayback

    params = check_params()
    criteria = getattr(params.gate, model)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            trained = download_trained(champion, Path(scratch))
            if model == "tacotron":
                measured = measure_tacotron(trained, champion.address, Path("data"))
            else:
                measured = measure_wayback(trained, Path("data"))
    except NotComparableError as error:
        return Judged(Decision(Outcome.NOT_COMPARABLE, str(error)), "nothing was compared", champion, candidate)
    pairs = pair(measured.champion, measured.candidate)
    if measured.way == "sounds":
        criteria = {name: each for name, each in criteria.items() if name in measured.names}
        if not criteria:
            reason = "features or vocabulary differ, and the gate asks for no figure of sounds"
            return Judged(Decision(Outcome.NOT_COMPARABLE, reason), measured.way, champion, candidate)
    return Judged(decide(pairs, criteria, params.gate, params.seed), measured.way, champion, candidate, pairs)


def _require_locked(*paths: str) -> None:
    root = lineage.code_root()
    for path in paths:
        locked, found = locked_md5(root, path), lineage.path_md5(root / path, root)
        if locked is None or locked != found:
            raise InputError(
                f"{path} is {found or 'missing'}, and dvc.lock has {locked or 'nothing'}: dvc repro, or dvc checkout"
            )


def _tags(judged: Judged) -> dict[str, str]:
    decision = judged.decision
    return {OUTCOME: decision.outcome.words, AGAINST: judged.champion.number, REASON: decision.reason[:5000]}


def _run_alone(model: str, base: str, into: Path) -> int:
    """A process a model: TensorFlow gets its threads once."""
    command = [sys.executable, "-m", "pipeline.gate", "--model", model, "--base", base, "--into", str(into)]
    code = subprocess.run(command, check=False).returncode
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    stage.run(main)
