"""Command `make sync`: delivers to MLflow what interrupted or offline runs have left in .work/outbox."""

import sys

from pipeline import lineage, stage
from pipeline.errors import InputError
from pipeline.tracking.addresses import store_address
from pipeline.tracking.journal import count_waiting, waiting_journals


def main() -> None:
    """Delivers what waits, each value once; fails when something still waits afterwards."""
    root = lineage.main_root()
    waiting = {folder: count_waiting(folder) for folder in waiting_journals(root / ".work" / "outbox")}
    if not waiting:
        print("nothing waits to be delivered")
        return
    from pipeline.tracking.delivery import deliver_waiting

    values, files = sum(each.values for each in waiting.values()), sum(each.files for each in waiting.values())
    print(f"{len(waiting)} journals wait, with {values} values and {files} files")
    failures = deliver_waiting(root, store_address(root), lambda line: print(line, file=sys.stderr), None, lambda: None)
    left = [folder for folder in waiting if folder.exists()]
    print(f"{len(waiting) - len(left)} delivered, {len(left)} still wait")
    if left:
        reasons = sorted(set(failures.values())) or ["another process is delivering them"]
        raise InputError("; ".join(reasons))


if __name__ == "__main__":
    stage.run(main)
