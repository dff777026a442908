"""Keys, quotas and jobs of a server, brought from one of its databases to another."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from footnotes.config import Settings
from footnotes.serve.database import ServerDatabase, open_database

_TABLES = ("keys", "answers")


def save_server(settings: Settings, folder: Path) -> None:
    """Copy what the servers of a PostgreSQL know beside the documents into a folder."""
    with closing(open_database(folder, settings)) as source, closing(_in_folder(settings, folder)) as target:
        _copy(source, target)


def load_server(settings: Settings, folder: Path) -> None:
    """Copy what a folder's server knows beside the documents into PostgreSQL."""
    with closing(_in_folder(settings, folder)) as source, closing(open_database(folder, settings)) as target:
        _copy(source, target)


def _in_folder(settings: Settings, folder: Path) -> ServerDatabase:
    return open_database(folder, replace(settings, store=""))


def _copy(source: ServerDatabase, target: ServerDatabase) -> None:
    """Rows that are there already stay as they are. Jobs are left out: their uploads are on the other side."""
    for table in _TABLES:
        for row in source.rows(f"SELECT * FROM {table}"):  # noqa: S608 (names of our own)
            _put(target, table, row)


def _put(target: ServerDatabase, table: str, row: dict[str, Any]) -> None:
    names = ", ".join(row)
    places = ", ".join("?" for _ in row)
    sql = f"INSERT INTO {table} ({names}) VALUES ({places}) ON CONFLICT DO NOTHING"  # noqa: S608 (names of our own)
    target.rows(sql, tuple(row.values()))
