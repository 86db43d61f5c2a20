"""The one import of mlflow, after the settings that it reads while it is imported."""

import os

SECONDS_FOR_AN_ANSWER = "5"
os.environ |= {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "0",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": SECONDS_FOR_AN_ANSWER,
    "MLFLOW_ENABLE_ASYNC_LOGGING": "false",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_DISABLE_AGENT_HINT": "true",
}

from mlflow import MlflowClient  # noqa: E402
from mlflow.artifacts import download_artifacts  # noqa: E402
from mlflow.entities import (  # noqa: E402
    Dataset,
    DatasetInput,
    InputTag,
    LoggedModelOutput,
    Metric,
    Param,
    RunTag,
    ViewType,
)
from mlflow.entities import Run as MlflowRun  # noqa: E402
from mlflow.exceptions import MlflowException  # noqa: E402
from mlflow.models.utils import get_external_mlflow_model_spec as external_model  # noqa: E402
from mlflow.utils.credentials import get_default_host_creds  # noqa: E402
from mlflow.utils.rest_utils import http_request  # noqa: E402
from mlflow.version import VERSION  # noqa: E402
from requests import HTTPError  # noqa: E402

__all__ = [
    "SECONDS_FOR_AN_ANSWER",
    "VERSION",
    "Dataset",
    "DatasetInput",
    "HTTPError",
    "InputTag",
    "LoggedModelOutput",
    "Metric",
    "MlflowClient",
    "MlflowException",
    "MlflowRun",
    "Param",
    "RunTag",
    "ViewType",
    "download_artifacts",
    "external_model",
    "get_default_host_creds",
    "http_request",
]
