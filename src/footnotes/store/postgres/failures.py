"""Translates errors of the driver and the database to errors of the tree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from footnotes.errors import (
    FootnotesError,
    InputError,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from footnotes.store.retry import WritersMet

_FULL = (asyncpg.DiskFullError, asyncpg.OutOfMemoryError)
_LOCKED = (
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    asyncpg.SerializationError,
    asyncpg.UniqueViolationError,  # another writer just created the same thing
    asyncpg.ForeignKeyViolationError,  # or removed what this one refers to
)
_AWAY = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the server closed the connection in the middle of something
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    OSError,
    TimeoutError,
)
_INPUT = (asyncpg.UntranslatableCharacterError, asyncpg.CharacterNotInRepertoireError, asyncpg.DataError)
_REMEDY = "See that PostgreSQL runs and that FOOTNOTES_STORE names it, its user and its database rightly."


@contextmanager
def translated() -> Iterator[None]:
    """Translate errors of the driver to errors of the tree."""
    try:
        yield
    except FootnotesError:
        raise
    except (
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        asyncpg.InternalClientError,
        OSError,
        TimeoutError,
    ) as error:
        raise _translation(error) from error
    except UnicodeEncodeError as error:
        raise InputError("a name or value holds characters that are not Unicode text") from error
    except OverflowError as error:
        raise InputError("a number is too large") from error


def _translation(error: Exception) -> FootnotesError:
    message = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
        return StoreReadOnly("the database can only be read here")
    if isinstance(error, _FULL):
        return StoreFull(f"the database has no room ({message})")
    if isinstance(error, _LOCKED):
        return WritersMet(f"another writer was in the way ({message})")
    if isinstance(error, _INPUT):
        return InputError(f"the database cannot hold a value ({message})")
    if isinstance(error, _AWAY):
        return StoreUnavailable(f"the database cannot be reached ({message})", remedy=_REMEDY)
    return StoreError(f"the database answered: {message}")
