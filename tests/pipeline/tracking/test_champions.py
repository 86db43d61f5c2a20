"""The aliases of registered models, in a real store."""

import pytest

from pipeline.errors import InputError
from pipeline.tracking.champions import (
    BEFORE,
    TAKEN_BACK,
    champion_of,
    move_champion,
    take_back,
    version_of_run,
)

MODEL = "reprise-toy"


@pytest.fixture
def client(repository, monkeypatch):
    """A store with three versions of a model, each of a run of its own."""
    monkeypatch.chdir(repository.root)
    store = repository.store()
    store.client.create_registered_model(MODEL)
    for number in range(3):
        run = store.find_or_create(f"key-{number}", "toy", 0, {})
        store.client.create_model_version(MODEL, f"runs:/{run.info.run_id}/model", run.info.run_id)
    return store.client


def aliases(client):
    return {alias: str(number) for alias, number in client.get_registered_model(MODEL).aliases.items()}


def test_the_champion_until_now_becomes_previous(client):
    assert champion_of(MODEL) is None
    assert move_champion(MODEL, "1") is None
    assert move_champion(MODEL, "2") == "1"
    assert aliases(client) == {"champion": "2", "previous": "1"}
    assert champion_of(MODEL).number == "2"
    assert move_champion(MODEL, "2") == "2"
    assert aliases(client) == {"champion": "2", "previous": "1"}


def test_taking_back_goes_back_as_far_as_there_were_champions(client):
    for number in ("1", "2", "3"):
        move_champion(MODEL, number)
    assert take_back(MODEL) == ("2", "3")
    assert aliases(client) == {"champion": "2", "previous": "1"}
    assert TAKEN_BACK in client.get_model_version(MODEL, "3").tags
    assert take_back(MODEL) == ("1", "2")
    assert aliases(client) == {"champion": "1"}
    with pytest.raises(InputError, match="reprise-toy has no previous: nothing to take back"):
        take_back(MODEL)


def test_a_version_that_was_taken_back_can_be_named_again_by_hand(client):
    move_champion(MODEL, "1")
    move_champion(MODEL, "2")
    take_back(MODEL)
    move_champion(MODEL, "2")
    tags = client.get_model_version(MODEL, "2").tags
    assert TAKEN_BACK not in tags
    assert tags[BEFORE] == "1"


def test_an_unknown_version_moves_nothing(client):
    move_champion(MODEL, "1")
    with pytest.raises(InputError, match="reprise-toy has no version 9"):
        move_champion(MODEL, "9")
    assert aliases(client) == {"champion": "1"}


def test_a_run_leads_to_its_newest_version(client):
    run_id = client.get_model_version(MODEL, "2").run_id
    assert version_of_run(MODEL, run_id).number == "2"
    client.create_model_version(MODEL, f"runs:/{run_id}/model", run_id)
    assert version_of_run(MODEL, run_id).number == "4"
    assert version_of_run(MODEL, "0" * 32) is None
