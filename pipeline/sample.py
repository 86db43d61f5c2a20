"""Command: recordings or files, or nothing -> what the newest trained model, or one from the registry, goes on with."""

from pathlib import Path

from pipeline import stage
from pipeline.errors import InputError
from pipeline.outputs import new_file
from pipeline.params import load_params

STAGE = "synthesize_wayback"
FROM_NOTHING = Path()
NEWEST = ""


def main(
    out: Path, primer: Path = FROM_NOTHING, model: str = NEWEST, trained: Path = Path("data/train_wayback")
) -> None:
    """Goes on from a primer as stage synthesize_wayback would, at its first temperature, and writes the sample.

    With a folder as the primer, goes on from every file in it, and writes the samples under the same names into the
    folder `out`. `model` is like "models:/name@alias".
    """
    if model:
        from_registry(model, primer, out)
        return
    from pipeline.training.device import set_up_device
    from pipeline.wayback.trained import read_trained
    from pipeline.wayback.voice import from_nothing, go_on, symbols_of, write

    params = load_params(STAGE)
    section = params.synthesize_wayback
    set_up_device(section.threads)
    learned = read_trained(trained)
    codec = learned.codec
    files = primers_of(primer, out, ".wav" if codec.codes.kind == "wave" else "")
    primers = [symbols_of(file, codec) if file else from_nothing(codec) for file in files.values()]
    made = go_on(learned, primers, section.temperatures[0], section.continuation_length, params.seed)
    for path, beginning, symbols in zip(files, primers, made, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, symbols, codec)
        print(f"{path}: {len(beginning)} symbols of primer, {len(symbols) - len(beginning)} sampled")


def from_registry(model: str, primer: Path, out: Path) -> None:
    """Lets a registered model go on from the primers."""
    from pipeline.tracking.registry import predict

    files = primers_of(primer, out, ".wav")
    rows = predict(model, [{"primer": file.read_bytes() if file else b""} for file in files.values()], {})
    for path, row in zip(files, rows, strict=True):
        with new_file(path) as partial:
            partial.write_bytes(row["audio"])
        print(f"{path}: {row['primer_symbols']} symbols of primer")


def primers_of(primer: Path, out: Path, suffix: str) -> dict[Path, Path | None]:
    """The file that each sample goes on from, by where the sample goes; None: from nothing.

    Raises:
        InputError: The folder is empty, or there is no such file.
    """
    if primer == FROM_NOTHING:
        return {out: None}
    if not primer.exists():
        raise InputError(f"{primer} is not there; PRIMER must be a recording, a file or a folder of them")
    if not primer.is_dir():
        return {out: primer}
    files = sorted(path for path in primer.iterdir() if path.is_file())
    if not files:
        raise InputError(f"{primer} holds no file to go on from")
    return {out / (path.stem + suffix if suffix else path.name): path for path in files}


if __name__ == "__main__":
    stage.run(main)
