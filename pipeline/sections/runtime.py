"""Settings that change no result: they stand in runtime.yaml or REPRISE_* variables, and no stage depends on them."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from pipeline.sections.base import Section


class Runtime(Section):
    """What a machine or a session may choose freely.

    Attributes:
        workers: Processes that read recordings and make features.
        tracking: "off" keeps runs out of MLflow.
        tracking_required: Whether a training fails when MLflow has not got everything at its end.
        tracking_timeout: Seconds that the end of a training waits for MLflow.
        ui_port: Port of `make ui` on 127.0.0.1.
        device: "auto" takes a GPU where TensorFlow finds one.
    """

    workers: PositiveInt = 2
    tracking: Literal["on", "off"] = "on"
    tracking_required: bool = False
    tracking_timeout: PositiveFloat = 20.0
    ui_port: Annotated[int, Field(ge=1, le=65535)] = 5000
    device: Literal["auto", "cpu"] = "auto"
