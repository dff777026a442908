"""Opens the store in the settings: a folder, unless they have the address of a database."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from footnotes import plugins
from footnotes.errors import ConfigError, NotALibrary
from footnotes.settings import Settings
from footnotes.store.protocol import Store

_SCHEMES = {"postgres": "postgresql"}
_SECRET = re.compile(r"(?<=://)([^/?#@:]*)(:[^/?#@]*)?@")
_ASIDE = re.compile(r"(?i)([?&;](?:password|sslpassword|passfile)=)[^&;]*")
_NAMED = re.compile(r"([?&]application_name=)([^&]*)")


def open_store(settings: Settings, folder: Path, *, create: bool = True) -> Store:
    """Open the store of a library; local data goes into `folder`."""
    if not settings.store:
        return _in_folder(settings, folder, create)
    store: Store = _load_named(settings).opened(settings, folder)
    return store


def migrate_store(settings: Settings, folder: Path) -> tuple[list[int], int]:
    """Migrate the schema of a store. Return the numbers of the applied migrations, and the current version."""
    if not settings.store:
        from footnotes.store.sqlite import SqliteStore

        return SqliteStore.migrated(folder)
    done: tuple[list[int], int] = _load_named(settings).migrated(settings)
    return done


def repair_store(settings: Settings) -> list[str]:
    """Recreate lost parts of a shared database's schema; return them. A folder has none to repair."""
    return list(_load_named(settings).repaired(settings)) if settings.store else []


def _load_named(settings: Settings) -> Any:
    try:
        parts = urlsplit(settings.store)
        wrong = not parts.scheme or not (parts.netloc or parts.path or parts.query) or parts.port == 0
    except ValueError:
        wrong = True
    if wrong:  # the address is left out: it may contain a password
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


# ── database addresses: without passwords for display, and with our application name for connections ──────────


def redacted(address: str) -> str:
    """Return the address without its password, wherever the password is."""
    return _ASIDE.sub(r"\1…", _SECRET.sub(lambda found: f"{found[1]}:…@" if found[2] else f"{found[1]}@", address))


def named(address: str, application: str) -> str:
    """Add an application name, shown in pg_stat_activity, unless the address has one."""
    if (found := _NAMED.search(address)) is not None:
        return _NAMED.sub(rf"\g<1>{quote(application)}", address) if found[2].startswith("footnotes") else address
    return f"{address}{'&' if '?' in address else '?'}application_name={quote(application)}"
