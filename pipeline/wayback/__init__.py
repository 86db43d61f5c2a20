"""Wayback and its data between the files and the model."""
