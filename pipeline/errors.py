"""Errors that a user can act on."""


class InputError(Exception):
    """What the user gave cannot be used. The message names the thing, what it was, what it must be and what to do."""
