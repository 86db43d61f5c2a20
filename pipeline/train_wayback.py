"""Stage train_wayback: categorical sequences -> one trained model of what comes next, and its history."""

import sys
from pathlib import Path

from pipeline import stage, tracking
from pipeline.errors import InputError
from pipeline.outputs import new_folder
from pipeline.params import load_params
from pipeline.shards import CodeSplit, open_codes
from pipeline.training.device import set_up_device
from pipeline.training.fit import fit
from pipeline.training.initial import start_from
from pipeline.training.state import open_state
from pipeline.training.summary import write_history
from pipeline.wayback.learner import WaybackLearner
from pipeline.wayback.trained import build, codec_of, settings_from, write_trained
from pipeline.wayback.walking import counted_share, usable

STAGE = "train_wayback"


def main(codes: Path, initial: Path, trained: Path, run: Path) -> None:
    """Trains Wayback on the training split of `codes`."""
    params = load_params(STAGE)
    set_up_device(params.train_wayback.threads)

    sequences = open_codes(codes)
    codec = codec_of(sequences)
    train, validation = sequences.split("train"), sequences.split("validation")

    model = build(settings_from(params.train_wayback, codec.categories), params.seed)
    start_from(initial, model.variables)
    learner = WaybackLearner(model, train, validation, params.train_wayback, params.seed)
    _tell(train, learner, params.train_wayback.max_examples)
    with open_state(STAGE) as state, tracking.training_run(STAGE, params, state) as tracked:
        fitted = fit(learner, params.train_wayback, tracked, state)
        with new_folder(trained) as folder:
            write_trained(folder, model, codec)
            write_history(folder / "history.csv", fitted.history)
        tracked.log_model(trained, fitted.published_step)
        tracked.write_id(run)


def _tell(train: CodeSplit, learner: WaybackLearner, max_examples: int | None) -> None:
    places = usable(train, max_examples)
    if not len(places):
        raise InputError("no training sequence has two symbols or more: see codes.min_length")
    share = counted_share(train, places, learner.segments)
    steps = learner.segments.step_count
    counted = steps - learner.segments.first_counted
    print(
        f"{len(places)} of {len(train)} sequences; segments of {steps} steps, of which the last {counted} count in the loss; "
        f"{share:.1%} of the symbols count in some epoch",
        file=sys.stderr,
    )


if __name__ == "__main__":
    stage.run(main)
