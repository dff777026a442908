"""Speaks to a vector database over HTTP, and says what is wrong in words that fit an import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from footnotes.config import Settings
from footnotes.errors import (
    IndexRefused,
    IndexUnavailable,
    ProviderBadResponse,
    ProviderError,
    ProviderRefused,
    SourceUnreadable,
)
from footnotes.ingest.importing.addresses import Address
from footnotes.remote import Endpoint, Remote

KEY_SETTING = "import_api_key"
NOT_FOUND = 404


class Server:
    """One vector database, asked for nothing but what it has."""

    def __init__(self, name: str, address: Address, settings: Settings, headers: Mapping[str, str], key: str) -> None:
        self._name = name
        self._address = address
        endpoint = Endpoint(
            provider=name,
            base_url=address.base_url,
            headers=headers,
            secrets=(key,) if key else (),
            key_setting=KEY_SETTING,
            timeout=settings.index_seconds,
        )
        self._remote = Remote(endpoint)

    def close(self) -> None:
        self._remote.close()

    def get(self, path: str) -> Any:
        with self._translated():
            return self._remote.get(path)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        with self._translated():
            return self._remote.post(path, body)

    def bad(self, said: str) -> SourceUnreadable:
        """The server is there, and is not what it was taken for."""
        where = f"{self._address.scheme}://{self._address.place}"
        return SourceUnreadable(f"{where} does not answer as {self._name} does ({said})", remedy="Check the address.")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise self.bad(f"{type(error).__name__} in its answer") from error
        except ProviderBadResponse as error:
            raise self.bad(error.message) from error
        except ProviderRefused as error:
            if error.status in (401, 403):
                remedy = f"Set {KEY_SETTING} in the settings, or FOOTNOTES_IMPORT_API_KEY in the environment."
                raise IndexRefused(error.message, remedy=remedy) from error
            if error.status == NOT_FOUND:
                raise Missing(error.message) from error
            raise self.bad(error.message) from error
        except ProviderError as error:
            raise IndexUnavailable(
                error.message, remedy="Start the vector database, or correct the address after --from."
            ) from error


class Missing(Exception):
    """What was asked for is not there. Never leaves the readers: they say what is there instead."""


def missing_collection(collection: str, where: str, names: list[str]) -> SourceUnreadable:
    """There is no such collection, but there are others."""
    shown = ", ".join(sorted(names)[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    there = f"the collections there are: {shown}" if names else "there is none"
    wanted = f"there is no collection {collection!r} at {where}" if collection else f"no collection of {where} is named"
    return SourceUnreadable(f"{wanted}; {there}", remedy="Name a collection that is there.")
