"""Tacotron 2 (Shen et al. 2018): symbols in, log-mel frames out."""
