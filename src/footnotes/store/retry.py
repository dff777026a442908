"""Writers that meet: two that wait for each other, or make the same row at once. One of them begins again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from footnotes.errors import StoreLocked

ATTEMPTS = 5
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class WritersMet(StoreLocked):
    """The database stopped one of two writers. The transaction may be tried again at once."""


def retry(attempt: Callable[[], Result]) -> Result:
    """Try again where writers met. An attempt is one transaction, or may be repeated."""
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except WritersMet:
            continue
    return attempt()


def retrying(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A function that is called again where writers met."""

    @wraps(function)
    def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        return retry(lambda: function(*arguments, **named))

    return call
