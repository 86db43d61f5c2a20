"""MLflow's model server, as `make serve` starts it: what it refuses, it says in one line and without a stack trace.

It is started from this folder and imports nothing of ours, so that the model finds no sources but its own.
"""

import json
import re

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from mlflow.pyfunc.scoring_server.app import app

REPEATED = re.compile(
    r"^Failed to predict data.*?\nError: (Failed to enforce schema .*?Error: )?|\nInput:.*$| IMPORTANT: .*$", re.DOTALL
)


@app.middleware("http")
async def say_it_in_one_line(request: Request, call_next) -> Response:
    """Keeps the status, and of MLflow's error its code and what it means."""
    answer = await call_next(request)
    if answer.status_code < 400:
        return answer
    body = b"".join([part async for part in answer.body_iterator])
    try:
        error = json.loads(body)
        code, message, trace = error["error_code"], error["message"], error.get("stack_trace", "")
    except (ValueError, KeyError, TypeError):
        code, message, trace = "BAD_REQUEST", body.decode("utf-8", "replace"), ""
    words = " ".join([REPEATED.sub("", message), *trace.splitlines()[-1:]])
    return JSONResponse({"error_code": code, "message": " ".join(words.split())}, answer.status_code)
