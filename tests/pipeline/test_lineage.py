"""Facts about the checkout: what DVC would write into dvc.lock, what git would restore."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import lineage, locks, why
from pipeline.errors import InputError
from pipeline.params import read_yaml

GRAPH = """\
stages:
  make:
    cmd: >-
      python make.py
      --corpus "${corpus.path}"
    deps:
      - ${corpus.path}
      - make.py
      - source/é file.txt
    params:
      - corpus.path
      - make
      - seed
    outs:
      - data/made
    metrics:
      - data/metrics.json:
          cache: false
"""
PARAMS = "corpus:\n  path: source\n  unused: 1\nmake:\n  rate: 1e-3\n  size: 8\n  list: [1, 2]\nseed: 1\n"
SCRIPT = """\
import pathlib
pathlib.Path("data/made").mkdir(parents=True)
pathlib.Path("data/made/a").write_text("a")
pathlib.Path("data/metrics.json").write_text("{}")
"""


def run(folder: Path, *command: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "DVC_"))}
    environment |= {"DVC_NO_ANALYTICS": "true", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def git(folder: Path, *arguments: str) -> str:
    return run(folder, "git", "-c", "user.name=somebody", "-c", "user.email=somebody@example.org", *arguments)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "répertoire de test"
    (root / "source" / "__pycache__").mkdir(parents=True)
    (root / "source" / "sub").mkdir()
    for name in ("é file.txt", "a.txt", "sub/b.txt", "__pycache__/c.pyc"):
        (root / "source" / name).write_text(name)
    (root / "dvc.yaml").write_text(GRAPH)
    (root / "params.yaml").write_text(PARAMS)
    (root / "make.py").write_text(SCRIPT)
    (root / ".dvcignore").write_text("__pycache__\n*.pyc\n")
    (root / ".gitignore").write_text("/data/made\n__pycache__/\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    monkeypatch.chdir(root)
    for name in [name for name in os.environ if name.startswith(("GIT_", "DVC_"))]:
        monkeypatch.delenv(name)
    return root


def test_command_hashes_and_parameters_are_those_that_dvc_writes_into_its_lock(checkout: Path) -> None:
    facts = lineage.stage_facts("make")
    run(checkout, "dvc", "init", "-q", "-f")
    (checkout / ".dvcignore").write_text("__pycache__\n*.pyc\n")
    run(checkout, "dvc", "repro", "-q")
    lock = read_yaml(checkout / "dvc.lock")["stages"]["make"]

    assert facts.command == lock["cmd"]
    assert facts.deps == {dep["path"]: dep["md5"] for dep in lock["deps"]}
    assert facts.params == {
        "corpus.path": "source",
        "make.rate": 0.001,
        "make.size": 8,
        "make.list": [1, 2],
        "seed": 1,
    }
    assert locks.locked_facts(locks.read_lock(checkout)["make"]) == facts
    outs = {out["path"]: out["md5"] for out in lock["outs"]}
    assert outs == {path: lineage.path_md5(checkout / path, checkout) for path in lineage.stage_outputs(checkout)}


def test_why_lists_what_differs_and_nothing_else(checkout: Path) -> None:
    before = lineage.stage_facts("make")
    (checkout / "params.yaml").write_text(PARAMS.replace("size: 8", "size: 9"))
    (checkout / "source" / "a.txt").write_text("other")
    now = lineage.stage_facts("make")
    parameter, dependency = why.changes(checkout, before, now, {"source": "record"})
    assert parameter == "  parameter   make.size: 8 -> 9"
    old, new = before.deps["source"][:8], now.deps["source"][:8]
    assert dependency == f"  dependency  source (made by record): {old} -> {new}"


def test_the_digest_changes_with_what_decides_the_outputs_and_with_nothing_else(checkout: Path) -> None:
    first = lineage.stage_digest("make")

    def changed(path: str, text: str) -> bool:
        before = (checkout / path).read_text()
        (checkout / path).write_text(text)
        try:
            return lineage.stage_digest("make") != first
        finally:
            (checkout / path).write_text(before)

    assert changed("source/sub/b.txt", "other")
    assert changed("make.py", "other")
    assert changed("params.yaml", PARAMS.replace("size: 8", "size: 9"))
    assert changed("dvc.yaml", GRAPH.replace("--corpus", "--other"))
    assert not changed("params.yaml", PARAMS.replace("1e-3", "0.0010").replace("size: 8", "size: 8.0"))
    assert not changed("params.yaml", PARAMS.replace("unused: 1", "unused: 2"))
    assert not changed("source/__pycache__/c.pyc", "other")


def test_a_parameter_can_be_left_out_of_the_digest(checkout: Path) -> None:
    before = lineage.stage_digest("make", without={"make.size"})
    (checkout / "params.yaml").write_text(PARAMS.replace("size: 8", "size: 9"))
    assert lineage.stage_digest("make", without={"make.size"}) == before
    assert lineage.stage_digest("make") != before


def test_an_unknown_stage_is_named_with_the_known_ones(checkout: Path) -> None:
    with pytest.raises(InputError, match="no stage bake; it has make"):
        lineage.stage_facts("bake")


def test_a_missing_dependency_has_no_hash(checkout: Path) -> None:
    (checkout / "make.py").unlink()
    assert lineage.stage_facts("make").deps["make.py"] is None


def test_the_patch_restores_changed_removed_binary_and_untracked_sources_and_leaves_the_repository_alone(
    checkout: Path, tmp_path: Path
) -> None:
    (checkout / "make.py").write_text("changed\n")
    (checkout / "source" / "a.txt").unlink()
    (checkout / "neue Datei ä.py").write_text("new\n")
    (checkout / "binary").write_bytes(bytes(range(256)))
    before = (git(checkout, "status", "--porcelain"), git(checkout, "count-objects"))

    facts = lineage.git_facts()

    assert facts is not None
    assert facts.dirty
    assert (git(checkout, "status", "--porcelain"), git(checkout, "count-objects")) == before
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(checkout), str(clone))
    git(clone, "checkout", "-q", facts.commit)
    (tmp_path / "patch").write_text(facts.diff)
    git(clone, "apply", str(tmp_path / "patch"))
    assert contents(clone) == contents(checkout)


def test_parameters_outputs_and_the_lock_do_not_make_the_code_dirty_but_the_patch_has_the_parameters(
    checkout: Path,
) -> None:
    (checkout / "params.yaml").write_text(PARAMS.replace("size: 8", "size: 9"))
    (checkout / "dvc.lock").write_text("x\n")
    (checkout / "data").mkdir()
    (checkout / "data" / "metrics.json").write_text("{}")

    facts = lineage.git_facts()

    assert facts is not None
    assert not facts.dirty
    assert "+  size: 9" in facts.diff
    assert "metrics.json" not in facts.diff
    assert "dvc.lock" not in facts.diff


def test_a_large_untracked_file_is_named_and_left_out_of_the_patch(checkout: Path) -> None:
    (checkout / "large.bin").write_bytes(bytes(lineage.LARGEST_UNTRACKED_SOURCE + 1))
    facts = lineage.git_facts()
    assert facts is not None
    assert facts.left_out == ["large.bin"]
    assert facts.diff == ""


def test_outside_git_and_before_the_first_commit_there_are_no_facts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert lineage.git_facts() is None
    git(tmp_path, "init", "-q")
    assert lineage.git_facts() is None


def test_the_main_checkout_is_found_from_sub_folders_work_trees_and_experiments(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = checkout / ".dvc" / "tmp" / "exps" / "tmp1"
    temporary.parent.mkdir(parents=True)
    for tree in (temporary, tmp_path / "tree"):
        git(checkout, "worktree", "add", "-q", "--detach", str(tree))
    nested = tmp_path / "tree" / ".dvc" / "tmp" / "exps" / "standalone" / "tmp2"
    nested.mkdir(parents=True)
    shutil.copy(checkout / "dvc.yaml", nested)

    for folder in (checkout, checkout / "source", temporary, temporary / "source", tmp_path / "tree", nested):
        monkeypatch.chdir(folder)
        assert lineage.main_root() == checkout
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DVC_ROOT", str(tmp_path / "tree"))
    assert lineage.main_root() == checkout
    assert lineage.work_folder() == checkout / ".work"


def contents(folder: Path) -> dict[str, bytes]:
    files = git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate").split("\0")
    return {name: (folder / name).read_bytes() for name in files if name and (folder / name).exists()}
