"""What a served model answers to what it cannot use."""

from collections.abc import Iterator
from contextlib import contextmanager

from mlflow.exceptions import INVALID_PARAMETER_VALUE, MlflowException

from pipeline.errors import InputError


@contextmanager
def refusing() -> Iterator[None]:
    """Turns a user's mistake into an error that MLflow's model server answers with 400 and its message."""
    try:
        yield
    except InputError as error:
        raise MlflowException(" ".join(str(error).split()), error_code=INVALID_PARAMETER_VALUE) from error
