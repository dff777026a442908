"""Writers that meet: two that wait for each other, or make the same row at once. One of them begins again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from footnotes.errors import StoreLocked

ATTEMPTS = 5
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


def persistently(attempt: Callable[[], Result]) -> Result:
    """Do it again where the database says that writers met. An attempt is one transaction, or may be repeated."""
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except StoreLocked as error:
            if error.__cause__ is None:
                raise
    return attempt()


def persistent(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A function that is called again where writers met."""

    @wraps(function)
    def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        return persistently(lambda: function(*arguments, **named))

    return call
