"""How a stage or a command starts: named arguments in, and a user's mistake ends in one line."""

import argparse
import inspect
import sys
from collections.abc import Callable, Sequence

from pipeline.errors import InputError


def run(main: Callable[..., None], arguments: Sequence[str] | None = None) -> None:
    """Calls `main` with the command line's values, one `--name VALUE` a parameter of its signature.

    The annotation converts the value (`Path`, `str`, `int`, ...); a default makes the argument optional.
    An InputError prints its message on stderr and exits with 1; anything else is a fault of ours and keeps its traceback.
    """
    parser = argparse.ArgumentParser(description=main.__doc__)
    for name, parameter in inspect.signature(main).parameters.items():
        required = parameter.default is inspect.Parameter.empty
        default = None if required else parameter.default
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=parameter.annotation, required=required, default=default
        )
    values = vars(parser.parse_args(arguments))
    try:
        main(**values)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
