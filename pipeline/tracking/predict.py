"""A registered model answers one question, JSON on stdin, JSON on stdout; nothing of this repository is imported."""

import base64
import json
import os
import sys

import mlflow.pyfunc
import pandas as pd


def unpacked(value):
    """A value as the model takes it; bytes come as base64."""
    return base64.b64decode(value["base64"]) if isinstance(value, dict) else value


def packed(value):
    """A value as JSON takes it."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    return value.item() if hasattr(value, "item") else value


def main() -> None:
    """Loads the model, asks it, prints what it says; whatever else is printed goes to stderr."""
    answer = os.dup(1)
    os.dup2(2, 1)
    question = json.load(sys.stdin)
    frame = pd.DataFrame([{name: unpacked(value) for name, value in row.items()} for row in question["rows"]])
    made = mlflow.pyfunc.load_model(question["model"]).predict(frame, params=question["params"] or None)
    rows = [{name: packed(value) for name, value in row.items()} for row in made.to_dict("records")]
    with os.fdopen(answer, "w", encoding="utf-8") as file:
        json.dump(rows, file)


if __name__ == "__main__":
    main()
