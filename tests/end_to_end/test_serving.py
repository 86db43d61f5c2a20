"""The champion behind MLflow's model server: what it answers, and what it refuses in one line."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
import wave
from collections.abc import Iterator

import pytest

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def address(trained) -> Iterator[str]:
    """Where the champion of the tiny project is served."""
    trained.command("pipeline.champion", "--model", "reprise-tacotron", "--version", "1")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "pipeline.serve", "--port", str(port)],
        cwd=trained.folder,
        env=trained.environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    printed = ""
    for line in server.stdout:
        printed += line
        if "answers at" in line:
            break
    else:
        raise AssertionError(printed)
    yield f"http://127.0.0.1:{port}"
    os.kill(server.pid, signal.SIGINT)
    server.communicate()


def refused(address: str, body: bytes) -> tuple[int, str]:
    """Status and message of a request that is refused."""
    request = urllib.request.Request(f"{address}/invocations", body, {"Content-Type": "application/json"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=300)
    return caught.value.code, json.loads(caught.value.read())["message"]


def test_the_served_champion_says_what_the_command_says_to_the_byte(trained, address, tmp_path):
    served, said = tmp_path / "served.wav", tmp_path / "said.wav"
    trained.command("pipeline.say", "--text", "Goodbye.", "--out", str(served), "--server", address)
    trained.command("pipeline.say", "--text", "Goodbye.", "--out", str(said))
    assert served.read_bytes() == said.read_bytes()
    with wave.open(str(served)) as sound:
        assert sound.getnframes() > 0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"dataframe_records": [', "JSON"),
        (b'{"sentences": ["Goodbye."]}', "dataframe_records"),
        (b'{"dataframe_records": [{"txt": "Goodbye."}]}', "text"),
        (b'{"dataframe_records": [{"text": 7}]}', "text"),
        (b'{"dataframe_records": [{"text": "  "}]}', "nothing that can be said"),
    ],
    ids=["no JSON", "no records", "no column text", "a number", "nothing to say"],
)
def test_a_wrong_request_gets_400_and_one_line(address, body, words):
    status, message = refused(address, body)
    assert status == 400
    assert words in message and "\n" not in message


def test_a_refused_text_is_one_line_for_the_command_too(trained, address, tmp_path):
    command = [sys.executable, "-m", "pipeline.say", "--text", " ", "--out", str(tmp_path / "x.wav")]
    result = subprocess.run(
        [*command, "--server", address],
        cwd=trained.folder,
        env=trained.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1 and "refuses" in result.stderr and len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "x.wav").exists()
