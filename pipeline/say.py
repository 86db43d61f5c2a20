"""Command: a text -> a sound, by the newest trained model."""

from pathlib import Path

from pipeline import stage
from pipeline.audio.files import write_wav
from pipeline.params import load_params
from pipeline.synthesize_tacotron import STAGE, manner_of
from pipeline.tacotron.sounds import sound_of
from pipeline.tacotron.speaking import say
from pipeline.tacotron.trained import read_trained
from pipeline.training.device import set_up_device


def main(text: str, out: Path, trained: Path = Path("data/train_tacotron")) -> None:
    """Says a text as stage synthesize_tacotron would, and writes the sound."""
    params = load_params(STAGE)
    section = params.synthesize_tacotron
    set_up_device(section.threads)
    speaker = read_trained(trained)
    pieces = say(speaker, text, manner_of(section, params.seed))
    audio = speaker.about.audio
    sound = sound_of(pieces, audio, section.griffin_lim_iterations, section.griffin_lim_power, params.seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_wav(out, sound, audio.sample_rate)
    ending = "stopped by itself" if all(piece.stopped for piece in pieces) else "hit the cap"
    print(f"{out}: {len(sound) / audio.sample_rate:.2f} s, {ending}")


if __name__ == "__main__":
    stage.run(main)
