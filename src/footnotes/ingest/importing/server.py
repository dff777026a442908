"""Reads from a vector database over HTTP, with errors that fit an import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

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
from footnotes.settings import Settings

KEY_SETTING = "import_api_key"
NOT_FOUND = 404


class VectorServer:
    """A vector database to read from."""

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
        with self._translate_errors():
            return self._remote.get(path)

    def post(self, path: str, body: Mapping[str, object]) -> Any:
        with self._translate_errors():
            return self._remote.post(path, body)

    def unexpected_answer(self, reason: str) -> SourceUnreadable:
        """Build the error for a server that does not answer as this database does."""
        where = f"{self._address.scheme}://{self._address.authority}"
        return SourceUnreadable(f"{where} does not respond like {self._name} ({reason})", remedy="Check the address.")

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise self.unexpected_answer(f"{type(error).__name__} in its answer") from error
        except ProviderBadResponse as error:
            raise self.unexpected_answer(error.message) from error
        except ProviderRefused as error:
            if error.status in (401, 403):
                remedy = f"Set {KEY_SETTING} in the settings, or FOOTNOTES_IMPORT_API_KEY in the environment."
                raise IndexRefused(error.message, remedy=remedy) from error
            if error.status == NOT_FOUND:
                raise Missing(error.message) from error
            raise self.unexpected_answer(error.message) from error
        except ProviderError as error:
            raise IndexUnavailable(
                error.message, remedy="Start the vector database, or correct the address after --from."
            ) from error


class Missing(Exception):
    """The server has no such resource. Readers catch it, and list the existing ones."""


def missing_collection(collection: str, where: str, names: list[str]) -> SourceUnreadable:
    """Build the error for a missing collection, with the names of the existing ones."""
    listing = ", ".join(sorted(names)[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    there = f"the collections there are: {listing}" if names else "there is none"
    message = (
        f"there is no collection {collection!r} at {where}" if collection else f"no collection of {where} is named"
    )
    return SourceUnreadable(f"{message}; {there}", remedy="Name an existing collection.")
