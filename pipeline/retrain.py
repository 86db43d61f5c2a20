"""Command `make retrain`: what continuous integration does when data, parameters or code have changed.

Each step leaves things so that the next run can go on from them, whatever stops it: data and the run cache are pushed
before the commit that names them, the commit before the alias that makes a model the champion.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline import gate, lineage, stage
from pipeline.errors import InputError
from pipeline.params import PARAMS, check_params, read_value, set_param
from pipeline.promote import promote
from pipeline.promotion.baseline import locked_md5
from pipeline.promotion.decision import Outcome
from pipeline.restore import NOT_INHERITED
from pipeline.tracking.addresses import VARIABLE

MADE = ("dvc.lock", "data/metrics")
TRAILER = "Made-by: make retrain"
REMOTE = "origin"
BAD = (Outcome.WORSE.value, Outcome.FAULTY_FIGURE.value)
SUMMARY = "GITHUB_STEP_SUMMARY"


class Branch(NamedTuple):
    """Where the work is published.

    Attributes:
        name: Of the branch.
        upstream: Hash of the branch's head at the remote; None where there is none.
        base: The commit that the result is compared with.
    """

    name: str
    upstream: str | None
    base: str


def main(branch: str = "", base: str = "", assign: str = "", promotes: str = "", into: Path = Path(".work")) -> None:
    """Pulls, runs what must run, judges, reports, publishes, and moves the champion if PROMOTES is given.

    `assign` changes parameters first ("train_wayback.clip_norm=0.5 seed=2"). What is compared with is `base`, else
    where the branch left the main one, else the commit that was published last. Ends with the gate's exit code where
    a candidate is worse or has faulty figures, after everything is published.
    """
    root = lineage.code_root()
    announce("pull")
    require_committed(root)
    place = catch_up(root, branch, base)
    set_parameters(root, assign)
    check_params()
    require_store()
    if is_done(root, place, bool(promotes)):
        print("nothing has changed: no stage must run, and every model has been judged")
        return
    pull(root)
    announce("train")
    train(root)
    announce("push data")
    push_data(root)
    announce("judge")
    code = run(root, sys.executable, "-m", "pipeline.gate", "--base", place.base, "--into", str(into / "gate"))
    if code == 1 or code > max(outcome.value for outcome in Outcome):
        raise InputError(f"the gate failed with exit code {code}: what it said stands above; nothing was published")
    announce("report")
    report(root, place.base, into)
    announce("commit")
    commit(root, code)
    announce("push branch")
    push_branch(root, place.name)
    announce("promote")
    if promotes:
        for model in gate.evaluated_models():
            print(promote(into / "gate" / model / gate.FILE))
    else:
        print("no champion is moved: PROMOTES was not given")
    if code in BAD:
        raise SystemExit(code)


def announce(step: str) -> None:
    """Says which step begins."""
    print(f"== {step}", flush=True)


def require_committed(root: Path) -> None:
    """Refuses changes that no commit holds; what a stopped run has left in dvc.lock and metrics is its own.

    Raises:
        InputError: There are some.
    """
    excluded = [f":(exclude){path}" for path in MADE]
    listing = lineage.git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", *excluded)
    if listing is None:
        raise InputError(f"{root} is no git checkout: retraining publishes commits")
    if listing.strip():
        raise InputError(f"uncommitted changes: {'; '.join(listing.split(chr(10))[:5])}; commit or stash them first")


def catch_up(root: Path, branch: str, base: str) -> Branch:
    """Brings the branch to where the remote has it; a commit that only a stopped run has made gives way.

    Raises:
        InputError: The branch has commits of someone else that the remote's lacks, or HEAD is on no branch.
    """
    name = branch or (lineage.git(root, "symbolic-ref", "--short", "HEAD") or "").strip()
    if not name:
        raise InputError("HEAD is on no branch; say which one it stands for: BRANCH=main")
    if not _has_remote(root):
        return Branch(name, None, base or _hash(root, "HEAD"))
    must(root, "git", "fetch", "--quiet", REMOTE)
    upstream = _hash(root, f"refs/remotes/{REMOTE}/{name}")
    if upstream and not _is_ancestor(root, upstream, "HEAD"):
        own = lineage.git(
            root, "log", "--format=%(trailers:key=Made-by,valueonly,separator=%x2C)|", f"{upstream}..HEAD"
        )
        if "\n|" in f"\n{own}":
            raise InputError(f"{name} and {REMOTE}/{name} have gone apart: git pull --rebase, then again")
        for path in MADE:
            lineage.git(root, "checkout", "--quiet", "HEAD", "--", path)
        must(root, "git", "reset", "--quiet", "--keep", upstream)
        run(root, sys.executable, "-m", "dvc", "checkout", "--allow-missing", "--quiet")
    return Branch(name, upstream, base or _base(root, name, upstream))


def set_parameters(root: Path, assign: str) -> None:
    """Changes parameters in params.yaml.

    Raises:
        InputError: One is unknown.
    """
    for each in assign.split():
        name, separator, value = each.partition("=")
        if not separator:
            raise InputError(f"{each!r} must be like train_wayback.clip_norm=0.5")
        set_param(root / PARAMS, name, read_value(value))


def require_store() -> None:
    """Refuses to start while the server that runs go to does not answer.

    Raises:
        InputError: It does not.
    """
    if os.environ.get(VARIABLE):
        from pipeline.tracking.queries import open_store

        open_store()


def is_done(root: Path, place: Branch, promotes: bool) -> bool:
    """Whether no stage must run, everything is published and, where champions move, every model is judged."""
    if must_run(root):
        return False
    changed = lineage.git(root, "status", "--porcelain", "--", *MADE, str(PARAMS))
    if changed or place.upstream not in (None, _hash(root, "HEAD")):
        return False
    return not promotes or not undecided(root)


def undecided(root: Path) -> list[str]:
    """The models that have a champion, and whose newest version was not weighed against it."""
    from pipeline.tracking.champions import TAKEN_BACK, champion_of
    from pipeline.tracking.registry import model_name

    if not os.environ.get(VARIABLE) and not gate.has_store():
        return []
    models = [model for model in gate.MODELS if locked_md5(root, gate.run_file(model))]
    _try_dvc(root, "pull", *map(gate.run_file, models))
    waiting = []
    for model in models:
        champion = champion_of(model_name(f"train_{model}"))
        candidate = gate.candidate_of(model) if champion else None
        if champion is None or candidate.number == champion.number or TAKEN_BACK in candidate.tags:
            continue
        if candidate.tags.get(gate.AGAINST) != champion.number or candidate.tags.get(gate.OUTCOME) == "better":
            waiting.append(model)
    return waiting


def pull(root: Path) -> None:
    """Brings the data and what the stages have made anywhere; what the remote lacks will be made."""
    _try_dvc(root, "pull", "--run-cache", "--allow-missing")


def train(root: Path) -> None:
    """Runs what must run; of that, what anyone has run on the same inputs comes from the remote."""
    bring = ["--pull"] if has_data_remote(root) else []
    run_dvc(root, "repro", *bring, **({"REPRISE_TRACKING_REQUIRED": "true"} if os.environ.get(VARIABLE) else {}))


def push_data(root: Path) -> None:
    """Sends everything to DVC's remote."""
    if has_data_remote(root):
        run_dvc(root, "push", "--run-cache")
    else:
        print("DVC has no default remote: data stays on this machine (dvc remote add -d NAME ADDRESS)")


def report(root: Path, base: str, into: Path) -> None:
    """Writes what changed, and adds it to the summary that CI shows."""
    must(root, sys.executable, "-m", "pipeline.changes", "--base", base, "--into", str(into / "changes"))
    summary = os.environ.get(SUMMARY)
    if summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write((root / into / "changes/changes.md").read_text(encoding="utf-8"))


def commit(root: Path, code: int) -> None:
    """Commits dvc.lock, metrics and the parameters that were set, if they differ."""
    paths = [path for path in (*MADE, str(PARAMS)) if (root / path).exists()]
    must(root, "git", "add", "--", *paths)
    if lineage.git(root, "diff", "--cached", "--quiet", "--", *paths) is not None:
        print("dvc.lock and metrics are as they were")
        return
    words = next((outcome.words for outcome in Outcome if outcome.value == code), "judged")
    message = f"Retrained: {words} [skip ci]\n\n{TRAILER}"
    must(root, "git", *_identity(root), "commit", "--quiet", "-m", message, "--", *paths)


def push_branch(root: Path, name: str) -> None:
    """Sends the commits to the branch.

    Raises:
        InputError: The branch has moved meanwhile.
    """
    if not _has_remote(root):
        print(f"git has no remote {REMOTE}: the commit stays here")
        return
    try:
        must(root, "git", "push", "--quiet", REMOTE, f"HEAD:refs/heads/{name}")
    except InputError as error:
        raise InputError(
            f"{name} could not be pushed, and no champion was moved: {error}. If someone has pushed meanwhile, "
            "make retrain again: what was trained here is in the run cache"
        ) from error


def run(root: Path, *command: str, **environment: str) -> int:
    """Runs a command whose output is shown, and gives its exit code."""
    kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    return subprocess.run(command, cwd=root, env=kept | environment, check=False).returncode


def must(root: Path, *command: str) -> None:
    """Runs a command whose output is shown.

    Raises:
        InputError: It fails.
    """
    code = run(root, *command)
    if code:
        raise InputError(f"{' '.join(command[:4])} ended with exit code {code}; what it said stands above")


def run_dvc(root: Path, *arguments: str, **environment: str) -> None:
    """Runs DVC.

    Raises:
        InputError: It fails.
    """
    code = run(root, sys.executable, "-m", "dvc", *arguments, **environment)
    if code:
        raise InputError(f"dvc {arguments[0]} ended with exit code {code}; what it said stands above")


def must_run(root: Path) -> bool:
    """Whether DVC would run a stage; where it cannot even say so, for lack of what was never made, it would."""
    command = [sys.executable, "-m", "dvc", "repro", "--dry", "--allow-missing"]
    dry = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return dry.returncode != 0 or "Running stage" in dry.stdout or "Running callback stage" in dry.stdout


def has_data_remote(root: Path) -> bool:
    """Whether DVC has a default remote."""
    command = [sys.executable, "-m", "dvc", "remote", "default"]
    return subprocess.run(command, cwd=root, capture_output=True, check=False).returncode == 0


def _try_dvc(root: Path, *arguments: str) -> None:
    """Runs DVC on its remote, if it has one; what it could not bring is made again."""
    if has_data_remote(root) and run(root, sys.executable, "-m", "dvc", *arguments, "--quiet"):
        print(f"warning: dvc {arguments[0]} could not bring everything", file=sys.stderr)


def _has_remote(root: Path) -> bool:
    return REMOTE in (lineage.git(root, "remote") or "").split()


def _hash(root: Path, name: str) -> str | None:
    found = lineage.git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return found.strip() if found else None


def _is_ancestor(root: Path, commit: str, of: str) -> bool:
    return lineage.git(root, "merge-base", "--is-ancestor", commit, of) is not None


def _base(root: Path, name: str, upstream: str | None) -> str:
    """Where the branch left the remote's main one; on the main one, what is published."""
    head = lineage.git(root, "symbolic-ref", "--short", f"refs/remotes/{REMOTE}/HEAD")
    main_branch = head.strip().removeprefix(f"{REMOTE}/") if head else "main"
    if name == main_branch:
        return upstream or _hash(root, "HEAD")
    fork = lineage.git(root, "merge-base", f"refs/remotes/{REMOTE}/{main_branch}", "HEAD")
    return fork.strip() if fork else _hash(root, "HEAD")


def _identity(root: Path) -> Sequence[str]:
    """Who commits, where git has not been told."""
    if lineage.git(root, "config", "user.email"):
        return ()
    return ("-c", "user.name=Reprise", "-c", "user.email=reprise@localhost")


if __name__ == "__main__":
    stage.run(main)
