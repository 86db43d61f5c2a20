"""Which version of a registered model is the champion, and how that changes.

The alias `champion` names it, `previous` the one before. What became of each candidate stands in its version's tags.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pipeline import lineage
from pipeline.errors import InputError
from pipeline.tracking.addresses import store_address, without_password
from pipeline.tracking.client import MlflowClient, MlflowException, download_artifacts
from pipeline.tracking.queries import open_store
from pipeline.tracking.store import explain, time_for_files

CHAMPION, PREVIOUS = "champion", "previous"
BEFORE = "champion.before"
TAKEN_BACK = "champion.taken_back"
NOT_FOUND = "RESOURCE_DOES_NOT_EXIST"


class Version(NamedTuple):
    """A version of a registered model.

    Attributes:
        model: Name of the registered model ("reprise-wayback").
        number: Its number there, as text.
        run_id: Of the training.
        tags: All its tags.
    """

    model: str
    number: str
    run_id: str
    tags: dict[str, str]

    @property
    def address(self) -> str:
        """By which MLflow loads it."""
        return f"models:/{self.model}/{self.number}"


def champion_of(model: str) -> Version | None:
    """The champion; None while there is none."""
    with _answering() as client:
        return _by_alias(client, model, CHAMPION)


def version_of_run(model: str, run_id: str) -> Version | None:
    """The newest version that a run registered; None while there is none."""
    with _answering() as client:
        found = client.search_model_versions(f"name = '{model}' and run_id = '{run_id}'")
        return _version(max(found, key=lambda version: int(version.version))) if found else None


def download_trained(version: Version, into: Path) -> Path:
    """Brings a version's trained model into the folder, and gives its place there."""
    address = store_address(lineage.main_root())
    with _answering(), time_for_files():
        place = download_artifacts(
            f"{version.address}/artifacts/trained", dst_path=str(into), tracking_uri=address, registry_uri=address
        )
    return Path(place)


def move_champion(model: str, number: str) -> str | None:
    """Makes a version the champion; the champion until now becomes `previous`, and its number is given back.

    Raises:
        InputError: There is no such version.
    """
    with _answering() as client:
        version, before = _existing(client, model, number), _by_alias(client, model, CHAMPION)
        if before is not None and before.number == version.number:
            return before.number
        if before is not None:
            client.set_registered_model_alias(model, PREVIOUS, before.number)
            client.set_model_version_tag(model, number, BEFORE, before.number)
        client.set_registered_model_alias(model, CHAMPION, number)
        if TAKEN_BACK in version.tags:
            client.delete_model_version_tag(model, number, TAKEN_BACK)
        return before.number if before else None


def take_back(model: str) -> tuple[str, str]:
    """Makes `previous` the champion again and marks the one taken back, which no gate promotes again.

    Returns:
        The number of the champion now, and of the version taken back.

    Raises:
        InputError: There is no champion, or none before it.
    """
    with _answering() as client:
        champion, previous = (_by_alias(client, model, alias) for alias in (CHAMPION, PREVIOUS))
        if champion is None or previous is None:
            raise InputError(
                f"{model} has no {PREVIOUS if champion else CHAMPION}: nothing to take back. "
                f"make champion MODEL={model} VERSION=number names one by hand"
            )
        client.set_model_version_tag(model, champion.number, TAKEN_BACK, f"by hand, for version {previous.number}")
        client.set_registered_model_alias(model, CHAMPION, previous.number)
        if before := previous.tags.get(BEFORE):
            client.set_registered_model_alias(model, PREVIOUS, before)
        else:
            client.delete_registered_model_alias(model, PREVIOUS)
        return previous.number, champion.number


def note_decision(version: Version, tags: Mapping[str, str], files: Path) -> None:
    """Puts what was decided into a version's tags, and the files of the decision into its run, under `gate`."""
    with _answering() as client, time_for_files():
        for name, value in tags.items():
            client.set_model_version_tag(version.model, version.number, name, value)
        client.log_artifacts(version.run_id, str(files), "gate")


@contextmanager
def _answering() -> Iterator[MlflowClient]:
    try:
        yield open_store().client
    except (MlflowException, OSError) as error:
        raise InputError(f"the registry of models does not answer: {explain(error)}") from error


def _by_alias(client: MlflowClient, model: str, alias: str) -> Version | None:
    try:
        return _version(client.get_model_version_by_alias(model, alias))
    except MlflowException as error:
        if error.error_code in (NOT_FOUND, "INVALID_PARAMETER_VALUE"):
            return None
        raise


def _existing(client: MlflowClient, model: str, number: str) -> Version:
    try:
        return _version(client.get_model_version(model, number))
    except MlflowException as error:
        if error.error_code in (NOT_FOUND, "INVALID_PARAMETER_VALUE"):
            raise InputError(f"{model} has no version {number}: {without_password(str(error))}") from error
        raise


def _version(found) -> Version:
    return Version(found.name, str(found.version), found.run_id, dict(found.tags))
