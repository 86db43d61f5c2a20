"""What becomes of a candidate, and why."""

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipeline.promotion.pairs import WEIGHT, Interval, bootstrap, gains
from pipeline.sections.gate import Criterion, Gate

OF = ("champion", "candidate")


class Outcome(Enum):
    """How a candidate stands beside the champion; the value is the exit code of `pipeline.gate`, larger is graver.

    Exit code 1 is an error, and 2 a wrong command line.
    """

    BETTER = 0
    CHAMPION_ALREADY = 3
    NO_CHAMPION = 4
    NOT_SURELY_BETTER = 5
    TOO_FEW_UTTERANCES = 6
    NOT_COMPARABLE = 7
    TAKEN_BACK = 8
    WORSE = 9
    FAULTY_FIGURE = 10

    @property
    def words(self) -> str:
        """For readers: "not surely better"."""
        return self.name.lower().replace("_", " ")


class Verdict(NamedTuple):
    """A figure of both models.

    Attributes:
        name: Of the figure.
        criterion: What is demanded of it.
        champion, candidate: Weighted means over the pairs.
        interval: Of the gain; None where only whole figures are known.
    """

    name: str
    criterion: Criterion
    champion: float
    candidate: float
    interval: Interval | None

    @property
    def gain(self) -> float:
        """By how much the candidate is better."""
        difference = self.champion - self.candidate
        return difference if self.criterion.better == "lower" else -difference

    @property
    def is_surely_better(self) -> bool:
        """Whether the whole interval is a gain; of a whole figure, whether it gains more than the tolerance."""
        return self.interval.low > 0.0 if self.interval else self.gain > self.criterion.tolerance

    @property
    def is_surely_worse(self) -> bool:
        """Whether the whole interval is a loss beyond the tolerance."""
        return (self.interval.high if self.interval else self.gain) < -self.criterion.tolerance

    @property
    def may_be_worse(self) -> bool:
        """Whether a loss beyond the tolerance cannot be excluded."""
        return (self.interval.low if self.interval else self.gain) < -self.criterion.tolerance

    @property
    def words(self) -> str:
        """For readers."""
        if self.is_surely_worse:
            return "worse"
        if self.may_be_worse:
            return "may be worse"
        return "better" if self.is_surely_better else "as good"


class Decision(NamedTuple):
    """What becomes of a candidate.

    Attributes:
        outcome: How it stands.
        reason: In a sentence.
        verdicts: Of the figures compared.
        utterances: Number of pairs.
    """

    outcome: Outcome
    reason: str
    verdicts: tuple[Verdict, ...] = ()
    utterances: int = 0


def decide(pairs: pd.DataFrame, criteria: Mapping[str, Criterion], gate: Gate, seed: int) -> Decision:
    """Weighs the pairs; ties keep the champion.

    Args:
        pairs: As `pipeline.promotion.pairs.pair` gives them.
        criteria: By name of a figure; each must be among the pairs.
        gate: How many pairs are needed, how sure one must be.
        seed: Of the bootstrap.
    """
    if len(pairs) < gate.min_utterances:
        few = f"{len(pairs)} utterances can be compared, and gate.min_utterances is {gate.min_utterances}"
        return Decision(Outcome.TOO_FEW_UTTERANCES, few, utterances=len(pairs))
    faulty = [fault for name in criteria if (fault := _fault(pairs, name, gate.min_utterances))]
    if faulty:
        return Decision(Outcome.FAULTY_FIGURE, "; ".join(faulty), utterances=len(pairs))
    return weigh(tuple(_verdict(pairs, name, each, gate, seed) for name, each in criteria.items()), len(pairs))


def decide_on_whole_figures(
    champion: Mapping[str, Any], candidate: Mapping[str, Any], criteria: Mapping[str, Criterion]
) -> Decision:
    """Weighs figures of whole test splits, where no more is known: a change beyond the tolerance counts."""
    missing = [name for name in criteria if not all(_is_finite(figures.get(name)) for figures in (champion, candidate))]
    if missing:
        reason = f"not a finite number in both: {', '.join(missing)}"
        return Decision(Outcome.FAULTY_FIGURE, reason)
    return weigh(tuple(Verdict(name, each, champion[name], candidate[name], None) for name, each in criteria.items()))


def weigh(verdicts: tuple[Verdict, ...], utterances: int = 0) -> Decision:
    """One figure that is surely worse forbids, one that may be worse keeps the champion, one surely better promotes."""
    named = {
        words: ", ".join(verdict.name for verdict in verdicts if verdict.words == words)
        for words in ("worse", "may be worse", "better")
    }
    if named["worse"]:
        return Decision(Outcome.WORSE, f"worse beyond its tolerance: {named['worse']}", verdicts, utterances)
    if named["may be worse"]:
        doubt = f"a loss beyond its tolerance cannot be excluded: {named['may be worse']}"
        return Decision(Outcome.NOT_SURELY_BETTER, doubt, verdicts, utterances)
    if named["better"]:
        return Decision(Outcome.BETTER, f"better: {named['better']}; nothing worse", verdicts, utterances)
    return Decision(Outcome.NOT_SURELY_BETTER, "no figure is surely better", verdicts, utterances)


def _verdict(pairs: pd.DataFrame, name: str, criterion: Criterion, gate: Gate, seed: int) -> Verdict:
    rated = pairs[_has_figure(pairs, name)]
    weights = rated[WEIGHT].to_numpy(np.float64)
    means = (float(np.average(rated[f"{of}.{name}"].astype(float), weights=weights)) for of in OF)
    values = gains(rated, name, criterion)
    return Verdict(name, criterion, *means, bootstrap(values, weights, gate.confidence, gate.resample_count, seed))


def _fault(pairs: pd.DataFrame, name: str, fewest: int) -> str:
    """What is wrong with a figure; empty where nothing is."""
    missing = [of for of in OF if f"{of}.{name}" not in pairs]
    if missing:
        return f"the {' and the '.join(missing)} has no {name}"
    rated = pairs[_has_figure(pairs, name)]
    if len(rated) < fewest:
        return f"only {len(rated)} utterances have {name}"
    for of in OF:
        wrong = rated["id"][~np.isfinite(rated[f"{of}.{name}"].astype(float))]
        if len(wrong):
            return f"{name} of the {of} is not a finite number for {', '.join(wrong[:3])}"
    return ""


def _has_figure(pairs: pd.DataFrame, name: str) -> pd.Series:
    """Which utterances one of both has the figure for: word errors need words, for example."""
    return pairs[[f"{of}.{name}" for of in OF]].notna().any(axis=1)


def _is_finite(value: Any) -> bool:
    return value is not None and math.isfinite(value)
