"""Both models' figures on the candidate's test split: the champion's are measured now, by the candidate's code."""

import contextlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import soundfile

from pipeline.audio.files import resample, to_mono
from pipeline.audio.mel import log_mel
from pipeline.audio.recogniser import Recogniser, open_recogniser
from pipeline.errors import InputError
from pipeline.params import StageParams, load_params
from pipeline.promotion.pairs import ID, WEIGHT
from pipeline.shards import MelSplit, open_codes, open_mels
from pipeline.tacotron.distortion import mel_cepstral_distortion
from pipeline.tacotron.intelligibility import count_errors, has_words
from pipeline.text.vocabulary import FILE as VOCABULARY_FILE
from pipeline.text.vocabulary import Vocabulary
from pipeline.training.device import set_up_device

DISTORTION = "free_mel_cepstral_distortion_db"
RATES = {"free_word_error_rate": ("free_word_errors", "words")}
RATES |= {"free_character_error_rate": ("free_character_errors", "characters")}
ON_SOUND = (DISTORTION, *RATES)
UNREADABLE = (InputError, TypeError, KeyError, ValueError)


class NotComparableError(Exception):
    """No figure means the same for both models; the message says why."""


class Measured(NamedTuple):
    """Both models' figures: a row an utterance with its id, its weight and each figure.

    Attributes:
        champion, candidate: The tables.
        names: The figures that may be compared.
        way: In words, how they were measured.
    """

    champion: pd.DataFrame
    candidate: pd.DataFrame
    names: frozenset[str]
    way: str


def measure_tacotron(champion: Path, version: str, data: Path) -> Measured:
    """Frames beside frames where both models draw the same kind of frames from the same symbols, else sound beside sound.

    Args:
        champion: The champion's trained model.
        version: Its address in the registry ("models:/reprise-tacotron/3"); its own code speaks where sounds are compared.
        data: The candidate's outputs.

    Raises:
        NotComparableError: There is no utterance that both can say.
    """
    from pipeline.evaluate_tacotron import hear, rows_of
    from pipeline.tacotron.evaluation import evaluate
    from pipeline.tacotron.trained import read_trained

    stage_params = load_params("evaluate_tacotron")
    section = stage_params.evaluate_tacotron
    set_up_device(section.threads)
    test = open_mels(data / "mels").split("test")
    candidate = read_trained(data / "train_tacotron")
    model = None
    with contextlib.suppress(*UNREADABLE):
        model = read_trained(champion)
    if model is None or model.about.audio != candidate.about.audio or model.vocabulary.difference(candidate.vocabulary):
        return _measure_sounds(champion, version, candidate, test, stage_params)
    utterances = evaluate(model, test, section, stage_params.seed)
    heard = hear(model, test, utterances, section, stage_params.seed)
    own = pd.read_csv(data / "evaluate_tacotron/per_utterance.csv")
    tables = [_with_rates(table) for table in (rows_of(utterances, heard), own)]
    names = frozenset(tables[0].columns) & frozenset(tables[1].columns)
    return Measured(*tables, names, "frames, from the same symbols")


def measure_wayback(champion: Path, data: Path) -> Measured:
    """Symbols beside symbols; pieces of a recording count as one utterance, weighted by their symbols.

    Raises:
        NotComparableError: The symbols mean something else to the champion, or the candidate's code cannot read it.
    """
    from pipeline.wayback.evaluation import Dump, evaluate
    from pipeline.wayback.trained import read_trained

    section = load_params("evaluate_wayback").evaluate_wayback
    set_up_device(section.threads)
    sequences = open_codes(data / "codes")
    try:
        model, codec = read_trained(champion)
        codec.require_same(sequences, str(data / "codes"))
    except UNREADABLE as error:
        raise NotComparableError(f"no figure means the same for both: {error}") from error
    rows = evaluate(model, sequences.split("test"), section.batch_size, Dump(data, 0))
    own = pd.read_csv(data / "evaluate_wayback/per_utterance.csv")
    return Measured(by_recording(rows), by_recording(own), frozenset(("loss", "bits_per_symbol", "error")), "symbols")


def by_recording(sequences: pd.DataFrame) -> pd.DataFrame:
    """Figures of whole recordings out of those of their pieces ("id#0001"), each weighted by its symbols."""
    figures = [name for name in sequences.columns if name not in (ID, "symbols")]
    sums = sequences[figures].mul(sequences["symbols"], axis=0)
    sums[WEIGHT] = sequences["symbols"]
    grouped = sums.groupby(sequences[ID].astype(str).str.replace(r"#\d{4,}$", "", regex=True), sort=False).sum()
    return grouped[figures].div(grouped[WEIGHT], axis=0).assign(**{WEIGHT: grouped[WEIGHT]}).reset_index()


def _with_rates(table: pd.DataFrame) -> pd.DataFrame:
    """With word and character error rates where errors were counted; every utterance weighs the same."""
    rates = {name: table[errors] / table[of] for name, (errors, of) in RATES.items() if errors in table and of in table}
    numbers = table.select_dtypes(("number", "bool"))
    return numbers.assign(**rates, **{ID: table[ID].astype(str), WEIGHT: 1.0})


def _measure_sounds(
    champion: Path, version: str, candidate: Any, test: MelSplit, stage_params: StageParams
) -> Measured:
    from pipeline.tacotron.voice import speak
    from pipeline.tracking.registry import predict

    speakable = _speakable(champion, test)
    texts = [test[place].text for place in speakable]
    try:
        theirs = predict(version, [{"text": text} for text in texts], {}) if texts else []
    except InputError as error:
        raise NotComparableError(f"the champion cannot say the test sentences: {error}") from error
    if not texts:
        raise NotComparableError("the champion's vocabulary lacks symbols of every test sentence")
    section, audio = stage_params.evaluate_tacotron, candidate.about.audio
    language = candidate.vocabulary.settings.language
    recogniser = open_recogniser(section.recogniser, language, audio.sample_rate)
    speech = load_params("synthesize_tacotron").synthesize_tacotron
    sounds = {
        "champion": (_sound(row["audio"], audio.sample_rate) for row in theirs),
        "candidate": (speak(candidate, text, speech, stage_params.seed).sound for text in texts),
    }
    tables = {
        of: pd.DataFrame(
            [
                {ID: test[place].id, WEIGHT: 1.0, **_figures_of_sound(sound, test, place, audio, recogniser, language)}
                for place, sound in zip(speakable, each, strict=True)
            ]
        )
        for of, each in sounds.items()
    }
    return Measured(**tables, names=frozenset(tables["candidate"].columns) & frozenset(ON_SOUND), way="sounds")


def _speakable(champion: Path, test: MelSplit) -> list[int]:
    """The utterances whose text the champion has all symbols for; all, where its vocabulary cannot be read here."""
    places = list(range(len(test)))
    try:
        vocabulary = Vocabulary.load(champion / VOCABULARY_FILE)
    except UNREADABLE:
        return places
    return [place for place in places if not vocabulary.unknown_symbols(test[place].text)]


def _sound(wav: bytes, sample_rate: int) -> np.ndarray:
    samples, rate = soundfile.read(io.BytesIO(wav), dtype="float32", always_2d=True)
    return resample(to_mono(samples), rate, sample_rate)


def _figures_of_sound(
    sound: np.ndarray, test: MelSplit, place: int, audio: Any, recogniser: Recogniser | None, language: str
) -> Mapping[str, float]:
    source = test[place]
    figures = {DISTORTION: mel_cepstral_distortion(log_mel(sound, audio), source.frames)}
    if recogniser is not None and has_words(source.text, language):
        errors = count_errors(source.text, recogniser(sound), language)
        figures["free_word_error_rate"] = errors.word_errors / errors.words
        figures["free_character_error_rate"] = errors.character_errors / errors.characters
    return figures
