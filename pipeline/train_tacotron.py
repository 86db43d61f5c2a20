"""Stage train_tacotron: log-mel frames and symbols -> one trained model and its history."""

from pathlib import Path

from pipeline import stage, tracking
from pipeline.audio.mel import MelSettings
from pipeline.errors import InputError
from pipeline.outputs import new_folder
from pipeline.params import load_params
from pipeline.shards import open_mels
from pipeline.tacotron.features import check_features, check_split, scale_of
from pipeline.tacotron.learner import TacotronLearner, objective_of
from pipeline.tacotron.trained import About, build, settings_from, write_trained
from pipeline.text import Vocabulary
from pipeline.text.vocabulary import FILE as VOCABULARY_FILE
from pipeline.training.device import set_up_device
from pipeline.training.fit import fit
from pipeline.training.initial import is_random_start, start_from
from pipeline.training.state import open_state
from pipeline.training.summary import write_history

STAGE = "train_tacotron"


def main(mels: Path, vocabulary: Path, initial: Path, trained: Path, run: Path) -> None:
    """Trains Tacotron 2 on the training split of `mels`."""
    params = load_params(STAGE)
    set_up_device(params.train_tacotron.threads)

    features = open_mels(mels)
    symbols = Vocabulary.load(vocabulary / VOCABULARY_FILE)
    check_features(features.manifest, symbols, params.audio, params.mels)
    train, validation = features.split("train"), features.split("validation")
    check_split(train, "train")
    check_split(validation, "validation")

    audio, scale = MelSettings.from_section(params.audio), scale_of(features.manifest)
    settings = settings_from(params.train_tacotron, symbols.size, audio.n_mels)
    objective = objective_of(params.train_tacotron)
    model, variables = build(settings, params.seed)
    _check_vocabulary(initial, symbols)
    start_from(initial, variables.trained | variables.statistics)
    learner = TacotronLearner(model, variables, train, validation, scale, params.train_tacotron, params.seed)
    with open_state(STAGE) as state, tracking.training_run(STAGE, params, state) as tracked:
        fitted = fit(learner, params.train_tacotron, tracked, state)
        about = About(settings, audio, scale, objective, int(train.symbol_counts.max()), int(train.frame_counts.max()))
        with new_folder(trained) as folder:
            write_trained(folder, variables, about, vocabulary / VOCABULARY_FILE)
            write_history(folder / "history.csv", fitted.history)
        tracked.log_model(trained, fitted.published_step)
        tracked.write_id(run)


def _check_vocabulary(initial: Path, symbols: Vocabulary) -> None:
    if is_random_start(initial):
        return
    difference = symbols.difference(Vocabulary.load(initial / VOCABULARY_FILE))
    if difference:
        raise InputError(
            f"initialize_from: {initial} was trained with another vocabulary than data/vocabulary: {difference}"
        )


if __name__ == "__main__":
    stage.run(main)
