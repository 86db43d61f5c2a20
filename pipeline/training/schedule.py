"""The learning rate: a function of the step and of what validation has shown, never of the clock."""

from typing import NamedTuple

from pipeline.sections.training import Training


class Plateau(NamedTuple):
    """What validation has shown so far.

    Attributes:
        best_loss: Lowest validation loss, None before the first.
        best_step: Steps done when it was seen.
        waiting_since: Step of the last improvement or decay.
        decay_count: How often the learning rate was multiplied by `decay_rate`.
    """

    best_loss: float | None = None
    best_step: int = 0
    waiting_since: int = 0
    decay_count: int = 0

    def after_validation(self, loss: float, step: int, decay_patience: int | None) -> "Plateau":
        """A better loss is remembered; none for more than `decay_patience` steps decays once and restarts the wait."""
        if self.best_loss is None or loss < self.best_loss:
            return self._replace(best_loss=loss, best_step=step, waiting_since=step)
        if decay_patience is not None and step - self.waiting_since > decay_patience:
            return self._replace(waiting_since=step, decay_count=self.decay_count + 1)
        return self


def learning_rate(training: Training, step: int, decay_count: int) -> float:
    """The rate of the update after `step` finished ones.

    `initial_learning_rate`, times a linear warm-up over `warmup_step_count` steps, times 1/2 each `decay_half_life`
    steps after `decay_start_step`, times `decay_rate` for each decay on a plateau.
    """
    rate = training.initial_learning_rate * training.decay_rate**decay_count
    if step < training.warmup_step_count:
        rate *= (step + 1) / training.warmup_step_count
    if training.decay_half_life is not None and step > training.decay_start_step:
        rate *= 0.5 ** ((step - training.decay_start_step) / training.decay_half_life)
    return rate
