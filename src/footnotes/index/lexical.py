"""The lexical leg: BM25 over terms analysed by us, in a tantivy index.

tantivy stores no text and parses none: it gets terms, and gives keys with scores (Robertson and Zaragoza, "The
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
from typing import Any, SupportsInt

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
from footnotes.index.lexical_files import check_segments, checksums, segment_sizes, sweep
from footnotes.index.lexical_reader import LexicalReader

FORMAT = 2
"""1 had a single field for title and sections."""
SCATTERED_LEAST, SCATTERED_MOST, SCATTERED_SHARE, SCATTERED_SEGMENTS = 1_000, 20_000, 0.2, 5
_WRITER_BYTES = 24_000_000


class LexicalIndex:
    """A tantivy index in a folder. Readers share it; one writer at a time, guarded by the store's lock."""

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
        """Look at the folder again; returns the last change the index on disk has seen."""
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
        """What a search reads from now on, as it is now."""
        return self._reader

    def search(self, query: Terms | Facets, limit: int, allowed: Allowed | None = None) -> Found:
        """The best chunks for weighted terms, best first, or those with a facet, and only those `allowed`."""
        return self._reader.search(query, limit, allowed)

    def score(self, query: Terms, keys: Sequence[int]) -> dict[int, float]:
        """The exact score of given chunks."""
        return self._reader.score(query, keys)

    def document_frequency(self, term: str) -> int:
        """How many chunks have the term in their body."""
        return self._reader.document_frequency(term)

    def count(self) -> int:
        return self._reader.count()

    def keys(self) -> Keys:
        return self._reader.keys()

    def is_scattered(self) -> bool:
        """Whether it is small, and in so many pieces that writing it again as one is worth it.

        tantivy joins pieces of its own accord only when there are eight; until then every search goes through each.
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
        """The folder itself; where it may not be written, one with links to its files: tantivy locks what it reads."""
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
        """Take changes in and commit them; a crash in between leaves the last commit, to be applied over.

        `position` is asked for its number when all changes are taken.
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
            del writer  # a traceback that holds it would hold its lock too

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


def _schema() -> Any:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("key", indexed=True, fast=True)
    builder.add_integer_field("document", indexed=True)
    for field in FIELD_WEIGHTS:
        builder.add_text_field(field, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("facets", tokenizer_name="raw", index_option="basic")
    return builder.build()


def _as_document(entry: Entry, new: Callable[[], Any]) -> object:
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
