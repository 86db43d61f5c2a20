"""Loads params.yaml and runtime.yaml: YAML 1.2 as DVC reads it, typed, checked whole, read once at the edge.

`python -m pipeline.params` only checks, and says in a line what is wrong.
"""

import difflib
import importlib
import inspect
import os
import pkgutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel, NonNegativeInt, ValidationError, create_model
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

import pipeline.sections
from pipeline import stage
from pipeline.errors import InputError
from pipeline.sections.base import Section
from pipeline.sections.runtime import Runtime

PARAMS = Path("params.yaml")
RUNTIME = Path("runtime.yaml")
GRAPH = Path("dvc.yaml")
ENVIRONMENT_PREFIX = "REPRISE_"
NOT_A_SECTION = {"base", "training", "runtime"}


class StageParams(SimpleNamespace):
    """The parameters that dvc.yaml declares for a stage, by section; reading any other one is an error.

    A section declared whole is its typed object; of a section declared in part, only the declared keys can be read.
    """

    def flat(self) -> dict[str, Any]:
        """The declared values by their full names ("train_wayback.clip_norm")."""
        values: dict[str, Any] = {}
        for name, section in vars(self).items():
            if isinstance(section, BaseModel):
                section = section.model_dump(mode="json")
            elif isinstance(section, SimpleNamespace):
                section = vars(section)
            if isinstance(section, Mapping):
                values |= {f"{name}.{key}": value for key, value in section.items()}
            else:
                values[name] = section
        return values

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'{name}' is not among this stage's params in {GRAPH}: {', '.join(vars(self))}")


class Part(SimpleNamespace):
    """Some keys of a section."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"'{name}' is not among this section's keys that {GRAPH} declares: {', '.join(vars(self))}"
        )


def load_params(stage_name: str, folder: Path = Path()) -> StageParams:
    """Checks the whole params.yaml in `folder` and gives what dvc.yaml there declares for the stage.

    Raises:
        InputError: A file is not YAML, or a parameter is missing, unknown, of another type or out of range.
    """
    checked = check_params(folder)
    stages = read_yaml(folder / GRAPH)["stages"]
    params = StageParams()
    for declared in stages[stage_name]["params"]:
        section_name, _, key = declared.partition(".")
        section = getattr(checked, section_name)
        if not key:
            setattr(params, section_name, section)
            continue
        if section_name not in vars(params):
            setattr(params, section_name, Part())
        setattr(vars(params)[section_name], key, getattr(section, key))
    return params


def check_params(folder: Path = Path()) -> BaseModel:
    """The whole of params.yaml, typed: an attribute a section.

    Raises:
        InputError: A file is not YAML, or a parameter is missing, unknown, of another type or out of range.
    """
    return _validate(_all_sections(), read_yaml(folder / PARAMS), str(PARAMS))


def load_runtime(folder: Path = Path()) -> Runtime:
    """What changes no result: runtime.yaml where there is one, over it REPRISE_<NAME> from the environment.

    Raises:
        InputError: A setting is unknown, of another type or out of range.
    """
    root = Path(os.environ.get("DVC_ROOT", folder))
    path = next((path for path in (folder / RUNTIME, root / RUNTIME) if path.exists()), None)
    settings = read_yaml(path) if path else {}
    names = {ENVIRONMENT_PREFIX + name.upper(): name for name in Runtime.model_fields}
    settings |= {name: read_value(os.environ[variable]) for variable, name in names.items() if variable in os.environ}
    return _validate(Runtime, settings, str(RUNTIME))


def set_param(path: Path, name: str, value: Any) -> None:
    """Changes one parameter ("corpus.path") in the YAML file, keeping its comments and order.

    Raises:
        InputError: There is no such parameter.
    """
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.representer.add_representer(
        type(None), lambda dumper, _: dumper.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    tree = yaml.load(path)
    section, _, key = name.partition(".")
    if section not in tree or key not in tree[section]:
        raise InputError(f"{path}: there is no parameter {name}")
    tree[section][key] = value
    partial = path.with_name(f".partial.{path.name}")
    yaml.dump(tree, partial)
    partial.replace(path)


def read_value(text: str) -> Any:
    """What a text means as a YAML value: 0.5, null, [1, 4, 4].

    Raises:
        InputError: It is none.
    """
    try:
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise InputError(f"{text!r} is no YAML value: {' '.join(str(error).split())}") from error


@cache
def _all_sections() -> type[BaseModel]:
    names = [module.name for module in pkgutil.iter_modules(pipeline.sections.__path__)]
    sections = {name: (_section_class(name), ...) for name in names if name not in NOT_A_SECTION}
    return create_model("Params", __base__=Section, seed=(NonNegativeInt, ...), **sections)


def _section_class(name: str) -> type[Section]:
    module = importlib.import_module(f"pipeline.sections.{name}")
    defined = [
        value for value in vars(module).values() if inspect.isclass(value) and value.__module__ == module.__name__
    ]
    return [value for value in defined if issubclass(value, Section)][-1]


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML 1.2 file.

    Raises:
        InputError: The file is missing, is not YAML, or holds no mapping.
    """
    if not path.exists():
        raise InputError(f"{path} is not here: run commands from the repository's root, or restore it with git")
    try:
        value = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except (YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} is not YAML: {reason}") from error
    if not isinstance(value, dict):
        raise InputError(f"{path} must map names to values, and holds {type(value).__name__}")
    return value


def _validate(model: type[BaseModel], values: dict[str, Any], source: str) -> Any:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        lines = [f"{source}: {_explain(model, problem)}" for problem in error.errors(include_url=False)]
        raise InputError("\n".join(lines)) from error


def _explain(model: type[BaseModel], problem: Mapping[str, Any]) -> str:
    place = [str(part) for part in problem["loc"]]
    name = ".".join(place)
    if problem["type"] == "extra_forbidden":
        known = _fields(model, place[:-1])
        nearest = difflib.get_close_matches(place[-1], known, n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else f"known are {', '.join(sorted(known))}"
        return f"{name} is unknown; {hint}"
    if problem["type"] == "missing":
        return f'{name} is missing; add it ("git show HEAD:params.yaml" has one)'
    message = problem["msg"].removeprefix("Value error, ")
    if isinstance(problem["input"], Mapping):
        return f"{name}: {message}" if name else message
    return f"{name} is {problem['input']!r}; {message[0].lower()}{message[1:]}"


def _fields(model: type[BaseModel], place: list[str]) -> list[str]:
    for part in place:
        annotation = model.model_fields[part].annotation
        if not (inspect.isclass(annotation) and issubclass(annotation, BaseModel)):
            return []
        model = annotation
    return list(model.model_fields)


def main() -> None:
    """Checks params.yaml and runtime.yaml."""
    check_params()
    load_runtime()


if __name__ == "__main__":
    stage.run(main)
