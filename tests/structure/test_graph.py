"""dvc.yaml and the code agree."""

import re

import graph
import pytest

STAGES = graph.stages()


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_depends_on_exactly_the_modules_it_imports(name):
    declared, needed = graph.code_deps(STAGES[name]), graph.closure(graph.entry(STAGES[name]))
    assert declared == needed, f"dvc.yaml, {name}: add {sorted(needed - declared)}, remove {sorted(declared - needed)}"


@pytest.mark.parametrize("name", STAGES)
def test_stage_module_and_section_have_one_name(name):
    assert graph.entry(STAGES[name]) == f"pipeline/{name}.py"
    assert (graph.ROOT / f"pipeline/sections/{name}.py").exists()
    assert any(param.split(".")[0] == name for param in STAGES[name]["params"])


@pytest.mark.parametrize("name", STAGES)
def test_what_the_command_reads_and_writes_is_declared(name):
    stage = STAGES[name]
    metrics = [path for entry in stage.get("metrics", []) for path in entry]
    declared = {*stage["deps"], *stage["outs"], *metrics, "data"}
    named = re.findall(r'--\S+ "?([^"\s]+)"?', stage["cmd"])
    assert set(named) <= declared


@pytest.mark.parametrize("name", STAGES)
def test_inputs_are_the_corpus_or_what_a_stage_above_writes(name):
    above = list(STAGES)[: list(STAGES).index(name)]
    written = {out for stage in above for out in STAGES[stage]["outs"]}
    written |= {path for stage in above for entry in STAGES[stage].get("metrics", []) for path in entry}
    read = {path for path in STAGES[name]["deps"] if path.startswith(("data/", "$"))}
    given = {"${corpus.path}", *(path for path in read if path.endswith(".initialize_from}"))}
    assert read <= written | given


@pytest.mark.parametrize("name", [name for name in STAGES if name.startswith("train_")])
def test_trainings_have_cached_outputs_only(name):
    assert all(isinstance(out, str) for out in STAGES[name]["outs"])
    assert "metrics" not in STAGES[name]


def test_the_pinned_versions_are_those_that_are_installed_from():
    pinned = (graph.ROOT / "requirements.txt").read_text(encoding="utf-8")
    for path in (graph.ROOT / "pipeline/versions").iterdir():
        for line in path.read_text(encoding="utf-8").splitlines():
            assert f"{line} \\" in pinned, f"{path.name}: {line} is not what requirements.txt pins; run make lock"


@pytest.mark.parametrize(
    ("libraries", "stages"),
    [
        ("training", [name for name in STAGES if "_" in name]),
        ("features", [name for name in STAGES if "_" not in name and name != "report"]),
        ("recognition", ["evaluate_tacotron", "synthesize_tacotron"]),
    ],
)
def test_stages_depend_on_the_versions_they_compute_with(libraries, stages):
    for name in stages:
        assert f"pipeline/versions/{libraries}.txt" in STAGES[name]["deps"], name
