"""Taking a corpus into a repository, with the real DVC."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.add_corpus import main
from pipeline.errors import InputError
from pipeline.params import check_params

ROOT = Path(__file__).parents[3]


@pytest.fixture
def repository(tmp_path_factory, monkeypatch):
    """An empty repository with this one's parameters, as the current folder."""
    folder = tmp_path_factory.mktemp("répo sitory")
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copyfile(ROOT / name, folder / name)
    monkeypatch.chdir(folder)
    subprocess.run(["git", "init", "--quiet"], check=True)
    subprocess.run([sys.executable, "-m", "dvc", "init", "--quiet"], check=True)
    (folder / "data/corpora").mkdir(parents=True)
    return folder


def test_a_folder_becomes_the_corpus_under_dvc_and_parameters_keep_their_comments(repository, tmp_path, write, record):
    record("sounds/a.wav", "sounds/deep/b.flac", ".hidden/c.wav")
    write("sounds/a.txt", "Hi.")
    before = (repository / "params.yaml").read_text("utf-8")
    main(tmp_path, "mine")
    assert (repository / "data/corpora/mine/sounds/deep/b.flac").exists()
    assert not (repository / "data/corpora/mine/.hidden").exists()
    assert (repository / "data/corpora/mine.dvc").exists()
    corpus = check_params(repository).corpus
    assert (corpus.path, corpus.format) == ("data/corpora/mine", "folder")
    after = (repository / "params.yaml").read_text("utf-8")
    assert after.count("#") == before.count("#")
    with pytest.raises(InputError, match="exists already"):
        main(tmp_path, "mine")
