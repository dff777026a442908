"""Databases: `sql+sqlite:///file.db?query=…` and `sql+postgresql://user@host/db?table=…`, by SQLAlchemy.

Every row is a document, named by the column `id`; with `as=table` all of them are one table that answers cite by row
and column. Nothing is ever written: the connection is read-only.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

import sqlalchemy
from sqlalchemy import URL, create_engine, text
from sqlalchemy.pool import NullPool

from footnotes.errors import OptionError
from footnotes.ingest.sources import Address, BaseSource, Content, Entry, LeftOut
from footnotes.ingest.sources.files import digest, write_text
from footnotes.types import JsonValue

_NAME = re.compile(r"[A-Za-z_][\w$]*(\.[A-Za-z_][\w$]*)?")
_DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg", "sqlite": "sqlite"}
_READS = re.compile(r"(?is)\s*(--[^\n]*\n\s*|/\*.*?\*/\s*|\(\s*)*(select|with|values|table)\b")
_MOST_ROWS = 1_000_000


class SqlSource(BaseSource):
    """The rows of a query or table."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        table, query = address.option("table"), address.option("query")
        if bool(table) == bool(query):
            raise OptionError(
                f"{address.text} needs a query or a table", remedy="Write ?query=SELECT … or ?table=NAME."
            )
        if table and not _NAME.fullmatch(table):
            raise OptionError(f"{table[:60]!r} is not the name of a table")
        if query and not _READS.match(query):
            raise OptionError("the query must begin with SELECT, WITH, VALUES or TABLE: a source is only read")
        self._query = query or f"SELECT * FROM {_quote_name(table)}"  # noqa: S608 - the name was checked
        self._named = table or f"query-{digest(query)[:12]}"
        self.root = self.name = f"{address.text}/{quote(self._named)}"
        self._engine = _engine(address)
        self._rows: dict[str, dict[str, object]] = {}
        self._table = ""

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return "query", "table", "id", "title", "as", "password", "host"

    @classmethod
    def check_rights(cls, address: Address) -> None:
        address.check_trusted("only the operator of the server may use databases")

    def entries(self) -> Iterator[Entry | LeftOut]:
        columns, rows = self._fetch_rows()
        if self.address.option("as") == "table":
            self._table = _csv(columns, rows)
            yield Entry(f"{self._named}.csv", digest(self._table), metadata={"rows": len(rows)})
            return
        id_column = self.address.option("id") or ("id" if "id" in columns else columns[0])
        if id_column not in columns:
            raise OptionError(f"the rows have no column {id_column!r}; they have {', '.join(columns)[:200]}")
        for values in rows:
            row = dict(zip(columns, values, strict=True))
            key = f"{quote(_to_text(row[id_column]), safe='')}.csv"
            if key in self._rows:
                raise OptionError(
                    f"two rows have the same {id_column}", remedy="Name a column that is unique: id=COLUMN."
                )
            self._rows[key] = row
            yield Entry(key, digest(json.dumps(row, default=_to_text)), metadata=self._metadata(row, id_column))

    def _fetch_rows(self) -> tuple[list[str], list[Sequence[object]]]:
        with self._engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SET TRANSACTION READ ONLY"))
            found = connection.execute(text(self._query))
            columns, rows = list(found.keys()), found.fetchmany(_MOST_ROWS + 1)
            connection.rollback()
        if len(rows) > _MOST_ROWS:
            raise OptionError(
                f"the query returns more than {_MOST_ROWS:,} rows", remedy="Narrow it, or split it in two."
            )
        return columns, [tuple(row) for row in rows]

    def _metadata(self, row: dict[str, object], id_column: str) -> dict[str, JsonValue]:
        """Return the table, the row's name, and short values to filter by."""
        metadata: dict[str, JsonValue] = {"table": self._named, "row": _to_text(row[id_column])}
        for name, value in row.items():
            if isinstance(value, (int, float, bool)) or (isinstance(value, str) and len(value) <= 100):
                metadata.setdefault(name, value)
        return metadata

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        if self._table:
            yield Content(write_text(self._table, folder / "table"), entry.key)
            return
        row = self._rows[entry.key]
        title = self.address.option("title")
        name = f"{_to_text(row[title])[:100]}.csv" if title and row.get(title) else f"{self._named} {entry.key}"
        yield Content(write_text(_csv(list(row), [list(row.values())]), folder / "row"), name)

    def close(self) -> None:
        self._engine.dispose()


def _engine(address: Address) -> sqlalchemy.Engine:
    driver = _DRIVERS.get(address.carrier or ("postgresql" if address.host else "sqlite"))
    if driver is None:
        known = ", ".join(f"sql+{name}" for name in _DRIVERS)
        raise OptionError(f"unknown database {address.carrier!r}; known: {known}")
    if driver == "sqlite":
        path = address.local_path()
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        url = URL.create("sqlite", database=f"file:{quote(str(path))}", query={"mode": "ro", "uri": "true"})
        return create_engine(url, poolclass=NullPool)
    SqlSource.check_rights(address)
    password = address.secret("password") or None
    database = address.path.strip("/")
    url = URL.create(
        driver, address.user or None, password, address.option("host") or address.host or None, address.port, database
    )
    # A statement that is prepared is one statement: a second one behind it cannot end the transaction that only reads.
    driver_options = {"prepare_threshold": 0, "options": "-c default_transaction_read_only=on"}
    return create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=driver_options)


def _quote_name(name: str) -> str:
    return ".".join(f'"{part}"' for part in name.split("."))


def _to_text(value: object) -> str:
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, (bytes, memoryview)):
        return f"{len(bytes(value))} bytes"
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value.normalize()) if isinstance(value, Decimal) else "" if value is None else str(value)


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([[_to_text(value) for value in row] for row in rows])
    return buffer.getvalue()
