"""Text to speech before the gate: frames beside frames, sounds beside sounds where symbols differ, or git's figures."""

import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from repositories import Repository, make_repository

from pipeline.promotion.decision import Outcome

pytestmark = pytest.mark.long

OWN = "data/evaluate_tacotron/per_utterance.csv"
FIGURES = ["error", "free_mel_cepstral_distortion_db", "free_diagonality", "stopped"]


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Repository:
    """A project whose first model is the champion, and has its own figures beside it."""
    made = make_repository(tmp_path_factory.mktemp("gate") / "project")
    made.set_params({"gate.min_utterances": 3})
    made.dvc("repro", "evaluate_tacotron")
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "first")
    made.command("pipeline.promote", "--first", "1")
    shutil.copy(made.folder / OWN, made.folder / "champion.csv")
    return made


def judge(project: Repository) -> dict:
    """Runs the gate, and gives its decision."""
    result = subprocess.run(
        [sys.executable, "-m", "pipeline.gate", "--model", "tacotron"],
        cwd=project.folder,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    decision = project.read(".work/gate/tacotron/decision.json")
    assert result.returncode == decision["exit_code"], result.stdout + result.stderr
    return decision


def test_what_is_the_champion_is_not_judged(project):
    assert judge(project)["exit_code"] == Outcome.CHAMPION_ALREADY.value


def test_the_champion_is_measured_anew_and_has_the_figures_of_its_own_evaluation(project):
    project.set_params({"train_tacotron.max_step_count": 12})
    project.dvc("repro", "evaluate_tacotron")
    decision = judge(project)

    own = pd.read_csv(project.folder / "champion.csv").set_index("id")
    pairs = pd.read_csv(project.folder / ".work/gate/tacotron/pairs.csv").set_index("id")
    assert decision["way"] == "frames, from the same symbols"
    assert decision["utterances"] == len(own) >= 3
    for figure in FIGURES:
        np.testing.assert_allclose(
            pairs[f"champion.{figure}"].astype(float), own.loc[pairs.index, figure].astype(float), rtol=1e-6, atol=0
        )
        (judged,) = (each for each in decision["figures"] if each["name"] == figure)
        assert judged["champion"] == pytest.approx(own[figure].astype(float).mean())


def test_where_symbols_differ_both_speak_and_their_sounds_are_compared(project):
    project.set_params({"text.units": "characters"})
    project.dvc("repro", "evaluate_tacotron")
    decision = judge(project)

    pairs = pd.read_csv(project.folder / ".work/gate/tacotron/pairs.csv")
    assert decision["way"] == "sounds"
    assert [figure["name"] for figure in decision["figures"]] == ["free_mel_cepstral_distortion_db"]
    assert decision["utterances"] == len(pairs) >= 3
    assert np.isfinite(pairs[[f"{of}.free_mel_cepstral_distortion_db" for of in ("champion", "candidate")]]).all(
        axis=None
    )
    assert pairs[[f"{of}.free_word_error_rate" for of in ("champion", "candidate")]].notna().any(axis=None)


def test_an_evaluation_that_is_not_the_locked_one_is_refused(project):
    changed = (project.folder / OWN).read_text(encoding="utf-8").replace("0.", "0.0", 1)
    (project.folder / OWN).unlink()
    (project.folder / OWN).write_text(changed, encoding="utf-8")
    with pytest.raises(subprocess.CalledProcessError) as caught:
        project.command("pipeline.gate", "--model", "tacotron")
    assert "dvc.lock has" in caught.value.stderr and caught.value.returncode == 1
