"""What hosted CI runs are commands of this repository, which run on a laptop too."""

import re
import subprocess
import sys

import graph
import pytest
from ruamel.yaml import YAML

GITHUB = sorted((graph.ROOT / ".github/workflows").glob("*.yml"))
GITLAB = graph.ROOT / ".gitlab-ci.yml"
RETRAIN = YAML(typ="safe").load(graph.ROOT / ".github/workflows/retrain.yml")
MAKEFILE = (graph.ROOT / "Makefile").read_text(encoding="utf-8")


def is_ours(command: str) -> bool:
    """Whether a line runs a script of .ci or a target of the Makefile."""
    words = command.split()
    if words[0] == "make":
        return re.search(rf"^{re.escape(words[1])}:", MAKEFILE, re.MULTILINE) is not None
    return words[0].startswith(".ci/") and (graph.ROOT / words[0]).stat().st_mode & 0o111 != 0


@pytest.mark.parametrize("path", GITHUB, ids=lambda path: path.name)
def test_github_runs_our_commands_with_the_least_rights_and_an_end(path):
    workflow = YAML(typ="safe").load(path)
    assert "permissions" in workflow
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] > 0
        commands = [line for step in job["steps"] if "run" in step for line in step["run"].splitlines()]
        assert commands
        assert [line for line in commands if not is_ours(line)] == []
        assert all(re.search(r"@v\d", step["uses"]) for step in job["steps"] if "uses" in step)


def test_gitlab_runs_our_commands():
    jobs = {name: job for name, job in YAML(typ="safe").load(GITLAB).items() if "script" in job}
    assert jobs
    assert [line for job in jobs.values() for line in job["script"] if not is_ours(line)] == []


@pytest.mark.parametrize(
    ("schema", "path"),
    [*(("vendor.github-workflows", path) for path in GITHUB), ("vendor.gitlab-ci", GITLAB)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_it_is_what_the_host_reads(schema, path):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_retraining_starts_on_changes_on_a_schedule_and_by_hand_and_once_a_branch_at_a_time():
    assert {*RETRAIN["on"]} == {"push", "pull_request", "schedule", "workflow_dispatch"}
    assert {"data/**", "params.yaml", "dvc.yaml", "pipeline/**", "models/**"} <= {*RETRAIN["on"]["push"]["paths"]}
    assert "github.ref_name" in RETRAIN["concurrency"]["group"]
    assert RETRAIN["concurrency"]["cancel-in-progress"] is False


def test_a_fork_gets_no_secrets_and_only_the_main_branch_moves_champions():
    job = RETRAIN["jobs"]["retrain"]
    assert "head.repo.full_name == github.repository" in job["if"]
    assert "pull_request_target" not in RETRAIN["on"]
    assert job["env"]["PROMOTES"].startswith("${{ github.event_name != 'pull_request' && github.ref_name ==")
