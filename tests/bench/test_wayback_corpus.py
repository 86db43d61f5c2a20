"""The comparison on the corpus: its statistics by hand, and that it runs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.wayback_corpus import Budget, largest, paired, rate_at
from pipeline.shards import FORMAT, MANIFEST, SPLITS, write_codes

ROOT = Path(__file__).resolve().parents[2]


def test_the_difference_is_paired_and_weighted_by_symbols():
    """Half a bit less on 10 symbols, one more on 30: (-5 + 30) / 40; resampled, it lies between the two."""
    said = paired(np.array([5.0, 60.0]), np.array([10.0, 30.0]), np.array([10, 30]))
    mean, low, high = map(float, re.findall(r"[+-]\d\.\d{4}", said))
    assert (mean, low, high) == (0.625, -0.5, 1.0)
    assert "better on 1 of 2" in said


def test_a_budget_of_steps_is_used_up_in_equal_shares():
    assert list(Budget(0.0, 4).shares()) == [0.0, 0.25, 0.5, 0.75]


def test_the_rate_is_constant_for_half_of_the_budget_and_then_halves_with_each_tenth():
    assert [rate_at(8.0, share) for share in (0.0, 0.5, 0.6, 0.8, 1.0)] == pytest.approx([8.0, 8.0, 4.0, 1.0, 0.25])


@pytest.mark.parametrize("limit", [1, 2, 137, 1024, 5000])
def test_the_largest_number_that_fits(limit):
    assert largest(lambda number: number <= limit) == limit


@pytest.mark.long
def test_a_short_comparison_runs_and_says_what_came_out(tmp_path):
    codes, draw = tmp_path / "codes", np.random.default_rng(0)
    codes.mkdir()
    with write_codes(codes) as writer:
        for split in SPLITS:
            for number in range(3):
                symbols = draw.integers(0, 4, 600).astype(np.uint8)
                writer.add(f"{split}-{number}", split, {"codes": symbols})
    manifest = {"content": "codes", "format": FORMAT, "categories": 4}
    (codes / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    options = ["--contenders", "ours", "--steps", "2", "--rates", "0.002", "--seeds", "1"]
    command = [sys.executable, "-m", "bench.wayback_corpus", *options, "--codes", codes, "--work", tmp_path / "work"]
    said = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True).stdout
    bits = float(re.search(r"rate 0.002: (\d\.\d{4}) bits a symbol: .* \(2 steps\)", said).group(1))
    assert 1.9 < bits < 2.3
