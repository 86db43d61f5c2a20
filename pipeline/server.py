"""What a model that `make serve` serves is asked, and what it answers."""

import base64
import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.errors import InputError

LONGEST_ANSWER = 600.0


def ask(address: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What the served model makes of each row; `audio` as bytes.

    Args:
        address: Of the server ("http://127.0.0.1:5001").
        rows: Values by column; bytes as base64.

    Raises:
        InputError: No such server answers, or it refuses the rows.
    """
    request = urllib.request.Request(
        f"{address.rstrip('/')}/invocations",
        data=json.dumps({"dataframe_records": list(rows)}).encode(),
        headers={"Content-Type": "application/json"},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=LONGEST_ANSWER) as answer:
            predictions = json.load(answer)["predictions"]
    except urllib.error.HTTPError as error:
        raise InputError(f"{address} refuses: {_reason(error)}") from error
    except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
        raise InputError(f"no model answers at {address}: {error}; make serve starts one") from error
    return [row | {"audio": base64.b64decode(row["audio"])} for row in predictions]


def _reason(error: urllib.error.HTTPError) -> str:
    text = error.read().decode("utf-8", "replace")
    try:
        return " ".join(str(json.loads(text)["message"]).split())
    except (ValueError, KeyError, TypeError):
        return f"{error.code} {' '.join(text.split())[:300]}"
