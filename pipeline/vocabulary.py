"""Stage vocabulary: transcripts of the training split -> symbols and their ids."""

from collections.abc import Sequence
from pathlib import Path

from pipeline import stage
from pipeline.corpora.utterances import Utterance, read_utterances
from pipeline.errors import InputError
from pipeline.outputs import new_folder
from pipeline.params import load_params
from pipeline.sections.text import Text
from pipeline.sections.vocabulary import Vocabulary as VocabularySection
from pipeline.text import TextSettings, Vocabulary
from pipeline.text.vocabulary import FILE, check_settings


def main(prepared: Path, vocabulary: Path) -> None:
    """Collects the symbols of the training split."""
    params = load_params("vocabulary")
    symbols = collect(read_utterances(prepared), params.text, params.vocabulary)
    with new_folder(vocabulary) as folder:
        symbols.save(folder / FILE)
    print(f"{symbols.size} symbols: {' '.join(map(repr, symbols.symbols))}")


def collect(utterances: Sequence[Utterance], text: Text, vocabulary: VocabularySection) -> Vocabulary:
    """The vocabulary of the training split's texts.

    Raises:
        InputError: The corpus has no text, or the language cannot be spelt as the section `text` asks.
    """
    settings = TextSettings.from_section(text)
    check_settings(settings)
    texts = [utterance.text for utterance in utterances if utterance.split == "train" and utterance.text]
    if not texts:
        raise InputError(
            "the corpus has no transcripts, and Tacotron learns from them: "
            "'make repro-wayback' runs the half that needs recordings only"
        )
    return Vocabulary.collect(texts, settings, text.unknown, vocabulary.min_count)


if __name__ == "__main__":
    stage.run(main)
