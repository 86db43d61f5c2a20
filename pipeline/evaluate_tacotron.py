"""Stage evaluate_tacotron: trained model + test split -> figures, per utterance and in all, and pictures."""

from pathlib import Path
from typing import Any

import pandas as pd

from pipeline import stage, tracking
from pipeline.audio.recogniser import open_recogniser
from pipeline.outputs import new_folder, write_json
from pipeline.params import load_params
from pipeline.pictures import draw_alignment, draw_frames
from pipeline.sections.evaluate_tacotron import EvaluateTacotron
from pipeline.shards import MelSplit, open_mels
from pipeline.tacotron.evaluation import Evaluated, evaluate, summary
from pipeline.tacotron.features import check_split
from pipeline.tacotron.intelligibility import NOTHING
from pipeline.tacotron.listening import HEARD, Listener, heard_summary, listen
from pipeline.tacotron.trained import Trained, read_trained
from pipeline.text import Vocabulary
from pipeline.text.vocabulary import FILE as VOCABULARY_FILE
from pipeline.training.device import set_up_device

STAGE = "evaluate_tacotron"


def main(mels: Path, vocabulary: Path, trained: Path, run: Path, evaluated: Path, metrics: Path) -> None:
    """Measures the trained model on the test split."""
    params = load_params(STAGE)
    section = params.evaluate_tacotron
    set_up_device(section.threads)
    model = read_trained(trained)
    model.vocabulary.require_same(Vocabulary.load(vocabulary / VOCABULARY_FILE), str(vocabulary))
    test = open_mels(mels).split("test")
    check_split(test, "test")

    utterances = evaluate(model, test, section, params.seed)
    heard = hear(model, test, utterances, section, params.seed)
    figures = summary(utterances, model.about.objective) | heard_summary(heard)
    with tracking.join_run(run, STAGE, params) as tracked, new_folder(evaluated) as folder:
        rows_of(utterances, heard).to_csv(folder / "per_utterance.csv", index=False, lineterminator="\n")
        drawn = list(zip(utterances, heard, strict=True))[: section.picture_count]
        entries = [draw(folder, model, test, utterance) | heard_text(row) for utterance, row in drawn]
        write_json(folder / "samples.json", entries)
        tracked.log_output(folder)
        tracked.log_metrics(figures)
    write_json(metrics, figures)


def hear(
    model: Trained, test: MelSplit, utterances: list[Evaluated], section: EvaluateTacotron, seed: int
) -> list[dict[str, Any]]:
    """What the configured recogniser hears of each utterance; nothing where none is."""
    language, audio = model.vocabulary.settings.language, model.about.audio
    recogniser = open_recogniser(section.recogniser, language, audio.sample_rate)
    if recogniser is None:
        return [{} for _ in utterances]
    return list(listen(utterances, test, Listener(recogniser, audio, section, seed), language))


def rows_of(utterances: list[Evaluated], heard: list[dict[str, Any]]) -> pd.DataFrame:
    """The rows of per_utterance.csv."""
    return pd.DataFrame([utterance.figures | row for utterance, row in zip(utterances, heard, strict=True)])


def heard_text(row: dict[str, Any]) -> dict[str, str]:
    """What was heard, for a sample's card."""
    return {f"{name}_heard": row[f"{name}_heard"] or NOTHING for name in HEARD if f"{name}_heard" in row}


def draw(folder: Path, model: Trained, test: MelSplit, utterance: Evaluated) -> dict[str, Any]:
    """Draws an utterance's frames and attention, and gives its entry of samples.json."""
    audio, source = model.about.audio, test[utterance.place]
    seconds_per_frame = audio.hop_length / audio.sample_rate
    name = f"utterance-{utterance.place:03d}"  # ids may hold slashes
    pictures = {kind: f"{name}-{kind}.png" for kind in ("frames", "attention_teacher_forced", "attention_free")}
    panels = {
        "recording": source.frames,
        "teacher-forced": utterance.followed.frames,
        "free running": utterance.free.frames,
    }
    draw_frames(folder / pictures["frames"], panels, seconds_per_frame, audio.fmin, audio.fmax)
    symbols = model.vocabulary.decode(source.symbol_ids)
    step = seconds_per_frame * model.about.settings.reduction_factor
    for kind, given in (("teacher_forced", utterance.followed), ("free", utterance.free)):
        draw_alignment(folder / pictures[f"attention_{kind}"], given.alignment, source.text, symbols, step)
    return {"id": source.id, "text": source.text, "stopped": utterance.stopped, **pictures}


if __name__ == "__main__":
    stage.run(main)
