"""params.yaml and runtime.yaml: read as DVC reads them, checked whole, and nothing undeclared can be read."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dvc.utils.serialize import load_yaml
from ruamel.yaml import YAML

from pipeline.errors import InputError
from pipeline.params import check_params, load_params, load_runtime, set_param

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path):
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def change(folder, old, new):
    path = folder / "params.yaml"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) >= 1
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def complaint(folder):
    with pytest.raises(InputError) as caught:
        check_params(folder)
    return str(caught.value)


def test_the_repository_s_own_parameters_are_valid():
    assert check_params(ROOT).audio.sample_rate == 16000


def test_a_misspelt_parameter_is_named_with_the_nearest_spelling(folder):
    change(folder, "  decay_rate:", "  decay_rat:")
    lines = complaint(folder).splitlines()
    assert any("decay_rat is unknown; did you mean decay_rate?" in line for line in lines)
    assert any("decay_rate is missing" in line for line in lines)
    assert len(lines) == 2


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("-1.0", "greater than 0"),
        ("yes", "valid number"),
        ("'1.0'", "valid number"),
        (".nan", "finite"),
        (".inf", "finite"),
        ("[1.0]", "valid number"),
    ],
)
def test_a_value_of_another_type_or_out_of_range_is_one_line_that_says_what_is_allowed(folder, written, said):
    change(folder, "  clip_norm: 1.0", f"  clip_norm: {written}")
    lines = complaint(folder).splitlines()
    assert len(lines) == 1
    assert "clip_norm is " in lines[0]
    assert said in lines[0]


def test_an_illegal_layout_is_refused_with_the_rule_it_breaks(folder):
    change(folder, "  unroll_layer_count: 2", "  unroll_layer_count: 3")
    assert "unroll_layer_count is 3; it must leave one of 3 layers inner: 0 to 2" in complaint(folder)
    assert len(complaint(folder).splitlines()) == 1


def test_a_missing_section_is_named(folder):
    yaml = YAML()
    tree = yaml.load(folder / "params.yaml")
    del tree["codes"]
    yaml.dump(tree, folder / "params.yaml")
    assert "params.yaml: codes is missing" in complaint(folder)


def test_broken_yaml_is_said_in_one_line(folder):
    (folder / "params.yaml").write_text("seed: [1\n", encoding="utf-8")
    assert complaint(folder).startswith("params.yaml is not YAML") or "params.yaml is not YAML" in complaint(folder)
    assert "\n" not in complaint(folder)


@pytest.mark.parametrize("written", ["1e-4", "5E-4", "1_0.5", "0.25"])
def test_numbers_are_those_that_dvc_reads(folder, written):
    change(folder, "  initial_learning_rate: 2.0e-3", f"  initial_learning_rate: {written}")
    read_by_dvc = load_yaml(str(folder / "params.yaml"))["train_wayback"]["initial_learning_rate"]
    if isinstance(read_by_dvc, float):
        assert check_params(folder).train_wayback.initial_learning_rate == read_by_dvc
    else:
        assert "initial_learning_rate" in complaint(folder)


def test_a_stage_reads_what_dvc_yaml_declares_and_nothing_else(folder):
    params = load_params("prepare", folder)
    assert params.text.language == "en"
    with pytest.raises(AttributeError, match=r"'case' is not among this section's keys"):
        _ = params.text.case
    with pytest.raises(AttributeError, match=r"'audio' is not among this stage's params"):
        _ = params.audio


def test_the_flat_values_are_those_that_dvc_tracks(folder):
    flat = load_params("prepare", folder).flat()
    assert flat["text.language"] == "en"
    assert flat["corpus.path"] == "data/corpora/allison"
    assert not any(name.startswith("audio") for name in flat)


def test_wrong_parameters_stop_every_stage_before_any_work(folder):
    change(folder, "  clip_norm: 1.0", "  clip_norm: 0.0")
    arguments = ["--prepared", "nowhere", "--vocabulary", "out"]
    command = [sys.executable, "-m", "pipeline.vocabulary", *arguments]
    ended = subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: params.yaml: train_")
    assert "Traceback" not in ended.stderr
    assert not (folder / "out").exists()


def test_runtime_settings_come_from_the_file_and_over_it_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("DVC_ROOT", raising=False)
    assert load_runtime(tmp_path).ui_port == 5000
    (tmp_path / "runtime.yaml").write_text("ui_port: 5001\nworkers: 3\n", encoding="utf-8")
    monkeypatch.setenv("REPRISE_WORKERS", "4")
    monkeypatch.setenv("REPRISE_TRACKING", "off")
    runtime = load_runtime(tmp_path)
    assert (runtime.ui_port, runtime.workers, runtime.tracking) == (5001, 4, "off")


def test_an_experiment_s_folder_takes_the_main_checkout_s_runtime_settings(tmp_path, monkeypatch):
    (tmp_path / "runtime.yaml").write_text("workers: 7\n", encoding="utf-8")
    (tmp_path / "experiment").mkdir()
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    assert load_runtime(tmp_path / "experiment").workers == 7


def test_a_wrong_runtime_setting_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("REPRISE_WORKERS", "0")
    with pytest.raises(
        InputError, match=r"runtime.yaml: workers is 0; must be a number of processes, 1 or more, or dask"
    ):
        load_runtime(tmp_path)


def test_workers_are_processes_or_the_cluster_of_a_scheduler(tmp_path, monkeypatch):
    assert load_runtime(tmp_path).pool == 2
    monkeypatch.setenv("REPRISE_WORKERS", "dask")
    with pytest.raises(InputError, match=r"^runtime.yaml: workers is dask: set scheduler to the address of one"):
        load_runtime(tmp_path)
    monkeypatch.setenv("REPRISE_SCHEDULER", "tcp://host:8786")
    assert load_runtime(tmp_path).pool == "tcp://host:8786"


def test_setting_a_parameter_keeps_everything_else(folder):
    before = (folder / "params.yaml").read_text(encoding="utf-8").splitlines()
    set_param(folder / "params.yaml", "corpus.path", "data/corpora/mine")
    after = (folder / "params.yaml").read_text(encoding="utf-8").splitlines()
    changed = [
        (old, new)
        for old, new in zip(before, after, strict=True)
        if old.split("#")[0].rstrip() != new.split("#")[0].rstrip()
    ]
    assert [new.split("#")[0].strip() for _, new in changed] == ["path: data/corpora/mine"]
    assert check_params(folder).corpus.path == "data/corpora/mine"
