"""The lexical leg: BM25 over terms from our own analysis, in a tantivy index.

tantivy stores and parses no text: it receives terms, and returns keys with scores (Robertson and Zaragoza, "The
Probabilistic Relevance Framework: BM25 and Beyond", 2009; k1 = 1.2, b = 0.75).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsInt

from footnotes.index import (
    FIELD_WEIGHTS,
    Allowed,
    Change,
    Entry,
    Facets,
    Found,
    IndexDamaged,
    Keys,
    Terms,
    damage_told_apart,
    keys_of,
    manifest,
)
from footnotes.index.lexical_reader import LexicalReader

if TYPE_CHECKING:
    from tantivy import Document, Schema
import json
import struct
import zlib

FORMAT = 2
"""Format 1 had a single field for title and sections."""
SCATTERED_LEAST, SCATTERED_MOST, SCATTERED_SHARE, SCATTERED_SEGMENTS = 1_000, 20_000, 0.2, 5
_WRITER_BYTES = 24_000_000


class LexicalIndex:
    """A tantivy index in a folder. Readers share it; the store's lock admits one writer at a time."""

    def __init__(self, folder: Path, identity: str, *, boosts: Mapping[str, float] = FIELD_WEIGHTS) -> None:
        self._folder = folder
        self._identity = identity
        self._boosts = boosts
        self._checked: set[str] = set()
        self._checksums: dict[str, int] = {}
        self._index: Any = None
        self._reader = LexicalReader(None, None, boosts, 0)
        self.refresh()

    @property
    def position(self) -> int:
        return self._reader.position

    # ── reading

    def refresh(self) -> int:
        """Read the folder again; return the last change in the index on disk."""
        content = manifest.read(self._folder) if self._folder.is_dir() else None
        if content is None:
            self._forget()
            return 0
        if content["seq"] == self.position and self._reader.searcher is not None:
            return self.position
        self._check(content)
        self._load(int(content["seq"]))
        return self.position

    @property
    def reader(self) -> LexicalReader:
        """The current view, for one search."""
        return self._reader

    def search(self, query: Terms | Facets, limit: int, allowed: Allowed | None = None) -> Found:
        """Return the best chunks for weighted terms, or those with a facet, best first, and only those `allowed`."""
        return self._reader.search(query, limit, allowed)

    def score(self, query: Terms, keys: Sequence[int]) -> dict[int, float]:
        """Return the exact score of given chunks."""
        return self._reader.score(query, keys)

    def document_frequency(self, term: str) -> int:
        """Return the number of chunks with the term in their body."""
        return self._reader.document_frequency(term)

    def count(self) -> int:
        return self._reader.count()

    def keys(self) -> Keys:
        return self._reader.keys()

    def is_scattered(self) -> bool:
        """Return whether a small index has enough segments to be worth rewriting as one.

        tantivy merges only eight or more segments by itself; until then every search visits each.
        """
        if not SCATTERED_LEAST <= self.count() <= SCATTERED_MOST:
            return False
        if int(self._reader.searcher.num_segments) < SCATTERED_SEGMENTS:
            return False
        sizes = segment_sizes(self._folder)
        return sum(sizes) - max(sizes, default=0) >= SCATTERED_SHARE * sum(sizes)

    def _check(self, content: dict[str, Any]) -> None:
        if content["identity"] != self._identity or content["format"] != FORMAT:
            raise IndexDamaged("the index belongs to something else or to another version")
        with damage_told_apart("meta.json cannot be read"):
            meta = manifest.crc_of(self._folder / "meta.json")
        if content["clean"] and meta != content["meta"]:
            raise IndexDamaged("meta.json does not match its checksum")
        self._checksums = dict(content.get("files", {}))
        check_segments(self._folder, self._checksums, self._checked)

    def _load(self, seq: int) -> None:
        import tantivy

        with damage_told_apart("tantivy cannot open the index"):
            self._index = tantivy.Index.open(str(self._folder_to_open()))
            self._index.reload()
            self._reader = LexicalReader(self._index.searcher(), self._index.schema, self._boosts, seq)

    def _folder_to_open(self) -> Path:
        """Return the folder or, if it is read-only, one with links to its files: tantivy needs a lock file to read."""
        if os.access(self._folder, os.W_OK):
            return self._folder
        links = Path(tempfile.mkdtemp(prefix="footnotes-read-only-"))
        weakref.finalize(self, shutil.rmtree, links, ignore_errors=True)
        for path in self._folder.iterdir():
            if path.suffix != ".lock":
                (links / path.name).symlink_to(path.resolve())
        return links

    def _forget(self) -> None:
        self._index = None
        self._reader = LexicalReader(None, None, self._boosts, 0)
        self._checksums = {}

    # ── writing

    def apply(self, changes: Iterable[Change], *, position: SupportsInt) -> None:
        """Apply changes and commit them. After a crash the last commit remains, and the changes can be applied again.

        `position` is converted to a number only after all changes are applied.
        """
        self._prepare()
        changes = iter(changes)
        first = next(changes, None)
        if first is None and self._reader.searcher is not None:
            self._write_manifest(clean=True, seq=int(position))
            self._reader = LexicalReader(self._reader.searcher, self._index.schema, self._boosts, int(position))
            return
        changes = chain([] if first is None else [first], changes)
        self._write_manifest(clean=False, seq=self.position)
        sweep(self._folder)
        with damage_told_apart("tantivy cannot write the index"):
            self._commit(changes)
        self._checksums = checksums(self._folder, self._checksums)
        self._checked |= set(self._checksums)
        self._write_manifest(clean=True, seq=int(position))
        self._load(int(position))

    def _commit(self, changes: Iterable[Change]) -> None:
        import tantivy

        writer = self._index.writer(_WRITER_BYTES, num_threads=1)
        try:
            for change in changes:
                if change.only_removed:
                    for key in keys_of(change.removed):
                        writer.delete_documents_by_term("key", key)
                    continue
                writer.delete_documents_by_term("document", change.document)
                for entry in change.entries:
                    writer.add_document(_as_document(entry, tantivy.Document))
            writer.commit()
            writer.wait_merging_threads()
        finally:
            del writer  # a traceback that references it would keep its lock

    def clear(self) -> None:
        self._forget()
        self._checked.clear()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _prepare(self) -> None:
        if self._index is not None:
            return
        import tantivy

        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        with damage_told_apart("tantivy cannot make the index"):
            self._index = tantivy.Index(_schema(), path=str(self._folder))

    def _write_manifest(self, *, clean: bool, seq: int) -> None:
        meta = manifest.crc_of(self._folder / "meta.json")
        content = {
            "identity": self._identity,
            "format": FORMAT,
            "seq": seq,
            "clean": clean,
            "meta": meta,
            "files": self._checksums,
        }
        manifest.write(self._folder, content)


def _schema() -> Schema:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("key", indexed=True, fast=True)
    builder.add_integer_field("document", indexed=True)
    for field in FIELD_WEIGHTS:
        builder.add_text_field(field, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("facets", tokenizer_name="raw", index_option="basic")
    return builder.build()


def _as_document(entry: Entry, new: Callable[[], Document]) -> Document:
    document = new()
    document.add_integer("key", entry.key)
    document.add_integer("document", entry.document)
    document.add_text("body", entry.body)
    for field, text in (("title", entry.title), ("section", entry.section), ("symbols", entry.symbols)):
        if text:
            document.add_text(field, text)
    for facet in entry.facets:
        document.add_text("facets", facet)
    return document


# ── the files of a tantivy index: checked before tantivy maps them into memory, cleaned before it writes ──────


_FOOTER_MAGIC = 1337
_PARTS = ("idx", "pos", "term", "fast", "fieldnorm", "store")
_LISTS = ("meta.json", ".managed.json", manifest.NAME)


def segment_files(folder: Path) -> list[str]:
    """Return every segment file that meta.json names."""
    files: list[str] = []
    for segment in _segments(folder):
        name = str(segment["segment_id"]).replace("-", "")
        files.extend(f"{name}.{part}" for part in _PARTS)
        if deletes := segment.get("deletes"):
            files.append(f"{name}.{deletes['opstamp']}.del")
    return files


def check_segments(folder: Path, expected: Mapping[str, int], known: set[str]) -> None:
    """Raise `IndexDamaged` unless every file that meta.json names exists unchanged.

    `expected` are the checksums of the manifest. They lack files of a commit that was interrupted before the manifest
    was written; these are checked against the CRC-32 at their end, which tantivy does not check when it opens them.
    Files are written once and never reuse a name, so `known` good ones are not read again.
    """
    for file in segment_files(folder):
        if file in known:
            continue
        if file in expected:
            with damage_told_apart(f"{file} cannot be read"):
                found = manifest.crc_of(folder / file)
            if found != expected[file]:
                raise IndexDamaged(f"{file} does not match its checksum")
        else:
            _check_footer(folder / file)
        known.add(file)


def checksums(folder: Path, known: Mapping[str, int]) -> dict[str, int]:
    """Return the checksum of every file that meta.json names; `known` ones are not read again."""
    return {name: known[name] if name in known else manifest.crc_of(folder / name) for name in segment_files(folder)}


def sweep(folder: Path) -> None:
    """Remove files of an interrupted commit: tantivy never overwrites a file, so it would fail on them forever."""
    names = {*segment_files(folder), *_LISTS}
    for path in folder.iterdir():
        if path.name not in names and path.suffix != ".lock":
            path.unlink(missing_ok=True)


def segment_sizes(folder: Path) -> list[int]:
    """Return the number of chunks in each segment when it was written."""
    return [int(segment["max_doc"]) for segment in _segments(folder)]


def _segments(folder: Path) -> list[dict[str, Any]]:
    with damage_told_apart("meta.json cannot be read"):
        segments: list[dict[str, object]] = json.loads((folder / "meta.json").read_text(encoding="utf-8"))["segments"]
        return segments


def _check_footer(path: Path) -> None:
    with damage_told_apart(f"{path.name} cannot be read"):
        content = path.read_bytes()
        try:
            length, magic = struct.unpack("<II", content[-8:])
        except struct.error as error:
            raise IndexDamaged(f"{path.name} is cut off") from error
        footer = json.loads(content[-8 - length : -8])
        body = memoryview(content)[: -8 - length]
        if magic != _FOOTER_MAGIC or zlib.crc32(body) != footer["crc"]:
            raise IndexDamaged(f"{path.name} does not match its checksum")
