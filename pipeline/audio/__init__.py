"""Recordings: reading and writing, level, log-mel analysis and back, quantisation."""
