"""The mel filters, as librosa makes them. Only this module imports librosa, and only when filters are asked for."""

import warnings
from functools import lru_cache

import numpy as np
from scipy.sparse import csr_array


@lru_cache(maxsize=8)
def mel_filters(sample_rate: int, n_fft: int, n_mels: int, fmin: float, fmax: float) -> csr_array:
    """Slaney's mel filters with area normalisation.

    Each frequency lies in two triangles at most, so the matrix is sparse. Its product with a spectrum is the
    work of one thread in one order, and therefore the same bits on any number of cores.

    Returns:
        float32 [n_mels, n_fft // 2 + 1].

    Raises:
        ValueError: A band is so narrow that no frequency falls into it.
    """
    from librosa.filters import mel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        dense = mel(
            sr=sample_rate, n_fft=n_fft, n_mels=n_mels, fmin=fmin, fmax=fmax, htk=False, norm="slaney", dtype=np.float32
        )
    empty = np.flatnonzero(dense.max(axis=1) <= 0.0)
    if len(empty):
        raise ValueError(
            f"{len(empty)} of {n_mels} mel bands hold no frequency of an n_fft of {n_fft}: "
            "lower audio.n_mels or raise audio.n_fft"
        )
    return csr_array(dense)
