"""Command `make champion MODEL=reprise-wayback VERSION=3`: makes a version the champion, by hand."""

from pipeline import stage


def main(model: str, version: str) -> None:
    """Moves the alias `champion`; the champion until now becomes `previous`."""
    from pipeline.tracking.champions import move_champion

    before = move_champion(model, version)
    print(f"models:/{model}@champion is version {version}" + (f", was {before}" if before else ""))


if __name__ == "__main__":
    stage.run(main)
