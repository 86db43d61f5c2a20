"""Command: a text -> a sound, by the newest trained model or one from the registry."""

from pathlib import Path
from typing import Any

import soundfile

from pipeline import stage
from pipeline.audio.files import write_wav
from pipeline.outputs import new_file
from pipeline.params import load_params

STAGE = "synthesize_tacotron"
NEWEST = ""


def main(
    text: str, out: Path, model: str = NEWEST, server: str = "", trained: Path = Path("data/train_tacotron")
) -> None:
    """Says a text as stage synthesize_tacotron would, and writes the sound.

    `model` is like "models:/name@alias", `server` the address of `make serve`.
    """
    if server or model:
        row = asked(text, model, server)
        with new_file(out) as partial:
            partial.write_bytes(row["audio"])
        told(out, soundfile.info(out).duration, row["stopped"])
        return
    from pipeline.tacotron.trained import read_trained
    from pipeline.tacotron.voice import speak
    from pipeline.training.device import set_up_device

    params = load_params(STAGE)
    set_up_device(params.synthesize_tacotron.threads)
    spoken = speak(read_trained(trained), text, params.synthesize_tacotron, params.seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_wav(out, spoken.sound, spoken.sample_rate)
    told(out, len(spoken.sound) / spoken.sample_rate, spoken.stopped)


def asked(text: str, model: str, server: str) -> dict[str, Any]:
    """What a served or registered model makes of the text."""
    if server:
        from pipeline.server import ask

        return ask(server, [{"text": text}])[0]
    from pipeline.tracking.registry import predict

    return predict(model, [{"text": text}], {})[0]


def told(out: Path, seconds: float, stopped: bool) -> None:
    """Says what was written."""
    print(f"{out}: {seconds:.2f} s, {'stopped by itself' if stopped else 'hit the cap'}")


if __name__ == "__main__":
    stage.run(main)
