"""Stage synthesize_wayback: beginnings of test sequences, and nothing -> what the model goes on with."""

import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline import stage, tracking
from pipeline.outputs import new_folder, write_json
from pipeline.params import load_params
from pipeline.sections.synthesize_wayback import SynthesizeWayback
from pipeline.shards import CodeSplit, open_codes
from pipeline.training.device import set_up_device
from pipeline.wayback.sampling import continue_all
from pipeline.wayback.trained import Codec, read_trained
from pipeline.wayback.writing import write_sample

STAGE = "synthesize_wayback"
ATTRIBUTION = "ATTRIBUTION.md"


class Primer(NamedTuple):
    """What a sample begins with, and what to call it."""

    name: str
    title: str
    symbols: np.ndarray


def main(corpus: Path, codes: Path, trained: Path, run: Path, samples: Path) -> None:
    """Continues every primer at every temperature of the parameters."""
    params = load_params(STAGE)
    section = params.synthesize_wayback
    set_up_device(section.threads)
    model, codec = read_trained(trained)
    sequences = open_codes(codes)
    codec.require_same(sequences, str(codes))

    primers = choose_primers(sequences.split("test"), codec, section)
    made = continue_all(
        model, [primer.symbols for primer in primers], section.temperatures, section.continuation_length, params.seed
    )
    with tracking.join_run(run, STAGE, params) as tracked, new_folder(samples) as folder:
        entries = []
        for primer, continued in zip(primers, made, strict=True):
            for temperature, symbols in zip(section.temperatures, continued, strict=True):
                name, title = f"{primer.name}-{temperature:g}", f"{primer.title}, temperature {temperature:g}"
                files = write_sample(folder, name, title, symbols, codec)
                facts = {"temperature": temperature, "primer_symbols": len(primer.symbols)}
                entries.append({"id": name, "title": title, **facts, **files})
        write_json(folder / "samples.json", entries)
        if (corpus / ATTRIBUTION).exists():
            shutil.copyfile(corpus / ATTRIBUTION, folder / ATTRIBUTION)
        tracked.log_output(folder)


def choose_primers(test: CodeSplit, codec: Codec, section: SynthesizeWayback) -> list[Primer]:
    """The beginnings of the first test sequences, and as often as wanted the symbol that sequences begin with."""
    beginnings = [
        Primer(f"primed-{place:02d}", f"continues {test.ids[place]}", np.array(test[place][: section.primer_length]))
        for place in range(min(section.primer_count, len(test)))
    ]
    from_nothing = [
        Primer(f"unprimed-{number:02d}", "from nothing", np.array([codec.first_symbol], np.uint8))
        for number in range(section.unprimed_count)
    ]
    return beginnings + from_nothing


if __name__ == "__main__":
    stage.run(main)
