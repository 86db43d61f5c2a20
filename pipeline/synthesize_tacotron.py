"""Stage synthesize_tacotron: sentences -> their sounds, frames and attention."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline import stage, tracking
from pipeline.audio.files import write_wav
from pipeline.outputs import new_folder, write_json
from pipeline.params import load_params
from pipeline.pictures import draw_alignment, draw_frames
from pipeline.progress import progress
from pipeline.sections.synthesize_tacotron import SynthesizeTacotron
from pipeline.tacotron.alignment import mean_scores
from pipeline.tacotron.sounds import sound_of
from pipeline.tacotron.speaking import Manner, Said, say
from pipeline.tacotron.trained import About, read_trained
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
    manner = manner_of(section, params.seed)
    with tracking.join_run(run, STAGE, params) as tracked, new_folder(samples) as folder:
        entries = []
        for number, sentence in enumerate(progress(section.sentences, "speaking", len(section.sentences), "sentences")):
            pieces = say(speaker, sentence, manner)
            entries.append(
                write_sample(folder, f"sample-{number:02d}", sentence, pieces, speaker.about, section, params.seed)
            )
        write_json(folder / "samples.json", entries)
        if (corpus / ATTRIBUTION).exists():
            shutil.copyfile(corpus / ATTRIBUTION, folder / ATTRIBUTION)
        tracked.log_output(folder)
        tracked.log_metrics({"synthesized_stop_rate": sum(entry["stopped"] for entry in entries) / len(entries)})


def manner_of(section: SynthesizeTacotron, seed: int) -> Manner:
    """How the section says to speak."""
    return Manner(section.prenet_dropout, section.stop_threshold, section.max_seconds, section.long_text, seed)


def write_sample(
    folder: Path,
    name: str,
    text: str,
    pieces: Sequence[Said],
    about: About,
    section: SynthesizeTacotron,
    seed: int,
) -> dict[str, Any]:
    """Writes a sentence's sound and pictures, and gives its entry of samples.json."""
    audio = about.audio
    sound = sound_of(pieces, audio, section.griffin_lim_iterations, section.griffin_lim_power, seed)
    write_wav(folder / f"{name}.wav", sound, audio.sample_rate)
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
        "stopped": all(piece.stopped for piece in pieces),
        "seconds": round(len(sound) / audio.sample_rate, 3),
        "pieces": len(pieces),
        **{f"attention_{key}": value for key, value in mean_scores([piece.alignment for piece in pieces]).items()},
        "sound": f"{name}.wav",
        "frames": frames,
        "attention": alignments,
    }


if __name__ == "__main__":
    stage.run(main)
