"""Codes and levels are exact inverses, and stand where they are documented."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pipeline.audio.quantisation import decode, encode

ENCODINGS = ["mulaw", "linear"]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("bit_depth", range(1, 9))
def test_every_code_comes_back_from_its_level(encoding, bit_depth):
    codes = np.arange(2**bit_depth, dtype=np.uint8)
    np.testing.assert_array_equal(encode(decode(codes, encoding, bit_depth), encoding, bit_depth), codes)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_minus_one_zero_and_one_have_the_lowest_the_middle_and_the_highest_code(encoding):
    assert encode(np.array([-1.0, 0.0, 1.0]), encoding, 8).tolist() == [0, 128, 255]
    assert decode(np.array([0, 255]), encoding, 8).tolist() == [-1.0, 1.0]


def test_mulaw_of_a_half_is_worked_out_by_hand():
    # ln(1 + 255 / 2) / ln 256 = 0.87577; (1 + 0.87577) / 2 * 255 = 239.16
    assert encode(np.array([0.5]), "mulaw", 8).tolist() == [239]


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(
    values=arrays.arrays(np.float32, st.integers(1, 50), elements=st.floats(-1, 1, width=32)),
    bit_depth=st.integers(2, 8),
)
def test_the_code_is_that_of_the_nearest_level_and_keeps_order(encoding, values, bit_depth):
    codes = encode(np.sort(values), encoding, bit_depth)
    assert (np.diff(codes.astype(int)) >= 0).all()
    if encoding == "linear":
        step = 2 / (2**bit_depth - 1)
        assert np.abs(decode(codes, encoding, bit_depth) - np.sort(values)).max() <= step / 2 + 1e-6


def test_what_exceeds_full_scale_has_the_outer_codes():
    assert encode(np.array([-3.0, 1.5]), "mulaw", 8).tolist() == [0, 255]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_has_no_code(bad):
    if np.isnan(bad):
        with pytest.raises(ValueError, match="NaN"):
            encode(np.array([bad]), "mulaw", 8)
    else:
        assert encode(np.array([bad]), "mulaw", 8).tolist() == [255]


def test_codes_beyond_the_bit_depth_are_refused():
    with pytest.raises(ValueError, match=r"0\.\.15"):
        decode(np.array([16]), "mulaw", 4)


@pytest.mark.parametrize(("encoding", "bit_depth", "message"), [("alaw", 8, "encoding"), ("linear", 9, "bit_depth")])
def test_unknown_settings_are_refused_by_name(encoding, bit_depth, message):
    with pytest.raises(ValueError, match=message):
        encode(np.zeros(1), encoding, bit_depth)
