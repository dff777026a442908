"""The store the settings name: a folder, unless an address of a database is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from footnotes import plugins
from footnotes.errors import ConfigError, NotALibrary
from footnotes.settings import Settings
from footnotes.store.protocol import Store

_SCHEMES = {"postgres": "postgresql"}


def open_store(settings: Settings, folder: Path, *, create: bool = True) -> Store:
    """Open the store of a library, which keeps in `folder` what is this machine's alone."""
    if not settings.store:
        return _in_folder(settings, folder, create)
    opened: Store = _load_named(settings).opened(settings, folder)
    return opened


def migrate_store(settings: Settings, folder: Path) -> tuple[list[int], int]:
    """Bring the schema of a store up to date. The numbers of what was applied, and the one it has now."""
    if not settings.store:
        from footnotes.store.sqlite import SqliteStore

        return SqliteStore.migrated(folder)
    done: tuple[list[int], int] = _load_named(settings).migrated(settings)
    return done


def repair_store(settings: Settings) -> list[str]:
    """Make again what a database that servers share has lost of its schema. What that was; a folder's has nothing."""
    return list(_load_named(settings).repaired(settings)) if settings.store else []


def _load_named(settings: Settings) -> Any:
    try:
        parts = urlsplit(settings.store)
        wrong = not parts.scheme or not (parts.netloc or parts.path or parts.query) or parts.port == 0
    except ValueError:
        wrong = True
    if wrong:  # said without the address: it may hold a password
        raise ConfigError(
            "the setting store is no address of a database",
            remedy='Write it as "postgresql://user:password@host:5432/database".',
        )
    return plugins.find("stores", _SCHEMES.get(parts.scheme, parts.scheme))


def _in_folder(settings: Settings, folder: Path, create: bool) -> Store:
    from footnotes.store.sqlite import SqliteStore, is_library

    if not create and not is_library(folder):
        raise NotALibrary(f"there is no library in {folder}")
    return SqliteStore.opened(settings, folder)
