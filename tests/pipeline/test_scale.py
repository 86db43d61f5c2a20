"""Memory does not grow with the corpus, and shards stay few."""

import pytest

from bench.scale import STAGES, make_repository, run

MOST_MIB = 1.2 * 1024
FEW_FILES = 20


@pytest.mark.long
def test_the_largest_process_is_as_large_for_500_utterances_as_for_5000(tmp_path):
    largest = {}
    for utterances in (500, 5000):
        folder = tmp_path / str(utterances)
        make_repository(folder, utterances)
        for stage, arguments in STAGES.items():
            largest[stage, utterances] = run(folder, f"pipeline.{stage}", *arguments).largest_process
            assert len(list((folder / "data" / stage).iterdir())) <= FEW_FILES, stage
    assert max(largest.values()) < MOST_MIB
    for stage in STAGES:
        assert largest[stage, 5000] < 1.15 * largest[stage, 500], stage
