"""Zotero: `zotero:~/Zotero`, its database and storage folder. Zotero's fields become metadata of the documents."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from footnotes.errors import SourceUnreadable
from footnotes.ingest.sources import Address, BaseSource, Content, Entry, LeftOut
from footnotes.ingest.sources.files import BLOCK, digest, write_blocks, write_text
from footnotes.store.statements import load_queries
from footnotes.types import JsonValue

_SHOWN = {"title": "title", "abstractNote": "abstract", "DOI": "doi", "url": "url", "publicationTitle": "publication"}
_STORED = "storage:"


class ZoteroSource(BaseSource):
    """Attachments, notes, and the records of items without a file. Skips the trash."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._top = address.local_path()
        self.root = self.name = f"zotero:{self._top}"
        database = self._top / "zotero.sqlite"
        if not database.is_file():
            raise SourceUnreadable(f"there is no zotero.sqlite in {self._top}", remedy="Pass Zotero's data folder.")
        # Zotero locks its database while it runs: a copy can be read.
        copy = address.folder() / "zotero.sqlite"
        for suffix in ("", "-wal", "-journal"):
            if (part := database.with_name(database.name + suffix)).is_file():
                shutil.copy(part, copy.with_name(copy.name + suffix))
        self._database = sqlite3.connect(copy)
        self._database.row_factory = sqlite3.Row
        self._texts: dict[str, tuple[str, str]] = {}
        self._files: dict[str, Path] = {}

    def entries(self) -> Iterator[Entry | LeftOut]:
        items = {row["itemID"]: row for row in self._rows("items")}
        metadata = {number: self._metadata(number, item) for number, item in items.items()}
        with_files = set()
        for row in self._rows("attachments"):
            parent = row["parentItemID"] if row["parentItemID"] in items else None
            key = f"{row['key']}/{_filename(row['path'])}"
            path = self._locate(row["path"], row["key"])
            if path is None or not path.is_file():
                yield LeftOut(key, "the file is not here")
                continue
            with_files.add(parent)
            self._files[key] = path
            status = path.stat()
            fields = metadata.get(parent or row["itemID"], {})
            stamp = digest(status.st_size, status.st_mtime_ns, repr(fields))
            yield Entry(key, stamp, status.st_size, {**fields, "zotero": row["key"]})
        for row in self._rows("notes"):
            fields = metadata.get(row["parentItemID"], metadata.get(row["itemID"], {}))
            yield self._text(f"{row['key']}.html", _note(row), row["key"], fields)
        for number, item in items.items():
            if number not in with_files and metadata[number].get("abstract"):
                yield self._text(f"{item['key']}.md", _record(metadata[number]), item["key"], metadata[number])

    def _text(self, key: str, text: str, item: str, fields: dict[str, JsonValue]) -> Entry:
        name = f"{str(fields.get('title') or item)[:100]}{Path(key).suffix}"
        self._texts[key] = (name, text)
        return Entry(key, digest(text, repr(fields)), len(text), {**fields, "zotero": item})

    def _rows(self, name: str) -> list[sqlite3.Row]:
        return self._database.execute(load_queries("footnotes.ingest.sources", "zotero")[name].sql).fetchall()

    def _metadata(self, number: int, item: sqlite3.Row) -> dict[str, JsonValue]:
        if not hasattr(self, "_fields"):
            self._fields = _group(self._rows("fields"))
            self._creators, self._tags = _group(self._rows("creators")), _group(self._rows("tags"))
            self._collections = _group(self._rows("collections"))
        found: dict[str, JsonValue] = {"item_type": item["typeName"]}
        for row in self._fields.get(number, ()):
            if row["fieldName"] in _SHOWN:
                found[_SHOWN[row["fieldName"]]] = str(row["value"])[:4000]
            elif row["fieldName"] == "date":
                found["year"] = str(row["value"])[:4]
        authors: list[JsonValue] = [
            f"{row['firstName']} {row['lastName']}".strip() for row in self._creators.get(number, ())
        ]
        if authors:
            found["author"] = ", ".join(map(str, authors))[:1000]
        for name, rows in (("tags", self._tags), ("zotero_collections", self._collections)):
            if values := [str(row["name"]) for row in rows.get(number, ())]:
                found[name] = [*values]
        return found

    def _locate(self, path: str | None, key: str) -> Path | None:
        if not path:
            return None
        if path.startswith(_STORED):
            return self._top / "storage" / key / _filename(path)
        return Path(path) if Path(path).is_absolute() else None

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        if entry.key in self._texts:
            name, text = self._texts[entry.key]
            yield Content(write_text(text, folder / "text"), name)
            return
        with self._files[entry.key].open("rb") as file:
            path = write_blocks(iter(lambda: file.read(BLOCK), b""), folder / "file", self.limit)
        yield Content(path, _filename(entry.key))

    def close(self) -> None:
        self._database.close()


def _filename(path: str | None) -> str:
    return (path or "").removeprefix(_STORED).replace("\\", "/").rpartition("/")[2]


def _group(rows: list[sqlite3.Row]) -> dict[int, list[sqlite3.Row]]:
    found: dict[int, list[sqlite3.Row]] = {}
    for row in rows:
        found.setdefault(row["itemID"], []).append(row)
    return found


def _note(row: sqlite3.Row) -> str:
    title = escape(row["title"] or "Note")
    head = f"<head><meta charset='utf-8'><title>{title}</title></head>"
    return f"<!DOCTYPE html><html>{head}<body>{row['note']}</body></html>"


def _record(fields: dict[str, JsonValue]) -> str:
    """Write the record of an item without a file as a card."""
    lines = [f"# {fields.get('title') or 'Untitled'}"]
    line = ". ".join(str(fields[name]) for name in ("author", "publication", "year", "doi") if fields.get(name))
    return "\n\n".join(part for part in (*lines, line, str(fields.get("abstract") or "")) if part) + "\n"
