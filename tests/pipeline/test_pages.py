"""Pages that a browser opens: DVC's plots without a network, and MLflow's comparison of two runs."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from ruamel.yaml import YAML

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HISTORY = "step,train_loss,valid_loss,train_error,valid_error\n1,4.0,4.5,0.5,0.6\n2,3.0,3.5,0.4,0.5\n"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine (apt-get install chromium)")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        made = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield made
        made.close()


@pytest.fixture(scope="module")
def plotted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with this one's plots and two commits of histories."""
    folder = tmp_path_factory.mktemp("plots") / "a repository"
    plots = YAML(typ="safe").load(ROOT / "dvc.yaml")["plots"]
    folder.mkdir()
    with (folder / "dvc.yaml").open("w", encoding="utf-8") as file:
        YAML().dump({"plots": plots}, file)
    shutil.copytree(ROOT / ".dvc/plots", folder / ".dvc/plots")
    shutil.copy(ROOT / ".dvc/config", folder / ".dvc/config")
    run(folder, "git", "init", "-q", "-b", "main")
    for message, history in (("one", HISTORY), ("two", HISTORY.replace("3.0", "2.5"))):
        for model in ("tacotron", "wayback"):
            (folder / f"data/train_{model}").mkdir(parents=True, exist_ok=True)
            (folder / f"data/train_{model}/history.csv").write_text(history)
        run(folder, "git", "add", "-A")
        run(folder, "git", "-c", "user.name=somebody", "-c", "user.email=s@example.org", "commit", "-q", "-m", message)
    return folder


def run(folder: Path, *command: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "DVC_"))}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("command", [("show",), ("diff", "HEAD~1", "HEAD")])
def test_dvc_plots_draw_without_a_network_with_titles_axes_and_units(
    plotted: Path, browser: Any, command: tuple[str, ...]
) -> None:
    run(plotted, sys.executable, "-m", "dvc", "plots", *command, "-o", "drawn")
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.route("**/*", lambda route: route.continue_() if route.request.url.startswith("file:") else route.abort())
    page.goto((plotted / "drawn/index.html").as_uri())
    page.wait_for_function("document.querySelectorAll('canvas, svg.marks').length >= 4")
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    drawn = (plotted / "drawn/index.html").read_text(encoding="utf-8")
    for words in ("Wayback, loss on the training and validation split", "training step", "nats per symbol"):
        assert words in drawn
    page.close()


COMPARED = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from pipeline import tracking
for decay_rate, loss in ((0.125, 2.5), (0.375, 1.5)):
    values = {"train_toy.decay_rate": decay_rate, "train_toy.units": 8, "seed": 1, "audio.n_mels": 80}
    state = Path(f".work/train_toy-{decay_rate}")
    with tracking.training_run("train_toy", SimpleNamespace(flat=lambda: values), state) as run:
        for step in range(1, 4):
            run.log_metrics({"test_loss": loss / step}, step)
        run.write_id(Path(f"run-{decay_rate}.json"))
"""


@pytest.mark.long
def test_the_comparison_page_shows_what_differs_and_a_view_shows_it_beside_what_came_of_it(
    tmp_path: Path, browser: Any
) -> None:

    from pipeline import ui
    from pipeline.tracking.store import Store
    from pipeline.tracking.views import STANDARD, View

    folder = tmp_path / "a repository"
    folder.mkdir()
    (folder / "dvc.yaml").write_text("stages: {}\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_", "DVC_"))}
    environment |= {"PYTHONPATH": str(ROOT), "MLFLOW_DISABLE_TELEMETRY": "true"}
    subprocess.run([sys.executable, "-c", COMPARED], cwd=folder, env=environment, check=True, timeout=200)
    ids = [json.loads((folder / f"run-{rate}.json").read_text())["run_id"] for rate in (0.125, 0.375)]
    port = free_port()
    command = ui.command(f"sqlite:///{folder}/mlflow.db", port, folder)
    server = subprocess.Popen(command, cwd=folder, env=environment | ui.QUIET, start_new_session=True)
    try:
        ui.wait_until_ready(server, f"http://{ui.HOST}:{port}/health")
        page = browser.new_page(viewport={"width": 1800, "height": 1400})
        query = f"runs={quote(json.dumps(ids))}&experiments={quote(json.dumps(['1']))}"
        page.goto(f"http://{ui.HOST}:{port}/#/compare-runs?{query}")
        page.wait_for_function("document.body.innerText.includes('train_toy.decay_rate')", timeout=90_000)
        shown = page.inner_text("body")
        assert "0.125" in shown
        assert "0.375" in shown
        assert "test_loss" in shown
        for switch in page.get_by_text("Show diff only").all():
            switch.click()
        page.wait_for_function("!document.body.innerText.includes('audio.n_mels')")
        assert "train_toy.decay_rate" in page.inner_text("body")

        store = Store(f"sqlite:///{folder}/mlflow.db", folder)
        view = View("Sweep", "params.`train_toy.units` = '8'", ["train_toy.decay_rate"], ["test_loss"])
        page.goto(f"http://{ui.HOST}:{port}{store.save_view(view)}")
        page.wait_for_function("document.querySelectorAll('.ag-row [col-id^=metrics]').length == 2", timeout=90_000)
        columns = page.eval_on_selector_all(
            ".ag-header-cell", "cells => cells.map(cell => cell.getAttribute('col-id'))"
        )
        assert columns[-2:] == ["params.`train_toy.decay_rate`", "metrics.`test_loss`"]
        rates = page.eval_on_selector_all(
            ".ag-row",
            "rows => rows.sort((a, b) => a.getAttribute('row-index') - b.getAttribute('row-index'))"
            ".map(row => row.querySelector('[col-id^=params]')?.innerText).filter(text => text)",
        )
        assert rates == ["0.375", "0.125"]
        assert {*store.standard_views()} == {view.name for view in STANDARD}
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def free_port() -> int:

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
