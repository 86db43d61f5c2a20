"""From transcripts to symbol ids: one road for training and synthesis."""

from pipeline.text.normaliser import TextSettings, normalise
from pipeline.text.vocabulary import Vocabulary

__all__ = ["TextSettings", "Vocabulary", "normalise"]
