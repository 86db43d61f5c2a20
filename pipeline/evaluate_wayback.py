"""Stage evaluate_wayback: trained model + test split -> figures by sequence and in all, and what counting alone
gives.
"""

from pathlib import Path

from pipeline import stage, tracking
from pipeline.outputs import new_folder, write_json
from pipeline.params import load_params
from pipeline.shards import open_codes
from pipeline.training.device import set_up_device
from pipeline.wayback.baselines import baselines, count_pairs
from pipeline.wayback.evaluation import Dump, evaluate, summary
from pipeline.wayback.trained import read_trained

STAGE = "evaluate_wayback"


def main(codes: Path, trained: Path, run: Path, evaluated: Path, metrics: Path) -> None:
    """Measures the trained model on the whole test split."""
    params = load_params(STAGE)
    section = params.evaluate_wayback
    set_up_device(section.threads)
    model, codec = read_trained(trained)
    sequences = open_codes(codes)
    codec.require_same(sequences, str(codes))
    train, test = sequences.split("train"), sequences.split("test")

    counted = baselines(count_pairs(train, codec.categories), count_pairs(test, codec.categories))
    with tracking.join_run(run, STAGE, params) as tracked, new_folder(evaluated) as folder:
        rows = evaluate(model, test, section.batch_size, Dump(folder, section.dump_count))
        figures = summary(rows, counted)
        rows.to_csv(folder / "per_utterance.csv", index=False, lineterminator="\n")
        tracked.log_output(folder)
        tracked.log_metrics(figures)
    write_json(metrics, figures)


if __name__ == "__main__":
    stage.run(main)
