"""Stage synthesize_tacotron: sentences -> their sounds, frames and attention."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline import stage, tracking
from pipeline.audio.files import write_wav
from pipeline.audio.recogniser import Recogniser, open_recogniser
from pipeline.outputs import new_folder, write_json
from pipeline.params import load_params
from pipeline.pictures import draw_alignment, draw_frames
from pipeline.progress import progress
from pipeline.tacotron.alignment import mean_scores
from pipeline.tacotron.intelligibility import NOTHING, count_errors, has_words
from pipeline.tacotron.trained import About, read_trained
from pipeline.tacotron.voice import Spoken, speak
from pipeline.text import Vocabulary
from pipeline.text.vocabulary import FILE as VOCABULARY_FILE
from pipeline.training.device import set_up_device

STAGE = "synthesize_tacotron"
ATTRIBUTION = "ATTRIBUTION.md"


def main(corpus: Path, vocabulary: Path, trained: Path, run: Path, samples: Path) -> None:
    """Says every sentence of the parameters."""
    params = load_params(STAGE)
    section = params.synthesize_tacotron
    set_up_device(section.threads)
    speaker = read_trained(trained)
    speaker.vocabulary.require_same(Vocabulary.load(vocabulary / VOCABULARY_FILE), str(vocabulary))
    language = speaker.vocabulary.settings.language
    recogniser = open_recogniser(section.recogniser, language, speaker.about.audio.sample_rate)
    with tracking.join_run(run, STAGE, params) as tracked, new_folder(samples) as folder:
        entries = []
        for number, sentence in enumerate(progress(section.sentences, "speaking", len(section.sentences), "sentences")):
            spoken = speak(speaker, sentence, section, params.seed)
            entry = write_sample(folder, f"sample-{number:02d}", sentence, spoken, speaker.about)
            entries.append(entry | understood(recogniser, spoken.sound, sentence, language))
        write_json(folder / "samples.json", entries)
        if (corpus / ATTRIBUTION).exists():
            shutil.copyfile(corpus / ATTRIBUTION, folder / ATTRIBUTION)
        tracked.log_output(folder)
        tracked.log_metrics(figures_of(entries))


def write_sample(folder: Path, name: str, text: str, spoken: Spoken, about: About) -> dict[str, Any]:
    """Writes a sentence's sound and pictures, and gives its entry of samples.json."""
    audio, pieces = about.audio, spoken.pieces
    write_wav(folder / f"{name}.wav", spoken.sound, audio.sample_rate)
    seconds_per_frame = audio.hop_length / audio.sample_rate
    frames, alignments = [], []
    for number, piece in enumerate(pieces):
        suffix = f"-{number}" if len(pieces) > 1 else ""
        frames.append(f"{name}-frames{suffix}.png")
        alignments.append(f"{name}-attention{suffix}.png")
        draw_frames(folder / frames[-1], {piece.text: piece.frames}, seconds_per_frame, audio.fmin, audio.fmax)
        step = seconds_per_frame * about.settings.reduction_factor
        draw_alignment(folder / alignments[-1], piece.alignment, piece.text, piece.symbols, step)
    return {
        "id": name,
        "text": text,
        "normalised": " ".join(piece.normalised for piece in pieces),
        "stopped": spoken.stopped,
        "seconds": round(len(spoken.sound) / audio.sample_rate, 3),
        "pieces": len(pieces),
        **{f"attention_{key}": value for key, value in mean_scores([piece.alignment for piece in pieces]).items()},
        "sound": f"{name}.wav",
        "frames": frames,
        "attention": alignments,
    }


def understood(recogniser: Recogniser | None, sound: np.ndarray, text: str, language: str) -> dict[str, Any]:
    """What a recogniser hears in the sound of a text, and the errors in it, for the entry of samples.json."""
    if recogniser is None or not has_words(text, language):
        return {}
    heard = recogniser(sound)
    errors = count_errors(text, heard, language)
    return {"heard": heard or NOTHING, "words": errors.words, "word_errors": errors.word_errors}


def figures_of(entries: Sequence[dict[str, Any]]) -> dict[str, float]:
    """How many sentences stopped, and how much of all words was misheard."""
    figures = {"synthesized_stop_rate": sum(entry["stopped"] for entry in entries) / len(entries)}
    rated = [entry for entry in entries if "heard" in entry]
    if rated:
        errors, words = (sum(entry[name] for entry in rated) for name in ("word_errors", "words"))
        figures["synthesized_word_error_rate"] = errors / words
    return figures


if __name__ == "__main__":
    stage.run(main)
