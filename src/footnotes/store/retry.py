"""Retries when writers conflict: two that wait for each other, or create the same row at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from footnotes.errors import StoreLocked

ATTEMPTS = 5
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class WritersMet(StoreLocked):
    """The database aborted one of two writers. The transaction may be retried at once."""


def retry(attempt: Callable[[], Result]) -> Result:
    """Retry an attempt after a conflict. It must be one transaction, or safe to repeat."""
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except WritersMet:
            continue
    return attempt()


def retrying(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Wrap a function to be called again after a conflict."""

    @wraps(function)
    def call(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        return retry(lambda: function(*arguments, **options))

    return call
