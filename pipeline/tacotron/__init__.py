"""Tacotron at the edge: its batches, its training, its figures, its speech."""
