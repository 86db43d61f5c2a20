"""Wayback with the default parameters beside a PyTorch LSTM of equal parameter count, on the corpus in data/codes.

`make bench NAME=wayback_corpus` trains both for so many minutes each, one after the other, at several learning rates and
seeds, on the same batches with the same clipping and Adam, and prints for each contender's best rate the bits a symbol
of the test split and the difference, paired by test sequence. It takes hours: what was measured is kept under
.work/bench/corpus, and a repeat goes on from there.

The rate is constant for half of the time and then halves with each further tenth, for both. The peer learns from every
step of a segment; it reaches back as far as the segment, and carries its state, too.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from bench.contenders import ROOT, make_torch

STORED_BATCHES = 4000
CONTENDERS = ("ours", "peer")
FACTS = "facts.json"
ARRAYS = ("symbols", "mask", "reset")


class Budget(NamedTuple):
    """How long a training takes: so many seconds, or so many steps where these are given."""

    seconds: float
    steps: int | None

    def shares(self) -> Iterator[float]:
        """Before each step, the share of the budget that is used up."""
        started, step = time.perf_counter(), 0
        while (share := self._share(step, time.perf_counter() - started)) < 1:
            yield share
            step += 1

    def _share(self, step: int, seconds: float) -> float:
        return step / self.steps if self.steps else seconds / self.seconds


class Trial(NamedTuple):
    """One training and its test.

    Attributes:
        parameters: Number of trained numbers.
        steps: Training steps taken.
        nats: Sum over each test sequence, in the split's order.
    """

    parameters: int
    steps: int
    nats: list[float]


def main() -> None:
    """Runs what has not been run, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--steps", type=int, help="train for so many steps instead")
    parser.add_argument("--rates", nargs="+", type=float, default=[1e-3, 2e-3, 4e-3])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS)
    parser.add_argument("--codes", type=Path, default=ROOT / "data" / "codes")
    parser.add_argument("--work", type=Path, default=ROOT / ".work" / "bench" / "corpus")
    parser.add_argument("--peer-python", type=Path, help="a Python that has PyTorch; made where it is not given")
    parser.add_argument("--trial", nargs=3, metavar=("CONTENDER", "RATE", "SEED"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.trial:
        name, rate, seed = arguments.trial
        run = our_trial if name == "ours" else peer_trial
        budget = Budget(60 * arguments.minutes, arguments.steps)
        trial = run(arguments.work, arguments.codes, float(rate), int(seed), budget)
        result_path(arguments, name, float(rate), int(seed)).write_text(json.dumps(trial._asdict()), encoding="utf-8")
        return
    store_data(arguments.codes, arguments.work)
    trials = [
        (name, rate, seed) for seed in arguments.seeds for rate in arguments.rates for name in arguments.contenders
    ]
    for name, rate, seed in trials:
        if not result_path(arguments, name, rate, seed).exists():
            start_trial(arguments, name, rate, seed)
    report(arguments)


def result_path(arguments: argparse.Namespace, name: str, rate: float, seed: int) -> Path:
    budget = f"{arguments.steps}-steps" if arguments.steps else f"{arguments.minutes:g}-minutes"
    return arguments.work / f"{name}-{budget}-{rate:g}-{seed}.json"


def start_trial(arguments: argparse.Namespace, name: str, rate: float, seed: int) -> None:
    """One training in a process of its own."""
    python = Path(sys.executable) if name == "ours" else arguments.peer_python or make_torch(ROOT / ".work" / "bench")
    options = ["--minutes", str(arguments.minutes), "--work", arguments.work, "--codes", arguments.codes]
    options += ["--steps", str(arguments.steps)] if arguments.steps else []
    command = [python, "-m", "bench.wayback_corpus", "--trial", name, str(rate), str(seed), *options]
    subprocess.run(command, check=True, cwd=ROOT)


def report(arguments: argparse.Namespace) -> None:
    """Every trial, and the paired difference between the best rates."""
    import numpy as np

    lengths = np.load(arguments.work / "test_lengths.npy") - 1
    best: dict[str, np.ndarray] = {}
    for name in arguments.contenders:
        by_rate = {}
        for rate in arguments.rates:
            trials = [read(result_path(arguments, name, rate, seed)) for seed in arguments.seeds]
            bits = np.array([trial.nats for trial in trials]) / np.log(2)
            totals = bits.sum(axis=1) / lengths.sum()
            by_rate[rate] = bits
            shown = " ".join(f"{total:.4f} ({trial.steps} steps)" for total, trial in zip(totals, trials, strict=True))
            print(
                f"{name} {trials[0].parameters} parameters, rate {rate:g}: {totals.mean():.4f} bits a symbol: {shown}"
            )
        rate = min(by_rate, key=lambda rate: by_rate[rate].sum())
        best[name] = by_rate[rate].mean(axis=0)
        print(f"{name}: best rate {rate:g}")
    if len(best) == len(CONTENDERS):
        print(paired(best["ours"], best["peer"], lengths))


def paired(ours: Any, peer: Any, lengths: Any) -> str:
    """The mean difference a symbol, and where 95 % of resampled sets of test sequences have it."""
    import numpy as np

    draw = np.random.default_rng(0)
    places = draw.integers(0, len(lengths), (10000, len(lengths)))
    differences = (ours - peer)[places].sum(axis=1) / lengths[places].sum(axis=1)
    low, high = np.percentile(differences, [2.5, 97.5])
    mean = (ours - peer).sum() / lengths.sum()
    better = int((ours < peer).sum())
    return (
        f"ours - peer: {mean:+.4f} bits a symbol (95 %: {low:+.4f} to {high:+.4f}); "
        f"ours is better on {better} of {len(lengths)} test sequences"
    )


def read(path: Path) -> Trial:
    return Trial(**json.loads(path.read_text(encoding="utf-8")))


def store_data(codes: Path, work: Path) -> None:
    """Writes the batches that both learn from and the test sequences, once."""
    import numpy as np

    from pipeline.params import check_params
    from pipeline.shards import open_codes
    from pipeline.wayback.trained import build, settings_from
    from pipeline.wayback.walking import Segments, usable, walk

    if (work / "test.npy").exists():
        return
    work.mkdir(parents=True, exist_ok=True)
    params, sequences = check_params(ROOT).train_wayback, open_codes(codes)
    model = build(settings_from(params, sequences.manifest["categories"]), 0)
    schedule = model.schedule
    train, test = sequences.split("train"), sequences.split("test")
    segments = Segments(schedule.step_count, schedule.first_counted)
    batches = islice(walk(train, usable(train, None), segments, params.batch_size, 0, None), STORED_BATCHES)
    stored: dict[str, list[np.ndarray]] = {name: [] for name in ARRAYS}
    for batch in batches:
        for name, arrays in stored.items():
            array = batch.arrays[name]
            arrays.append(array.astype(np.uint8) if name == "symbols" else array)
    for name, arrays in stored.items():
        np.save(work / f"{name}.npy", np.stack(arrays))
    facts = {
        "categories": sequences.manifest["categories"],
        "parameters": sum(int(np.prod(variable.shape)) for variable in model.variables.values()),
        "io_size": params.io_sizes[-1],
        "layer_count": len(params.layer_sizes),
        "threads": params.threads,
    }
    (work / FACTS).write_text(json.dumps(facts), encoding="utf-8")
    kept = usable(test, None)
    np.save(work / "test_lengths.npy", test.lengths[kept])
    np.save(work / "test.npy", np.concatenate([test[int(place)] for place in kept]))


def stored_batches(work: Path) -> Iterator[dict[str, Any]]:
    """The stored batches over and over, as they came."""
    import numpy as np

    stored = {name: np.load(work / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
    while True:
        for number in range(len(stored["symbols"])):
            yield {name: np.array(arrays[number]) for name, arrays in stored.items()}


def rate_at(rate: float, share: float) -> float:
    """The learning rate after a share of the budget."""
    return rate * 0.5 ** (max(share - 0.5, 0.0) * 10)


def our_trial(work: Path, codes: Path, rate: float, seed: int, budget: Budget) -> Trial:
    """Our default parameters but for the rate."""
    import numpy as np
    import tensorflow as tf

    from pipeline.params import check_params
    from pipeline.shards import open_codes
    from pipeline.training.adam import Adam
    from pipeline.training.device import set_up_device
    from pipeline.training.fit import make_step
    from pipeline.wayback.evaluation import Dump, evaluate
    from pipeline.wayback.learner import WaybackLearner
    from pipeline.wayback.trained import build, settings_from

    params, sequences = check_params(ROOT).train_wayback, open_codes(codes)
    set_up_device(params.threads)
    model = build(settings_from(params, sequences.manifest["categories"]), seed)
    train, test = sequences.split("train"), sequences.split("test")
    learner = WaybackLearner(model, train, test, params, seed)
    adam = Adam(learner.variables, params.adam_beta1, params.adam_beta2, params.adam_epsilon)
    take_step = make_step(learner, adam, params.clip_norm).get_concrete_function()
    state, taken = learner.initial_state, 0
    for batch, share in zip(stored_batches(work), budget.shares(), strict=False):
        arrays = {
            name: tf.constant(array.astype(np.int32) if name == "symbols" else array) for name, array in batch.items()
        }
        now = tf.constant(rate_at(rate, share), tf.float64)
        outcome = take_step(arrays, state, tf.constant(taken, tf.int64), now, tf.constant(False))
        state, taken = outcome.state, taken + 1
        float(outcome.loss)
    rows = evaluate(model, test, 32, Dump(work, 0))
    parameters = sum(int(np.prod(variable.shape)) for variable in learner.variables.values())
    return Trial(parameters, taken, list(rows["loss"] * rows["symbols"]))


def peer_trial(work: Path, codes: Path, rate: float, seed: int, budget: Budget) -> Trial:
    """Three `nn.LSTM` layers between the same networks."""
    import numpy as np
    import torch
    from torch.nn import functional

    model = peer_model(json.loads((work / FACTS).read_text(encoding="utf-8")), seed)
    parameters = [parameter for part in model for parameter in part.parameters()]
    embedding, layers, output = model
    optimizer = torch.optim.Adam(parameters, lr=rate, eps=1e-8)
    state, taken = None, 0
    for batch, share in zip(stored_batches(work), budget.shares(), strict=False):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(rate, share)
        symbols = torch.from_numpy(batch["symbols"].astype(np.int64)).T
        mask, fresh = torch.from_numpy(batch["mask"]).T, torch.from_numpy(batch["reset"])
        if state is not None:
            state = tuple(torch.where(fresh[None, :, None], 0.0, value.detach()) for value in state)
        hidden, state = layers(embedding(symbols[:-1]), state)
        loss = functional.cross_entropy(output(hidden)[mask], symbols[1:][mask])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        taken += 1
    return Trial(sum(parameter.numel() for parameter in parameters), taken, peer_nats(model, work))


def peer_model(facts: dict[str, int], seed: int) -> tuple[Any, Any, Any]:
    """Embedding, layers and output network, with as many parameters as ours or the next fewer."""
    import torch

    torch.set_num_threads(facts["threads"])
    torch.manual_seed(seed)
    size, symbols = facts["io_size"], facts["categories"]

    def build(units: int) -> tuple[Any, Any, Any]:
        output = torch.nn.Sequential(torch.nn.Linear(units, size), torch.nn.ELU(), torch.nn.Linear(size, symbols))
        return torch.nn.Embedding(symbols, size), torch.nn.LSTM(size, units, facts["layer_count"]), output

    return build(largest(lambda units: _count(build(units)) <= facts["parameters"]))


def largest(fits: Callable[[int], bool]) -> int:
    """The largest number from 1 on that fits, where all smaller ones fit."""
    step, number = 1024, 1
    while step:
        if fits(number + step):
            number += step
        else:
            step //= 2
    return number


def _count(parts: tuple[Any, ...]) -> int:
    return sum(parameter.numel() for part in parts for parameter in part.parameters())


def peer_nats(model: tuple[Any, Any, Any], work: Path) -> list[float]:
    """The sum over each test sequence."""
    import numpy as np
    import torch
    from torch.nn import functional

    embedding, layers, output = model
    ends = np.cumsum(np.load(work / "test_lengths.npy"))
    nats = []
    with torch.no_grad():
        for sequence in np.split(np.load(work / "test.npy"), ends[:-1]):
            symbols = torch.from_numpy(sequence.astype(np.int64))
            hidden, _ = layers(embedding(symbols[:-1, None]))
            nats.append(float(functional.cross_entropy(output(hidden[:, 0]), symbols[1:], reduction="sum")))
    return nats


if __name__ == "__main__":
    main()
