"""Translates errors of Chroma and its client to our own errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from footnotes.errors import (
    FootnotesError,
    IndexFailed,
    IndexMismatch,
    IndexMissing,
    IndexRefused,
    IndexUnavailable,
    MissingExtra,
)
from footnotes.remote.redact import redact


@contextmanager
def translated(address: str, secrets: Sequence[str] = ()) -> Iterator[None]:
    """Translate every exception of the client to an error of the tree. Wraps calls of the client and nothing else."""
    try:
        yield
    except FootnotesError:
        raise
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"Chroma needs the package '{error.name}', which is not installed", remedy='pip install "footnotes[chroma]"'
        ) from error
    except Exception as error:
        # The cause is dropped: texts and frames of foreign errors may hold the key.
        raise _build_error(error, address, secrets) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # Rust's failures, which are no subclass of Exception
            raise
        raise IndexFailed(f"{address} failed within: {redact(str(error), secrets)}") from None


def _build_error(error: Exception, address: str, secrets: Sequence[str]) -> IndexFailed:
    from chromadb import errors

    message = redact(str(error), secrets)
    unreachable = _unreachable(error, address)
    if unreachable is not None:
        return unreachable
    if isinstance(error, (errors.AuthorizationError, errors.ChromaAuthError)):
        return IndexRefused(f"{address} does not accept the key")
    if isinstance(error, errors.NotFoundError):
        return IndexMissing(f"{address} has no such collection any more")
    if isinstance(error, errors.RateLimitError):
        return IndexUnavailable(f"{address} asks to wait: {message}")
    if isinstance(error, errors.InvalidDimensionException) or "dimension" in message:
        return IndexMismatch(f"{address} has vectors of another kind: {message}")
    if isinstance(error, errors.InvalidArgumentError) and message.startswith(("Database [", "Tenant [")):
        return IndexMissing(f"{address} refuses: {message}", remedy="Create it there, or correct index_options.")
    if "malformed" in message or "not a database" in message:
        return IndexFailed(
            f"the files of {address} are damaged: {message}",
            remedy="Delete them, unless others use them too; what Footnotes had there is brought again.",
        )
    return IndexFailed(f"{address} failed: {message or type(error).__name__}")


def _unreachable(error: Exception, address: str) -> IndexUnavailable | None:
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return IndexUnavailable(f"{address} did not answer in time")
    if isinstance(error, httpx.ConnectError):
        return IndexUnavailable(f"{address} cannot be reached")
    if isinstance(error, (httpx.HTTPError, httpx.StreamError)):
        return IndexUnavailable(f"{address} broke off the connection")
    return None


def checked(response: Any, address: str) -> None:
    """Check a response before the client does: the client drops the status of responses it cannot parse."""
    status = response.status_code
    if status in (401, 403, 407):
        raise IndexRefused(f"{address} does not accept the key" if _has_key(response) else f"{address} wants a key")
    if status == 429 or status in (502, 503, 504):
        raise IndexUnavailable(f"{address} cannot serve now (status {status})")
    if not _speaks_chroma(response):
        raise IndexUnavailable(f"what answers at {address} is no Chroma of version 1 (status {status})")


def _has_key(response: Any) -> bool:
    return any(name in response.request.headers for name in ("authorization", "x-chroma-token"))


def _speaks_chroma(response: Any) -> bool:
    """Return whether a response is JSON and, if an error, in Chroma's form: an object with `error`."""
    if response.is_success:
        return str(response.headers.get("content-type", "")).startswith("application/json")
    response.read()
    try:
        body = response.json()
    except ValueError:
        return False
    return isinstance(body, dict) and "error" in body
