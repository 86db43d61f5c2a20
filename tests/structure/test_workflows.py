"""What hosted CI runs are commands of this repository, which run on a laptop too."""

import re

import graph
import pytest
from ruamel.yaml import YAML

GITHUB = sorted((graph.ROOT / ".github/workflows").glob("*.yml"))
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
    jobs = {name: job for name, job in YAML(typ="safe").load(graph.ROOT / ".gitlab-ci.yml").items() if "script" in job}
    assert jobs
    assert [line for job in jobs.values() for line in job["script"] if not is_ours(line)] == []
