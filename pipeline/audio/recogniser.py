"""What a speech recogniser hears: pocketsphinx, or a Whisper model of faster-whisper."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from pipeline.audio.files import resample
from pipeline.errors import InputError

NONE, POCKETSPHINX = "none", "pocketsphinx"
SAMPLE_RATE = 16000
LARGEST = 32767
Recogniser = Callable[[np.ndarray], str]


def open_recogniser(name: str, language: str, sample_rate: int) -> Recogniser | None:
    """A function from a waveform, float [samples] at `sample_rate`, to the words heard in it; None for "none".

    Equal waveforms give equal words.

    Args:
        name: "none", "pocketsphinx" (its wheel holds a model of US English), or a folder with a Whisper model.
        language: Of the speech ("en").
        sample_rate: In Hz.

    Raises:
        InputError: There is no such recogniser here, or it does not know the language.
    """
    if name == NONE:
        return None
    hear = _pocketsphinx(language) if name == POCKETSPHINX else _whisper(Path(name), language)
    return lambda waveform: hear(resample(np.asarray(waveform, np.float32), sample_rate, SAMPLE_RATE))


def _pocketsphinx(language: str) -> Recogniser:
    if language != "en":
        raise InputError(
            f"recogniser is {POCKETSPHINX}, which hears English, and text.language is {language!r}: "
            f"set it to the folder of a Whisper model, or to {NONE}"
        )
    from pocketsphinx import Decoder

    decoder = Decoder(samprate=SAMPLE_RATE, loglevel="FATAL")

    def hear(waveform: np.ndarray) -> str:
        decoder.reinit_feat()  # the level of what was heard before would count
        decoder.start_utt()
        decoder.process_raw((np.clip(waveform, -1.0, 1.0) * LARGEST).astype("<i2").tobytes(), full_utt=True)
        decoder.end_utt()
        hypothesis = decoder.hyp()
        return hypothesis.hypstr if hypothesis else ""

    return hear


def _whisper(folder: Path, language: str) -> Recogniser:
    if not (folder / "model.bin").exists():
        raise InputError(
            f"recogniser is {str(folder)!r}, which is neither {NONE} nor {POCKETSPHINX} nor a folder with a Whisper "
            "model of faster-whisper (model.bin is missing)"
        )
    try:
        from faster_whisper import WhisperModel
    except ImportError as error:
        raise InputError(
            f"recogniser is {str(folder)!r}, and faster-whisper is not installed: "
            ".venv/bin/python -m pip install faster-whisper"
        ) from error
    model = WhisperModel(str(folder), device="cpu", compute_type="int8", local_files_only=True)

    def hear(waveform: np.ndarray) -> str:
        segments, _ = model.transcribe(waveform, language=language, temperature=0.0, condition_on_previous_text=False)
        return " ".join(segment.text.strip() for segment in segments)

    return hear
