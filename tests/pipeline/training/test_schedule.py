"""The learning rate's rule, by hand."""

import pytest

from pipeline.training.schedule import Plateau, learning_rate


@pytest.mark.parametrize(
    ("step", "decays", "expected"),
    [
        (0, 0, 0.05 / 3),
        (2, 0, 0.05),
        (10, 0, 0.05),
        (20, 0, 0.025),
        (30, 0, 0.0125),
        (10, 2, 0.0125),
        (20, 1, 0.0125),
    ],
)
def test_the_rate_is_the_product_of_warm_up_half_life_and_decays(training, step, decays, expected):
    assert learning_rate(training, step, decays) == pytest.approx(expected, rel=1e-12)


def test_a_better_loss_restarts_the_wait_and_patience_is_exceeded_before_a_decay():
    plateau = Plateau()
    decays = []
    for step, loss in [(10, 3.0), (20, 2.0), (30, 2.0), (40, 2.5), (50, 2.1), (60, 2.2), (70, 1.0), (80, 1.5)]:
        plateau = plateau.after_validation(loss, step, decay_patience=20)
        decays.append(plateau.decay_count)
    assert decays == [0, 0, 0, 0, 1, 1, 1, 1]
    assert (plateau.best_loss, plateau.best_step) == (1.0, 70)


def test_without_patience_nothing_decays():
    plateau = Plateau(best_loss=1.0)
    assert plateau.after_validation(2.0, 10_000, decay_patience=None) == plateau
