"""Wayback beside PyTorch's LSTM, both alive in processes of their own and measured in turn.

`make bench NAME=wayback` makes the peer's environment under .work/bench and prints times and ratios: training steps of
the stack beside `nn.LSTM` layers of equal sizes, of the wayback layout beside our own stack, sampling beside PyTorch's
step loop; and, as a picture, what a longer span costs in memory and time.

Our step is that of training: determinism on, masks, clipping and Adam included. In training the peer is the same stack
with an embedding table in place of our input network: `nn.LSTM` layers whose outputs all enter the output network;
nothing is masked. In sampling its output network sees the top layer alone, so that one `nn.LSTM` does all layers.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bench.contenders import (
    LAUNCHER,
    ROOT,
    Contender,
    forget_largest_memory,
    in_turn,
    make_torch,
    present_memory,
    serve,
)

SYMBOLS, THREADS, LAYERS = 256, 2, 3
OURS_SAMPLED, PEER_SAMPLED = 2048, 256


class Case(NamedTuple):
    """A layout and its sizes.

    Attributes:
        original_seconds: A training step of the authors' code, on an AVX-512 processor; for orientation.
    """

    layout: str
    units: int
    periods: tuple[int, ...]
    boundaries: tuple[int, ...]
    unroll_layer_count: int
    batch_size: int
    original_seconds: float

    @property
    def steps(self) -> int:
        """Symbols of a row in a training step."""
        return self.boundaries[-1] * (self.periods[1] * self.periods[2] if self.layout == "wayback" else 1)


CASES = {
    "stack-256": Case("stack", 256, (1, 1, 1), (100, 100, 100), 0, 64, 0.366),
    "stack-512": Case("stack", 512, (1, 1, 1), (100, 100, 100), 0, 64, 1.081),
    "wayback-256": Case("wayback", 256, (1, 4, 4), (64, 16, 8), 2, 64, 0.228),
    "wayback-256-whole": Case("wayback", 256, (1, 4, 4), (64, 16, 8), 0, 64, 0.359),
}
SPANS = (8, 16, 32, 64)
SPAN_UNITS, SPAN_BATCH = 32, 8192


def main() -> None:
    """Prints the tables and draws the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--samples", type=int, default=7)
    parser.add_argument("--peer-python", type=Path, help="a Python that has PyTorch; made where it is not given")
    parser.add_argument("--plot", type=Path, default=Path(".work/bench/wayback_span.png"))
    parser.add_argument("--contender", choices=["ours", "peer", "span"], help=argparse.SUPPRESS)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contender:
        serve(CONTENDERS[arguments.contender](arguments.case))
        return
    for part in arguments.parts:
        PARTS[part](arguments)


def compare_training(arguments: argparse.Namespace) -> None:
    """Training steps of the stack, ours and the peer's."""
    for case in ("stack-256", "stack-512"):
        contenders = both(arguments, case)
        first = contenders["ours"].measure("step")
        medians = in_turn(contenders, "step", arguments.samples)
        ratio = medians["peer"] / medians["ours"]
        memory = ", ".join(f"{name} {each.measure('memory') / 2**30:.2f} GiB" for name, each in contenders.items())
        print(
            f"{case} training step: ours {medians['ours']:.3f} s  PyTorch {medians['peer']:.3f} s  ratio {ratio:.2f}  "
            f"(the original elsewhere {CASES[case].original_seconds} s; our first step {first:.1f} s; {memory})",
            flush=True,
        )
        end(contenders)


def compare_layouts(arguments: argparse.Namespace) -> None:
    """Time per symbol of the wayback layout against our own stack of the same sizes."""
    names = ("stack-256", "wayback-256", "wayback-256-whole")
    contenders = {name: contender(LAUNCHER, "ours", name) for name in names}
    medians = in_turn(contenders, "step", arguments.samples)
    traces = {name: each.measure("retraced") for name, each in contenders.items()}
    per_symbol = {name: seconds / CASES[name].steps for name, seconds in medians.items()}
    for name in names:
        print(
            f"{name} training step: {medians[name]:.3f} s, {per_symbol[name] / per_symbol[names[0]]:.2f} of the stack's "
            f"time per symbol (the original elsewhere {CASES[name].original_seconds} s), retraced {traces[name]:.0f} times",
            flush=True,
        )
    end(contenders)


def compare_sampling(arguments: argparse.Namespace) -> None:
    """Symbols a second of all rows, ours in both layouts and the peer's step loop."""
    contenders = {name: contender(LAUNCHER, "ours", name) for name in ("stack-256", "wayback-256")}
    contenders["peer"] = contender(peer_python(arguments), "peer", "stack-256")
    for rows in (1, 16):
        medians = in_turn(contenders, f"sample {rows}", arguments.samples)
        sampled = {name: PEER_SAMPLED if name == "peer" else OURS_SAMPLED for name in contenders}
        rates = {name: rows * sampled[name] / seconds for name, seconds in medians.items()}
        shown = "  ".join(f"{name} {rate:.0f} ({rate / rates['peer']:.1f}x)" for name, rate in rates.items())
        print(f"sampling, batch {rows}, symbols a second: {shown}", flush=True)
    end(contenders)


def measure_spans(arguments: argparse.Namespace) -> None:
    """Peak memory and time of a training step as the top layer's boundary grows and the inner ones stay."""
    peaks, seconds, shares = [], [], []
    for boundary in SPANS:
        keep_nothing = {
            "MALLOC_MMAP_THRESHOLD_": "262144",
            "MALLOC_TRIM_THRESHOLD_": "262144",
            "TF_ENABLE_ONEDNN_OPTS": "0",  # whose allocator keeps what it once had
        }
        measured = contender(Path(sys.executable), "span", str(boundary), keep_nothing)
        measured.measure("step")
        seconds.append(min(measured.measure("step") for _ in range(3)))
        peaks.append(measured.measure("memory"))
        shares.append(1 - measured.measure("resting") / peaks[-1])
        steps = boundary * 16
        print(
            f"span {steps:>5} steps: peak {peaks[-1] / 2**30:.3f} GiB ({peaks[-1] / peaks[max(len(peaks) - 2, 0)] - 1:+.1%}), "
            f"{shares[-1]:.0%} of it the step's own, {seconds[-1]:.2f} s",
            flush=True,
        )
        end({"span": measured})
    draw_spans(arguments.plot, peaks, seconds)


def draw_spans(path: Path, peaks: list[float], seconds: list[float]) -> None:
    """Memory and time over the span."""
    import matplotlib.pyplot as plt

    spans = [boundary * 16 for boundary in SPANS]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for axis, values, label in zip(
        axes, ([peak / 2**30 for peak in peaks], seconds), ("peak memory (GiB)", "training step (s)"), strict=True
    ):
        axis.plot(spans, values, marker="o")
        axis.set(xlabel="span of the top layer's gradient (steps)", ylabel=label, ylim=(0, 1.1 * max(values)))
        axis.grid(alpha=0.3)
    figure.suptitle(f"3x{SPAN_UNITS}, batch {SPAN_BATCH}, periods [1, 4, 4], inner boundaries [128, 32]")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    print(f"drawn: {path}")


PARTS = {
    "training": compare_training,
    "layouts": compare_layouts,
    "sampling": compare_sampling,
    "spans": measure_spans,
}


def both(arguments: argparse.Namespace, case: str) -> dict[str, Contender]:
    return {
        "ours": contender(LAUNCHER, "ours", case),
        "peer": contender(peer_python(arguments), "peer", case),
    }


def contender(python: Path, name: str, case: str, environment: dict[str, str] | None = None) -> Contender:
    return Contender(python, __file__, ["--contender", name, "--case", case], environment)


def peer_python(arguments: argparse.Namespace) -> Path:
    return arguments.peer_python or make_torch(ROOT / ".work" / "bench")


def end(contenders: dict[str, Contender]) -> None:
    for each in contenders.values():
        each.end()


def ours(case: str) -> dict[str, Callable[[], Any]]:
    """What this repository trains and samples with."""
    import numpy as np

    set_up()
    from pipeline.progress import Progress
    from pipeline.wayback.sampling import Sampler

    learner, model, take_step = our_training(our_params(CASES[case]))
    sampler = Sampler(model, 0)

    def sample(rows: int) -> None:
        primers = np.full((rows, 2), SYMBOLS // 2)
        silent = Progress("sampling", rows * OURS_SAMPLED, "symbols")
        sampler.continue_rows(primers, [1.0], OURS_SAMPLED, range(rows), silent)

    return {
        "step": stepper(learner, take_step),
        "retraced": lambda: take_step.experimental_get_tracing_count() - 1,
        "sample 1": lambda: sample(1),
        "sample 16": lambda: sample(16),
    }


def span(boundary: str) -> dict[str, Callable[[], Any]]:
    """A training step whose memory is that of its activations."""
    set_up()
    case = Case("wayback", SPAN_UNITS, (1, 4, 4), (128, 32, int(boundary)), 2, SPAN_BATCH, 0.0)
    learner, _, take_step = our_training(our_params(case))
    once = stepper(learner, take_step)

    def step() -> None:
        forget_largest_memory()
        once()

    return {"step": step, "resting": present_memory}


def set_up() -> None:
    """TensorFlow as training sets it up."""
    from pipeline.training.device import set_up_device

    set_up_device(THREADS)


def stepper(learner: Any, take_step: Callable[..., Any]) -> Callable[[], None]:
    """Takes one training step after the other on one batch."""
    import tensorflow as tf

    arrays = {name: tf.constant(array) for name, array in next(learner.batches(None)).arrays.items()}
    rate, carried = tf.constant(1e-4, tf.float64), [learner.initial_state]

    def step() -> None:
        outcome = take_step(arrays, carried[0], tf.constant(0, tf.int64), rate, tf.constant(False))
        carried[0] = outcome.state
        float(outcome.loss)

    return step


def our_training(params: Any) -> tuple[Any, Any, Callable[..., Any]]:
    """The learner, its model, and the compiled training step."""
    from pipeline.training.adam import Adam
    from pipeline.training.fit import make_step
    from pipeline.wayback.learner import WaybackLearner
    from pipeline.wayback.trained import build, settings_from

    model = build(settings_from(params, SYMBOLS), 0)
    split = random_sequences(params.batch_size, model.schedule.step_count)
    learner = WaybackLearner(model, split, split, params, 0)
    adam = Adam(learner.variables, params.adam_beta1, params.adam_beta2, params.adam_epsilon)
    return learner, model, make_step(learner, adam, params.clip_norm)


def our_params(case: Case) -> Any:
    """The training's parameters with this case's layout and sizes."""
    from pipeline.params import check_params

    changes = {
        "layout": case.layout,
        "layer_sizes": [case.units] * LAYERS,
        "io_sizes": [min(case.units, 256)],
        "periods": list(case.periods),
        "boundaries": list(case.boundaries),
        "unroll_layer_count": case.unroll_layer_count,
        "batch_size": case.batch_size,
    }
    return check_params(ROOT).train_wayback.model_copy(update=changes)


def random_sequences(count: int, steps: int) -> Any:
    """A split of random sequences of one segment each."""
    import json
    import tempfile

    import numpy as np

    from pipeline.shards import open_codes, write_codes

    folder, draw = Path(tempfile.mkdtemp()), np.random.default_rng(0)
    with write_codes(folder) as writer:
        for number in range(count):
            writer.add(str(number), "train", {"codes": draw.integers(0, SYMBOLS, steps + 1).astype(np.uint8)})
    (folder / "manifest.json").write_text(json.dumps({"content": "codes", "format": 1}))
    return open_codes(folder).split("train")


def peer(case: str) -> dict[str, Callable[[], None]]:
    """PyTorch's layers of the same sizes, with the same loss, clipping and optimiser."""
    import torch
    from torch.nn import functional

    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    units, batch, steps = CASES[case].units, CASES[case].batch_size, CASES[case].steps
    embedding = torch.nn.Embedding(SYMBOLS, 256)
    layers = [torch.nn.LSTM(256 if layer == 0 else units, units) for layer in range(LAYERS)]
    output = torch.nn.Sequential(torch.nn.Linear(LAYERS * units, 256), torch.nn.ELU(), torch.nn.Linear(256, SYMBOLS))
    parameters = [parameter for part in (embedding, *layers, output) for parameter in part.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-4)
    symbols = torch.randint(0, SYMBOLS, (steps + 1, batch))
    states: list[Any] = [None] * LAYERS

    def step() -> None:
        below, outputs = embedding(symbols[:-1]), []
        for number, layer in enumerate(layers):
            below, state = layer(below, states[number])
            outputs.append(below)
            states[number] = tuple(value.detach() for value in state)
        loss = functional.cross_entropy(output(torch.cat(outputs, -1)).reshape(-1, SYMBOLS), symbols[1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        loss.item()

    sampled = torch.nn.LSTM(256, units, LAYERS)
    from_top = torch.nn.Sequential(torch.nn.Linear(units, 256), torch.nn.ELU(), torch.nn.Linear(256, SYMBOLS))

    @torch.no_grad()
    def sample(rows: int) -> None:
        drawn, state = torch.full((rows,), SYMBOLS // 2), None
        for _ in range(PEER_SAMPLED):
            hidden, state = sampled(embedding(drawn)[None], state)
            drawn = torch.multinomial(from_top(hidden[0]).softmax(-1), 1)[:, 0]

    return {"step": step, "sample 1": lambda: sample(1), "sample 16": lambda: sample(16)}


CONTENDERS = {"ours": ours, "peer": peer, "span": span}

if __name__ == "__main__":
    main()
