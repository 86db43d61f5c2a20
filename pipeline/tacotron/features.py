"""Whether features are what this training was told they are."""

from collections.abc import Mapping
from typing import Any

from pipeline.errors import InputError
from pipeline.sections.audio import Audio
from pipeline.sections.mels import Mels
from pipeline.shards import MelSplit
from pipeline.tacotron.frames import Scale
from pipeline.text import Vocabulary


def check_features(manifest: Mapping[str, Any], vocabulary: Vocabulary, audio: Audio, mels: Mels) -> None:
    """Refuses features of other parameters, of another vocabulary, or of several speakers.

    Raises:
        InputError: Naming what differs.
    """
    made = manifest["parameters"]
    wanted = {"audio": audio.model_dump(mode="json"), "mels": mels.model_dump(mode="json")}
    differences = [
        f"{section}.{name} was {made[section].get(name)!r} and is {value!r}"
        for section, values in wanted.items()
        for name, value in values.items()
        if made[section].get(name) != value
    ]
    if differences:
        raise InputError(f"the features were made with other parameters: {'; '.join(differences)}: dvc repro mels")
    digest = manifest["vocabulary_digest"]
    if digest != vocabulary.digest:
        raise InputError(f"the features' vocabulary is {digest}, and this one is {vocabulary.digest}: dvc repro mels")
    if len(manifest["speakers"]) > 1:
        counts = ", ".join(f"{name or 'unnamed'} {count}" for name, count in manifest["speakers"].items())
        raise InputError(
            f"the corpus has {len(manifest['speakers'])} speakers (utterances: {counts}), and this model has one voice: "
            "name one in corpus.speakers"
        )


def check_split(split: MelSplit, name: str) -> None:
    """Refuses a split without utterances or without text.

    Raises:
        InputError: Naming the split.
    """
    if not len(split):
        raise InputError(f"the {name} split has no utterances: see data/prepare/rejects.csv, or prepare.*_fraction")
    silent = [identity for identity, count in zip(split.ids, split.symbol_counts, strict=True) if count < 2]
    if silent:
        raise InputError(
            f"{len(silent)} of {len(split)} utterances of the {name} split have no text (the first is {silent[0]}): "
            "this model needs transcripts; 'make repro-wayback' runs the half that does without"
        )


def scale_of(manifest: Mapping[str, Any]) -> Scale:
    """What normalises a frame."""
    return Scale.from_statistics(manifest["statistics"]["mean"], manifest["statistics"]["deviation"])
