"""What every section of params.yaml and runtime.yaml has in common."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A frozen group of parameters. Types are exact, nothing is unknown, nothing is optional: the values stand in the YAML file alone."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
