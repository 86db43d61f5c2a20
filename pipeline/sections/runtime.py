"""Settings that change no result: they stand in runtime.yaml or REPRISE_* variables, and no stage depends on them."""

from typing import Annotated, Literal, Self

from pydantic import Field, PositiveFloat, field_validator, model_validator

from pipeline.sections.base import Section


class Runtime(Section):
    """What a machine or a session may choose freely.

    Attributes:
        workers: Processes that read recordings and make features; "dask": the workers of a Dask cluster do.
        scheduler: Address of the Dask cluster's scheduler ("tcp://host:8786").
        tracking: "off" keeps runs out of MLflow.
        tracking_required: Whether a training fails when MLflow has not got everything at its end.
        tracking_timeout: Seconds that the end of a training waits for MLflow.
        ui_port: Port of `make ui` on 127.0.0.1.
        device: "auto" takes a GPU where TensorFlow finds one.
    """

    workers: int | str = 2
    scheduler: str | None = None
    tracking: Literal["on", "off"] = "on"
    tracking_required: bool = False
    tracking_timeout: PositiveFloat = 20.0
    ui_port: Annotated[int, Field(ge=1, le=65535)] = 5000
    device: Literal["auto", "cpu"] = "auto"

    @field_validator("workers")
    @classmethod
    def _are_processes_or_a_cluster(cls, value: int | str) -> int | str:
        if value != "dask" and (isinstance(value, str) or value < 1):
            raise ValueError("must be a number of processes, 1 or more, or dask")
        return value

    @model_validator(mode="after")
    def _knows_the_scheduler(self) -> Self:
        if self.workers == "dask" and not self.scheduler:
            raise ValueError("workers is dask: set scheduler to the address of one, such as tcp://127.0.0.1:8786")
        return self

    @property
    def pool(self) -> int | str:
        """Who works: a number of processes, or a scheduler's address."""
        return self.scheduler if self.workers == "dask" else self.workers
