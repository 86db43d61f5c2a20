"""Waveforms as categories and back: one pair of functions for training and synthesis, exact inverses on codes."""

import numpy as np


def encode(waveform: np.ndarray, encoding: str, bit_depth: int) -> np.ndarray:
    """Gives each sample the nearest of 2^bit_depth levels.

    With mu = 2^bit_depth - 1, -1 becomes code 0, 0 becomes 2^(bit_depth - 1) and 1 becomes mu. What exceeds full
    scale is clipped.

    Args:
        waveform: float [samples], full scale at 1.
        encoding: "mulaw" (levels equally spaced in sign(v) ln(1 + mu |v|) / ln(1 + mu)) or "linear".
        bit_depth: Bits a code, at most 8.

    Returns:
        uint8 [samples].
    """
    mu = _highest_code(bit_depth)
    value = np.clip(np.asarray(waveform, np.float64), -1.0, 1.0)
    if not np.isfinite(value).all():
        raise ValueError("the waveform holds NaN or infinity")
    companded = _compress(value, mu) if encoding == "mulaw" else _linear(value, encoding)
    return np.floor((companded + 1) / 2 * mu + 0.5).astype(np.uint8)


def decode(codes: np.ndarray, encoding: str, bit_depth: int) -> np.ndarray:
    """The level that each code stands for: integers [samples] -> float32 [samples]. encode(decode(codes)) == codes."""
    mu = _highest_code(bit_depth)
    codes = np.asarray(codes)
    if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) <= mu:
        raise ValueError(f"codes of {bit_depth} bits lie in 0..{mu}; these lie in {codes.min()}..{codes.max()}")
    companded = codes.astype(np.float64) / mu * 2 - 1
    value = _expand(companded, mu) if encoding == "mulaw" else _linear(companded, encoding)
    return value.astype(np.float32)


def _highest_code(bit_depth: int) -> int:
    if not 1 <= bit_depth <= 8:
        raise ValueError(f"bit_depth is {bit_depth} and must lie in 1..8")
    return 2**bit_depth - 1


def _compress(value: np.ndarray, mu: int) -> np.ndarray:
    return np.sign(value) * np.log1p(mu * np.abs(value)) / np.log1p(mu)


def _expand(companded: np.ndarray, mu: int) -> np.ndarray:
    return np.sign(companded) * np.expm1(np.abs(companded) * np.log1p(mu)) / mu


def _linear(value: np.ndarray, encoding: str) -> np.ndarray:
    if encoding != "linear":
        raise ValueError(f"encoding is {encoding!r} and must be 'mulaw' or 'linear'")
    return value
