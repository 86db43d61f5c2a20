"""How long the served champion takes to say a sentence, beside how long the sentence lasts.

Run as `python -m bench.serve` where there is a champion (`make repro`, `make promote FIRST=1`).
"""

import io
import os
import signal
import socket
import subprocess
import sys
import time
from statistics import median

import soundfile

from bench.contenders import ROOT
from pipeline.params import check_params
from pipeline.server import ask

ASKED = 5


def main() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "pipeline.serve", "--port", str(port)]
    server = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = []
    for line in server.stdout:
        said.append(line)
        if "answers at" in line:
            break
    else:
        raise SystemExit("".join(said))
    try:
        measure(f"http://127.0.0.1:{port}")
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate()


def measure(address: str) -> None:
    """Prints a row a sentence of params.yaml."""
    print(f"{os.cpu_count()} cores; median of {ASKED} requests after the first\n")
    print("| sentence | lasts, s | first request, s | request, s | request / sentence |")
    print("|---|---|---|---|---|")
    for text in check_params().synthesize_tacotron.sentences:
        taken = []
        for _ in range(1 + ASKED):
            started = time.perf_counter()
            (row,) = ask(address, [{"text": text}])
            taken.append(time.perf_counter() - started)
        lasts = soundfile.info(io.BytesIO(row["audio"])).duration
        usual = median(taken[1:])
        print(f"| {text} | {lasts:.2f} | {taken[0]:.2f} | {usual:.2f} | {usual / lasts:.2f} |", flush=True)


if __name__ == "__main__":
    main()
