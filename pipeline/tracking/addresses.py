"""Where runs go: the address of the store, without passwords wherever it is shown or kept."""

import os
import re
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from pipeline.errors import InputError

EXPERIMENT = "reprise"
DATABASE = "mlflow.db"
ARTIFACTS = "mlartifacts"
VARIABLE = "MLFLOW_TRACKING_URI"
HIDDEN = "***"


def store_address(root: Path) -> str:
    """MLFLOW_TRACKING_URI where it is set, else the SQLite file in `root`.

    Raises:
        InputError: The variable names a store that would lose runs.
    """
    address = os.environ.get(VARIABLE, "").strip() or f"sqlite:///{root / DATABASE}"
    scheme = address.partition(":")[0].lower() if "://" in address or address.startswith("file:") else ""
    if scheme in ("", "file"):
        raise InputError(
            f"{VARIABLE} is {without_password(address)}: MLflow 3 has no store of plain files any more. "
            f"Unset it (runs then go to {DATABASE} in the repository), or give sqlite:////absolute/path/{DATABASE} or "
            "http://server:port; 'mlflow migrate-filestore --help' tells how old runs move"
        )
    if scheme.startswith("sqlite") and not Path(database_file(address) or "relative").is_absolute():
        raise InputError(
            f"{VARIABLE} is {address}: a relative path would make a new store in each folder, and experiments run in "
            f"folders that are deleted. Give sqlite:////absolute/path/{DATABASE} (four slashes)"
        )
    return address


def database_file(address: str) -> str | None:
    """The file of an SQLite address, else None."""
    scheme, _, path = address.partition(":///")
    return path.partition("?")[0] if scheme.lower().startswith("sqlite") else None


def artifact_location(address: str, root: Path) -> str | None:
    """Where the experiment's artifacts go; None where a server decides."""
    if urlsplit(address).scheme in ("http", "https", "databricks"):
        return None
    return (root / ARTIFACTS / EXPERIMENT).as_uri()


def pages_address(local: str) -> str:
    """Where a browser finds the runs: the tracking server without its user and password, or `local` where there is none."""
    server = urlsplit(os.environ.get(VARIABLE, "").strip())
    if server.scheme not in ("http", "https"):
        return local.rstrip("/")
    return urlunsplit(server._replace(netloc=server.netloc.rpartition("@")[2])).rstrip("/")


def without_password(text: str) -> str:
    """The text with user names and passwords in its addresses replaced by asterisks."""
    hidden = re.sub(r"(?<=://)[^/\s'\"]*@", f"{HIDDEN}@", text)
    return re.sub(r"(?i)\b(password|passwd|pwd|token|secret|access_key|api_key)=[^&\s'\"]+", rf"\1={HIDDEN}", hidden)
