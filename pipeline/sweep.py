"""Command `make sweep GRID=grid.yaml`: an experiment for each combination of a grid, a table and a picture of what won.

    targets: [evaluate_wayback]                # stages to run, with what they depend on
    figure: evaluate_wayback.test_loss         # a file of data/metrics and a key in it; the lowest wins
    order: lowest                              # or highest
    grid:
      train_wayback.decay_rate: [0.1, 0.3, 0.5]
      train_wayback.clip_norm: [0.5, 1.0, 2.0]

Each member is an experiment of DVC, named by its values, in a folder of its own (`dvc exp run --temp`). What has been
run is not run again: a sweep that was stopped goes on with the members that are missing, waits for those that a killed one has left
running, and an interrupted training goes on from its last checkpoint.
"""

import fcntl
import hashlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple

import pandas as pd
from pydantic import Field, ValidationError

from pipeline import lineage, stage
from pipeline.errors import InputError
from pipeline.outputs import new_file
from pipeline.params import check_params, load_runtime, read_yaml, set_param
from pipeline.sections.base import Section
from pipeline.tracking.addresses import pages_address

METRICS = "data/metrics"
BUSY = ("Unable to acquire lock", "is busy", "another process")
TRIES = 20
SECONDS_BETWEEN_TRIES = 1.0
LONGEST_NAME = 60
MOST_OTHER_FIGURES = 3

Values = dict[str, Any]


class Sweep(Section):
    """What a grid file says."""

    targets: Annotated[list[str], Field(min_length=1)]
    figure: Annotated[str, Field(pattern=r"^\w+\.\w+$")]
    order: Literal["lowest", "highest"] = "lowest"
    grid: Annotated[dict[str, Annotated[list[Any], Field(min_length=1)]], Field(min_length=1)]


class Member(NamedTuple):
    """One combination.

    Attributes:
        name: Of its experiment; the same values on the same commit have the same name.
        values: The swept parameters by full name.
    """

    name: str
    values: Values


def main(grid: Path, jobs: int = 2, out: Path = Path(".work/sweep")) -> None:
    """Runs what is missing, `jobs` at a time, and writes table.csv, table.md and winners.png into `out`."""
    sweep = read_sweep(grid)
    if jobs < 1:
        raise InputError(f"JOBS is {jobs}; at least one member must run at a time")
    root = lineage.code_root()
    code = lineage.git_facts()
    if code is None:
        raise InputError("a sweep needs a commit to start from: git init, git add -A, git commit")
    members = members_of(sweep, code.commit + code.diff)
    check_members(root, members)
    missing = [member for member in members if result_of(root, member, sweep.figure) is None]
    print(f"{len(members)} members, {len(members) - len(missing)} are there already", flush=True)
    failures = Runner(root, sweep, out / "logs").run(missing, jobs)
    rows = table_of(root, sweep, members, failures)
    write_results(out, sweep, rows)
    print((out / "table.md").read_text(encoding="utf-8"))
    print(f"{out / 'table.csv'}, {out / 'winners.png'}")
    print_view(sweep, code.commit, rows)
    if failures:
        raise InputError(f"{len(failures)} of {len(members)} members failed; what they said is in {out / 'logs'}")


def read_sweep(path: Path) -> Sweep:
    """The grid file.

    Raises:
        InputError: It says something that a sweep does not know, or lacks something.
    """
    try:
        return Sweep.model_validate(read_yaml(path))
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_url=False)]
        raise InputError(f"{path}: {'; '.join(problems)}") from error


def members_of(sweep: Sweep, code: str) -> list[Member]:
    """Every combination of the grid's values, the last parameter changing fastest; `code` is what they start from."""
    combinations = itertools.product(*sweep.grid.values())
    members = []
    for combination in combinations:
        values = dict(zip(sweep.grid, combination, strict=True))
        words = "-".join(f"{name.rpartition('.')[2]}-{value}" for name, value in values.items())
        readable = re.sub(r"[^A-Za-z0-9-]+", "_", words)[:LONGEST_NAME].strip("-_")
        digest = hashlib.sha256(json.dumps([code, values, sweep.targets], sort_keys=True).encode()).hexdigest()[:6]
        members.append(Member(f"{readable}-{digest}", values))
    return members


def check_members(root: Path, members: Sequence[Member]) -> None:
    """Raises an InputError when a member's parameters are wrong, before anything is run."""
    for member in members:
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch, lineage.PARAMS)
            path.write_bytes((root / lineage.PARAMS).read_bytes())
            for name, value in member.values.items():
                set_param(path, name, value)
            check_params(Path(scratch))


class Runner:
    """Runs experiments side by side, until all have ended or a signal says stop.

    Args:
        root: The checkout.
        sweep: What is run and measured.
        logs: Where what each member prints goes. All that a member has started holds the lock of its log.
    """

    def __init__(self, root: Path, sweep: Sweep, logs: Path):
        self._root, self._sweep, self._logs = root, sweep, logs
        self._stopped = threading.Event()
        self._processes: set[subprocess.Popen] = set()
        self._guard = threading.Lock()

    def run(self, members: Sequence[Member], jobs: int) -> dict[str, str]:
        """The last line of each member that failed, by its name.

        Raises:
            KeyboardInterrupt: Ctrl-C or SIGTERM; every member under way was asked to stop, and has.
        """
        self._logs.mkdir(parents=True, exist_ok=True)
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        pool = ThreadPoolExecutor(jobs)
        futures = {member.name: pool.submit(self._run_member, member) for member in members}
        try:
            outcomes = {name: future.result() for name, future in futures.items()}
        except KeyboardInterrupt:
            self._stop()
            print("stopped; the same command goes on with what is missing", file=sys.stderr)
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            signal.signal(signal.SIGTERM, before)
        return {name: outcome for name, outcome in outcomes.items() if outcome is not None}

    def _run_member(self, member: Member) -> str | None:
        with (self._logs / f"{member.name}.log").open("ab") as log:
            self._wait_for_its_end(member, log)
            reason = None if self._is_there(member) else self._try_member(member, log)
        if reason is None:
            print(f"{member.name}: done", flush=True)
        else:
            print(f"{member.name}: failed: {reason}", file=sys.stderr, flush=True)
        return reason

    def _wait_for_its_end(self, member: Member, log: BinaryIO) -> None:
        """Returns when nothing that an earlier sweep has started for the member runs any more, or all shall stop."""
        told = False
        while not self._stopped.is_set():
            try:
                fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if not told:
                    print(f"{member.name}: an earlier sweep has left it running; waiting for it", flush=True)
                told = True
                time.sleep(SECONDS_BETWEEN_TRIES)

    def _try_member(self, member: Member, log: BinaryIO) -> str | None:
        settings = [argument for name, value in member.values.items() for argument in ("-S", f"{name}={_yaml(value)}")]
        command = ["exp", "run", "--temp", "--force", "--name", member.name, *settings, *self._sweep.targets]
        for _ in range(TRIES):
            if self._stopped.is_set():
                return "stopped"
            code, said = self._dvc(command, log)
            # Temporary experiments share DVC's stash: after its own, a process may begin another member's and fail.
            if code == 0 or self._is_there(member):
                return None
            if not any(sign in said for sign in BUSY):
                break
            time.sleep(SECONDS_BETWEEN_TRIES)
        return next((line for line in reversed(said.splitlines()) if line.strip()), f"code {code}")

    def _is_there(self, member: Member) -> bool:
        return result_of(self._root, member, self._sweep.figure) is not None

    def _dvc(self, arguments: Sequence[str], log: BinaryIO) -> tuple[int, str]:
        environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"}
        log.truncate(0)
        process = subprocess.Popen(
            [sys.executable, "-m", "dvc", *arguments],
            cwd=self._root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        with self._guard:
            self._processes.add(process)
        code = process.wait()
        with self._guard:
            self._processes.discard(process)
        return code, Path(log.name).read_text(encoding="utf-8", errors="replace")

    def _stop(self) -> None:
        """Sends SIGINT to each member and all that it started; their trainings write a checkpoint and end as KILLED."""
        self._stopped.set()
        with self._guard:
            for process in self._processes:
                os.killpg(process.pid, signal.SIGINT)


def result_of(root: Path, member: Member, figure: str) -> dict[str, float] | None:
    """The figures of the member's experiment, from the file that holds `figure`; None when it has not been run."""
    listing = lineage.git(root, "for-each-ref", "--format=%(refname)", "refs/exps") or ""
    reference = next((name for name in listing.split() if name.endswith(f"/{member.name}")), None)
    if reference is None:
        return None
    file, _, _ = figure.partition(".")
    text = lineage.git(root, "show", f"{reference}:./{METRICS}/{file}.json")
    return {name: value for name, value in json.loads(text).items() if isinstance(value, int | float)} if text else None


def table_of(root: Path, sweep: Sweep, members: Sequence[Member], failures: Mapping[str, str]) -> pd.DataFrame:
    """A row a member, the best first: what was swept, the figure, the file's other figures, the experiment's name.

    Raises:
        InputError: The figure is not in its file.
    """
    key = sweep.figure.partition(".")[2]
    rows = []
    for member in members:
        figures = result_of(root, member, sweep.figure) or {}
        if figures and key not in figures:
            raise InputError(f"figure: {sweep.figure} is not measured; there are {', '.join(sorted(figures))}")
        state = "failed" if member.name in failures else "done" if figures else "missing"
        values = {name.rpartition(".")[2]: value for name, value in member.values.items()}
        first = {key: figures.get(key, float("nan"))}
        rows.append({**values, **first, **figures, "state": state, "experiment": member.name})
    ascending = sweep.order == "lowest"
    return pd.DataFrame(rows).sort_values(key, ascending=ascending, kind="stable", na_position="last")


def write_results(out: Path, sweep: Sweep, rows: pd.DataFrame) -> None:
    """Writes the table and the picture."""
    out.mkdir(parents=True, exist_ok=True)
    key = sweep.figure.partition(".")[2]
    swept = [name.rpartition(".")[2] for name in sweep.grid]
    with new_file(out / "table.csv") as partial:
        rows.to_csv(partial, index=False, lineterminator="\n")
    with new_file(out / "table.md") as partial:
        partial.write_text(as_markdown(rows[[*swept, key, "state", "experiment"]]), encoding="utf-8")
    with new_file(out / "winners.png") as partial:
        draw_winners(partial, rows, swept, key, f"{key}, {sweep.order} is best")


def print_view(sweep: Sweep, commit: str, rows: pd.DataFrame) -> None:
    """Keeps the table as a view of MLflow's runs, and says where it opens; a store that does not answer is told."""
    if load_runtime().tracking == "off":
        return
    from pipeline.tracking.queries import save_view
    from pipeline.tracking.views import View

    swept, key = [name.rpartition(".")[2] for name in sweep.grid], sweep.figure.partition(".")[2]
    others = [name for name in rows.columns if name.startswith("test_") and name != key]
    view = View(
        f"Sweep over {', '.join(swept)} from {commit[:8]}",
        f"tags.`git.commit` = '{commit}' and attributes.run_name LIKE '{swept[0]}-%'",
        list(sweep.grid),
        [key, *others[:MOST_OTHER_FIGURES]],
        sweep.order == "lowest",
    )
    try:
        path = save_view(view)
    except InputError as error:
        print(f"warning: MLflow has no view of it: {error}", file=sys.stderr)
        return
    print(f"MLflow (make ui): {pages_address(check_params().report.mlflow_address)}{path}")


def as_markdown(rows: pd.DataFrame) -> str:
    """The rows as a Markdown table, figures to five digits."""
    cells = [[f"{value:.5g}" if isinstance(value, float) else str(value) for value in row] for row in rows.values]
    lines = [list(rows.columns), ["---"] * len(rows.columns), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def draw_winners(path: Path, rows: pd.DataFrame, swept: Sequence[str], key: str, title: str) -> None:
    """Draws a point a member, the best on top and coloured, members without a figure left out."""
    import matplotlib
    from matplotlib.figure import Figure

    from pipeline.pictures import LINE_COLOURS, STYLE

    measured = rows[rows[key].notna()]
    names = [", ".join(f"{name} {row[name]}" for name in swept) for _, row in measured.iterrows()]
    colours = [LINE_COLOURS[1] if place == 0 else LINE_COLOURS[0] for place in range(len(measured))]
    with matplotlib.rc_context({**STYLE, "figure.facecolor": "white"}):
        figure = Figure(figsize=(7.0, 1.2 + 0.28 * max(1, len(measured))), layout="constrained")
        axes = figure.subplots()
        axes.scatter(measured[key], range(len(measured)), c=colours, s=40)
        axes.set_yticks(range(len(measured)), names)
        axes.invert_yaxis()
        axes.grid(axis="x")
        axes.set_xlabel(key)
        axes.set_title(title)
        figure.savefig(path, format="png", dpi=150, metadata={"Software": None})


def _yaml(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


if __name__ == "__main__":
    stage.run(main)
