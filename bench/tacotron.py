"""Tacotron 2 beside torchaudio's, both alive in processes of their own and measured in turn.

`make bench NAME=tacotron` makes the peer's environment under .work/bench (PyTorch, and from torchaudio the one file
that holds the model, unmodified) and prints times, ratios, the share of the matrix product's peak, and peak memory.

Our step is that of training: determinism on, dropout and zoneout on, clipping and Adam included, with length masks.
"""

import argparse
import importlib.util
import statistics
import subprocess
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.contenders import LAUNCHER, Contender, in_turn, make_torch, serve

TORCHAUDIO = "torchaudio==2.11.1"
PEER_FILE = "torchaudio/models/tacotron2.py"
BATCH, SYMBOLS, FRAMES, MELS, DECODED, THREADS = 16, 60, 200, 80, 400, 2
VOCABULARY = 60
PEAK_SHAPE = (3200, 1536, 4096)


class Size(NamedTuple):
    """Units of the parts, and the multiplications and additions of a training step (GFLOP)."""

    convolution: int
    encoder: int
    attention: int
    lstm: int
    prenet: int
    postnet: int
    gflop: float


SIZES = {
    "standard": Size(512, 512, 128, 1024, 256, 512, 472.0),
    "small": Size(128, 128, 64, 256, 128, 128, 37.7),
}


def main() -> None:
    """Prints a table of one size after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--samples", type=int, default=7)
    parser.add_argument("--peer-python", type=Path, help="a Python that has PyTorch; made where it is not given")
    parser.add_argument("--peer-code", type=Path, help="torchaudio's models/tacotron2.py")
    parser.add_argument("--contender", choices=["ours", "peer"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contender:
        serve_work(arguments.contender, arguments.sizes[0], arguments.peer_code)
        return
    python, code = arguments.peer_python, arguments.peer_code
    if python is None or code is None:
        python, code = make_peer(Path(".work/bench"))
    for size in arguments.sizes:
        compare(size, arguments.samples, python, code)


def compare(size: str, samples: int, python: Path, code: Path) -> None:
    """Runs both contenders in turn and prints medians and their ratios."""
    interpreters = {"ours": LAUNCHER, "peer": python}
    contenders = {
        name: Contender(each, __file__, ["--contender", name, "--sizes", size, "--peer-code", str(code)])
        for name, each in interpreters.items()
    }
    peak = statistics.median(contenders["ours"].measure("peak") for _ in range(samples))
    gigaflops = 2 * PEAK_SHAPE[0] * PEAK_SHAPE[1] * PEAK_SHAPE[2] / 1e9 / peak
    print(f"{size}: matrix product {gigaflops:.0f} GFLOP/s", flush=True)
    for work in ("step", "decode 1", "decode 8"):
        medians = in_turn(contenders, work, samples)
        ratio = medians["peer"] / medians["ours"]
        line = f"  {work:<9} ours {medians['ours']:.4f} s  torchaudio {medians['peer']:.4f} s  ratio {ratio:.2f}"
        if work == "step":
            share = SIZES[size].gflop / medians["ours"] / gigaflops
            memory = " ".join(f"{name} {each.measure('memory') / 2**30:.2f} GiB" for name, each in contenders.items())
            line += f"  {share:.0%} of the matrix product's peak, peak memory {memory}"
        print(line, flush=True)
    for contender in contenders.values():
        contender.end()


def serve_work(name: str, size: str, code: Path) -> None:
    """Answers the works named on the standard input."""
    serve(ours(SIZES[size]) if name == "ours" else peer(SIZES[size], code))


def ours(size: Size) -> dict[str, Callable[[], None]]:
    """What this repository trains and runs."""
    import numpy as np
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(THREADS)
    tf.config.experimental.enable_op_determinism()

    from pipeline.tacotron.frames import Scale
    from pipeline.tacotron.learner import TacotronLearner
    from pipeline.tacotron.trained import build, settings_from
    from pipeline.training.adam import Adam
    from pipeline.training.fit import make_step

    params = our_params(size)
    model, variables = build(settings_from(params, VOCABULARY, MELS), 0)
    scale = Scale(np.zeros(MELS, np.float32), np.ones(MELS, np.float32))
    with tempfile.TemporaryDirectory() as folder:
        split = utterances(Path(folder), FRAMES - params.stop_frames)
        learner = TacotronLearner(model, variables, split, split, scale, params, 0)
        arrays = {name: tf.constant(array) for name, array in next(learner.batches(None)).arrays.items()}
    adam = Adam(learner.variables, params.adam_beta1, params.adam_beta2, params.adam_epsilon)
    take_step = make_step(learner, adam, params.clip_norm)
    rate = tf.constant(1e-4, tf.float64)
    texts = {rows: tf.ones([rows, SYMBOLS], tf.int32) for rows in (1, 8)}

    def step() -> None:
        outcome = take_step(arrays, (), tf.constant(0, tf.int64), rate, tf.constant(False))
        float(outcome.loss)

    speak = tf.function(model.speak, autograph=False)

    def decode(rows: int) -> None:
        seed = tf.constant([0, 0], tf.int64)
        speak(texts[rows], tf.fill([rows], SYMBOLS), DECODED, 1.0, params.prenet_dropout, seed).outputs.refined.numpy()

    left, right = tf.ones(PEAK_SHAPE[:2]), tf.ones(PEAK_SHAPE[1:])

    def multiply() -> None:
        tf.matmul(left, right)[0, 0].numpy()

    return {
        "step": step,
        "decode 1": lambda: decode(1),
        "decode 8": lambda: decode(8),
        "peak": multiply,
    }


def our_params(size: Size):
    """The training's parameters with these sizes, one frame a step."""
    from pipeline.params import check_params

    changes = {
        "reduction_factor": 1,
        "embedding_units": size.convolution,
        "encoder_units": size.encoder,
        "attention_units": size.attention,
        "attention_lstm_units": size.lstm,
        "decoder_lstm_units": size.lstm,
        "prenet_units": size.prenet,
        "postnet_units": size.postnet,
        "batch_size": BATCH,
        "bucket_count": 1,
    }
    return check_params(Path(__file__).parents[1]).train_tacotron.model_copy(update=changes)


def utterances(folder: Path, frames: int):
    """A split of random utterances, all of one length."""
    import json

    import numpy as np

    from pipeline.shards import open_mels, write_mels

    draw = np.random.default_rng(0)
    with write_mels(folder, MELS) as writer:
        for number in range(BATCH):
            symbol_ids = draw.integers(1, VOCABULARY, SYMBOLS).astype(np.int32)
            mels = draw.normal(size=(frames, MELS)).astype(np.float32)
            writer.add(str(number), "train", {"frames": mels, "symbols": symbol_ids}, ("",))
    (folder / "manifest.json").write_text(json.dumps({"content": "mels", "format": 1}))
    return open_mels(folder).split("train")


def peer(size: Size, code: Path) -> dict[str, Callable[[], None]]:
    """torchaudio's model, unmodified, with the reference's loss, clipping and Adam."""
    import torch

    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    spec = importlib.util.spec_from_file_location("peer_tacotron2", code)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.Tacotron2(
        n_mels=MELS,
        n_symbol=VOCABULARY,
        symbol_embedding_dim=size.convolution,
        encoder_embedding_dim=size.encoder,
        decoder_rnn_dim=size.lstm,
        attention_rnn_dim=size.lstm,
        attention_hidden_dim=size.attention,
        prenet_dim=size.prenet,
        postnet_embedding_dim=size.postnet,
        decoder_max_step=DECODED,
        gate_threshold=1.0,
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, eps=1e-6, weight_decay=1e-6)
    tokens = torch.randint(1, VOCABULARY, (BATCH, SYMBOLS))
    token_counts = torch.full((BATCH,), SYMBOLS)
    mels = torch.randn(BATCH, MELS, FRAMES)
    frame_counts = torch.full((BATCH,), FRAMES)
    stops = torch.zeros(BATCH, FRAMES)
    stops[:, -1] = 1.0

    def step() -> None:
        model.train()
        before, after, stop_logits, _ = model(tokens, token_counts, mels, frame_counts)
        loss = torch.nn.functional.mse_loss(before, mels) + torch.nn.functional.mse_loss(after, mels)
        loss = loss + torch.nn.functional.binary_cross_entropy_with_logits(stop_logits, stops)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()

    def decode(rows: int) -> None:
        model.eval()
        with torch.no_grad():
            model.infer(tokens[:rows], token_counts[:rows])

    return {"step": step, "decode 1": lambda: decode(1), "decode 8": lambda: decode(8)}


def make_peer(folder: Path) -> tuple[Path, Path]:
    """The peer's Python and its file; they are made once."""
    python, code = make_torch(folder), folder / PEER_FILE
    if not code.exists():
        subprocess.run([python, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, TORCHAUDIO], check=True)
        with zipfile.ZipFile(next(folder.glob("torchaudio-*.whl"))) as wheel:
            wheel.extract(PEER_FILE, folder)
    return python, code


if __name__ == "__main__":
    main()
