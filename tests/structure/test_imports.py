"""Imports flow one way, and each edge has one home."""

import re

import graph
import pytest

EVERYTHING = [path for package in graph.PACKAGES for path in graph.modules(package)]
WITHOUT_TENSORFLOW = ("prepare", "vocabulary", "mels", "codes", "report", "headline", "params", "check", "compare")


def importers(root: str) -> list[str]:
    return [path for path in EVERYTHING if root in graph.imported_roots(path)]


def test_models_do_not_know_the_pipeline():
    assert [path for path in graph.modules("models") if "pipeline" in graph.imported_roots(path)] == []


def test_models_know_tensors_alone():
    allowed = {
        "tensorflow",
        "numpy",
        "models",
        "math",
        "typing",
        "collections",
        "functools",
        "dataclasses",
        "itertools",
    }
    for path in graph.modules("models"):
        assert graph.imported_roots(path) <= allowed, path


def test_the_two_models_do_not_know_each_other():
    for path in graph.modules("models/tacotron"):
        assert not any(found.startswith("models/wayback") for found in graph.imports(path)), path
    for path in graph.modules("models/wayback"):
        assert not any(found.startswith("models/tacotron") for found in graph.imports(path)), path


def test_mlflow_is_imported_in_tracking_alone():
    found = importers("mlflow")
    assert found
    assert all(path.startswith("pipeline/tracking/") for path in found)


@pytest.mark.parametrize("library", ["ruamel", "librosa"])
def test_an_edge_has_one_home(library):
    assert len(importers(library)) == 1


def test_texts_become_symbols_by_one_road_for_training_and_synthesis():
    inner = {f"pipeline/text/{name}.py" for name in ("english", "numbers", "phonemes")}
    assert [path for path in EVERYTHING if graph.imports(path) & inner and not path.startswith("pipeline/text/")] == []


@pytest.mark.parametrize("module", WITHOUT_TENSORFLOW)
def test_stages_that_need_no_tensorflow_do_not_import_it(module):
    reached = graph.closure(f"pipeline/{module}.py")
    assert [path for path in reached if "tensorflow" in graph.imported_roots(path)] == []


def test_the_repository_names_no_package_index_and_no_path_of_a_machine():
    pattern = re.compile(r"(pypi|pythonhosted|npmjs|registry)\.(org|com|io)|/(home|root|Users)/\w+")
    suffixes = {".py", ".md", ".yaml", ".yml", ".txt", ".toml", ".in", ".cfg", ".json"}
    files = [
        path
        for folder in (".", "pipeline", "models", "tests", "bench", ".ci", ".dvc")
        for path in (graph.ROOT / folder).glob("*" if folder == "." else "**/*")
        if path.suffix in suffixes and path.is_file() and not {"cache", "tmp"} & {*path.relative_to(graph.ROOT).parts}
    ]
    assert len(files) > 50
    found = {
        path.relative_to(graph.ROOT).as_posix(): match.group()
        for path in files
        if path.name != "test_imports.py" and (match := pattern.search(path.read_text(encoding="utf-8")))
    }
    assert found == {}
