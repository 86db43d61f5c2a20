"""Views of MLflow's runs table: what differed and what came of it, side by side, the best on top.

MLflow keeps a view as a tag of the experiment; its page lists them under "Views" and opens one by its key.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Sequence
from typing import NamedTuple

TAG = "mlflow.sharedViewState."
SCHEDULE = ("max_step_count", "initial_learning_rate", "decay_rate", "clip_norm")
FIRST_COLUMNS = ("1", "attributes.`Run Name`", "runDateAndNestInfo", "duration")
PIXELS_A_LETTER, PIXELS_BESIDE = 7, 34


class View(NamedTuple):
    """What a table shows.

    Attributes:
        name: In the list of views.
        filter: In MLflow's language; which runs.
        params, figures: Columns, in this order.
        lowest_first: Whether the first of the figures is best where it is lowest.
    """

    name: str
    filter: str
    params: Sequence[str]
    figures: Sequence[str]
    lowest_first: bool = True

    @property
    def key(self) -> str:
        """By which the page opens it; the same for the same name."""
        return hashlib.sha256(self.name.encode()).hexdigest()[:16]


STANDARD = (
    View(
        "Text to speech",
        "tags.`dvc.stage` = 'train_tacotron'",
        [f"train_tacotron.{name}" for name in (*SCHEDULE, "batch_size")],
        ("test_error", "test_free_mel_cepstral_distortion_db", "test_free_diagonality", "test_stop_rate"),
    ),
    View(
        "Sound, symbol by symbol",
        "tags.`dvc.stage` = 'train_wayback'",
        [f"train_wayback.{name}" for name in (*SCHEDULE, "layer_sizes", "periods")],
        ("test_bits_per_symbol", "test_error", "valid_loss"),
    ),
)


def view_tags(views: Sequence[View], saved: int) -> dict[str, str]:
    """The tags of an experiment that has these views, saved at a time (ms since 1970)."""
    return {f"{TAG}{view.key}": _as_tag(view, saved) for view in views}


def view_path(experiment_id: str, view: View) -> str:
    """Where a view opens, after the server's address."""
    return f"/#/experiments/{experiment_id}/runs?viewStateShareKey={view.key}"


def _as_tag(view: View, saved: int) -> str:
    columns = {f"params.`{name}`": name for name in view.params} | {f"metrics.`{name}`": name for name in view.figures}
    state = {
        "searchFilter": view.filter,
        "orderByKey": f"metrics.`{view.figures[0]}`",
        "orderByAsc": view.lowest_first,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": list(columns),
        "columnOrder": [*FIRST_COLUMNS, *columns],
        "columnWidths": {column: PIXELS_BESIDE + PIXELS_A_LETTER * len(name) for column, name in columns.items()},
    }
    packed = base64.b64encode(zlib.compress(json.dumps(state).encode())).decode()
    return json.dumps({"name": view.name, "createdAt": saved, "updatedAt": saved, "state": f"deflate;{packed}"})
