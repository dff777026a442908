"""The embedded store: one SQLite file for the data, and two index folders beside it."""

from footnotes.store.sqlite.store import DATABASE, SqliteStore, is_library

__all__ = ["DATABASE", "SqliteStore", "is_library"]
