"""How well a trained Tacotron does on utterances that it has not seen."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from models.tacotron import loss
from models.tacotron.loss import Objective, Sums
from pipeline.progress import Progress
from pipeline.sections.evaluate_tacotron import EvaluateTacotron
from pipeline.shards import MelSplit
from pipeline.tacotron.alignment import score_alignment
from pipeline.tacotron.batches import make_batch
from pipeline.tacotron.buckets import Bucket, in_order, make_buckets
from pipeline.tacotron.distortion import mel_cepstral_distortion
from pipeline.tacotron.learner import figures_of
from pipeline.tacotron.speaking import max_steps
from pipeline.tacotron.trained import Trained

BUCKETS = 3


class Given(NamedTuple):
    """What the model gave for an utterance: natural-log mel [frames, n_mels] and alignment [steps, symbols]."""

    frames: np.ndarray
    alignment: np.ndarray


class Evaluated(NamedTuple):
    """An utterance of the test split.

    Attributes:
        place: Its place in the split.
        sums: Of the teacher-forced loss.
        followed: Teacher-forced.
        free: Free running.
        stopped: Whether free running ended by itself.
        figures: By name, in the order of the columns of per_utterance.csv.
    """

    place: int
    sums: Sums
    followed: Given
    free: Given
    stopped: bool
    figures: dict[str, Any]


def evaluate(trained: Trained, split: MelSplit, section: EvaluateTacotron, seed: int) -> list[Evaluated]:
    """Every utterance of the split, in its order."""
    objective, factor = trained.about.objective, trained.about.settings.reduction_factor
    buckets = make_buckets(
        split.frame_counts, split.symbol_counts, section.batch_size, BUCKETS, factor, objective.stop_frames
    )
    utterances = []
    with Progress("evaluating", len(split), "utterances") as counter:
        for bucket, places, count in in_order(buckets):
            utterances += list(_evaluate_batch(trained, split, section, seed, bucket, places))[:count]
            counter.advance(count)
    return sorted(utterances, key=lambda utterance: utterance.place)


def summary(utterances: list[Evaluated], objective: Objective) -> dict[str, float]:
    """Figures over all: losses are weighted by real frames, the rest are means over utterances."""
    added = Sums(*(float(sum(values)) for values in zip(*(utterance.sums for utterance in utterances), strict=True)))
    figures = {"test_loss": loss.total(added, objective, 0.0), "test_error": added.error / added.frames}
    figures |= {f"test_{name}": value for name, value in figures_of(added).items()}
    means = [name for name, value in utterances[0].figures.items() if name.startswith(("teacher_forced_", "free_"))]
    figures |= {f"test_{name}": float(np.mean([utterance.figures[name] for utterance in utterances])) for name in means}
    figures["test_stop_rate"] = float(np.mean([utterance.stopped for utterance in utterances]))
    return figures


def _evaluate_batch(
    trained: Trained, split: MelSplit, section: EvaluateTacotron, seed: int, bucket: Bucket, places: np.ndarray
) -> Iterator[Evaluated]:
    about = trained.about
    arrays = {name: tf.constant(array) for name, array in make_batch(split, about.scale, bucket, places).items()}
    noise = tf.constant([seed, 0], tf.int64)
    followed = trained.follow(**arrays, prenet_dropout=section.prenet_dropout, seed=noise)
    deviation = tf.constant(about.scale.deviation)
    counts = arrays["frame_counts"], arrays["symbol_counts"]
    sums = loss.sums(followed, arrays["frames"], *counts, deviation, about.objective)
    speech = trained.speak(
        arrays["symbol_ids"],
        arrays["symbol_counts"],
        max_steps(trained, section.max_seconds),
        section.stop_threshold,
        section.prenet_dropout,
        noise,
    )
    for row, place in enumerate(places):
        frames, symbols, spoken = (int(values[row]) for values in (*counts, speech.frame_counts))
        utterance = Evaluated(
            place=int(place),
            sums=Sums(*(float(values[row]) for values in sums)),
            followed=_given(trained, followed, row, frames, symbols),
            free=_given(trained, speech.outputs, row, spoken, symbols),
            stopped=bool(speech.stopped[row]),
            figures={},
        )
        yield utterance._replace(figures=_figures(trained, split, utterance))


def _given(trained: Trained, outputs, row: int, frames: int, symbols: int) -> Given:
    steps = -(-frames // trained.about.settings.reduction_factor)
    return Given(
        trained.about.scale.restore(outputs.refined[row, :frames].numpy()),
        outputs.alignments[row, :steps, :symbols].numpy(),
    )


def _figures(trained: Trained, split: MelSplit, utterance: Evaluated) -> dict[str, Any]:
    source = split[utterance.place]
    audio = trained.about.audio
    seconds = audio.hop_length / audio.sample_rate
    sums = utterance.sums
    return {
        "id": source.id,
        "text": source.text,
        "symbols": len(source.symbol_ids),
        "seconds": len(source.frames) * seconds,
        "loss": loss.total(sums, trained.about.objective, 0.0),
        "error": sums.error / sums.frames,
        **figures_of(sums),
        **_heard(utterance.followed, source.frames, "teacher_forced"),
        **_heard(utterance.free, source.frames, "free"),
        "stopped": utterance.stopped,
        "spoken_seconds": len(utterance.free.frames) * seconds,
    }


def _heard(given: Given, reference: np.ndarray, prefix: str) -> Mapping[str, float]:
    scores = {f"{prefix}_{name}": value for name, value in score_alignment(given.alignment)._asdict().items()}
    return {**scores, f"{prefix}_mel_cepstral_distortion_db": mel_cepstral_distortion(given.frames, reference)}
