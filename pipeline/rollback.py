"""Command `make rollback MODEL=reprise-wayback`: the champion before the last one is the champion again."""

from pipeline import stage


def main(model: str) -> None:
    """Moves the alias back; no gate promotes the version taken back again."""
    from pipeline.tracking.champions import take_back

    now, taken_back = take_back(model)
    print(f"models:/{model}@champion is version {now} again; version {taken_back} was taken back")


if __name__ == "__main__":
    stage.run(main)
