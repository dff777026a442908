"""The store the settings name: a folder, unless an address of a database is given."""

from __future__ import annotations

from pathlib import Path

from footnotes import registry
from footnotes.config import Settings
from footnotes.errors import ConfigError, NotALibrary
from footnotes.store.protocol import Store

_SCHEMES = {"postgres": "postgresql"}


def open_store(settings: Settings, folder: Path, *, create: bool = True) -> Store:
    """Open the store of a library, which keeps in `folder` what is this machine's alone."""
    if not settings.store:
        return _in_folder(settings, folder, create)
    scheme, _, rest = settings.store.partition(":")
    if not rest:
        raise ConfigError(
            "the setting store is no address", remedy='Write it as "postgresql://user:password@host/database".'
        )
    opened: Store = registry.find("stores", _SCHEMES.get(scheme, scheme)).opened(settings, folder)
    return opened


def _in_folder(settings: Settings, folder: Path, create: bool) -> Store:
    from footnotes.store.sqlite import SqliteStore, is_library

    if not create and not is_library(folder):
        raise NotALibrary(f"there is no library in {folder}")
    return SqliteStore.opened(settings, folder)
