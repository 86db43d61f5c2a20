"""Stage evaluate_tacotron: trained model + test split -> figures, per utterance and in all, and pictures."""

from pathlib import Path
from typing import Any

import pandas as pd

from pipeline import stage, tracking
from pipeline.outputs import new_folder, write_json
from pipeline.params import load_params
from pipeline.pictures import draw_alignment, draw_frames
from pipeline.shards import MelSplit, open_mels
from pipeline.tacotron.evaluation import Evaluated, evaluate, summary
from pipeline.tacotron.features import check_split
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
    figures = summary(utterances, model.about.objective)
    with tracking.join_run(run, STAGE, params) as tracked, new_folder(evaluated) as folder:
        rows = pd.DataFrame([utterance.figures for utterance in utterances])
        rows.to_csv(folder / "per_utterance.csv", index=False, lineterminator="\n")
        entries = [draw(folder, model, test, utterance) for utterance in utterances[: section.picture_count]]
        write_json(folder / "samples.json", entries)
        tracked.log_output(folder)
        tracked.log_metrics(figures)
    write_json(metrics, figures)


def draw(folder: Path, model: Trained, test: MelSplit, utterance: Evaluated) -> dict[str, Any]:
    """Draws an utterance's frames and attention, and gives its entry of samples.json."""
    audio, source = model.about.audio, test[utterance.place]
    seconds_per_frame = audio.hop_length / audio.sample_rate
    pictures = {kind: f"{source.id}-{kind}.png" for kind in ("frames", "attention_teacher_forced", "attention_free")}
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
