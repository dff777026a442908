"""The lexical leg: BM25 over terms analysed by us, in a tantivy index.

tantivy stores no text and parses none: it gets terms, and gives keys with scores (Robertson and Zaragoza, "The
Probabilistic Relevance Framework: BM25 and Beyond", 2009; k1 = 1.2, b = 0.75).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from footnotes.index import (
    FIELD_WEIGHTS,
    Allowed,
    Change,
    Entry,
    Found,
    IndexDamaged,
    Keys,
    damage_told_apart,
    manifest,
)
from footnotes.index.lexical_files import check_segments, checksums, segment_sizes, sweep
from footnotes.index.lexical_query import QueryBuilder

FORMAT = 2
"""1 had a single field for title and sections."""
POSTINGS_BUDGET = 400_000
"""A search reads about this many postings to find candidates; below it the leg is exact BM25 over all terms."""
_BUDGET_CANDIDATES = 200
SCATTERED_LEAST, SCATTERED_MOST, SCATTERED_SHARE = 1_000, 20_000, 0.2
_WRITER_BYTES = 24_000_000


class LexicalIndex:
    """A tantivy index in a folder. Readers share it; one writer at a time, guarded by the store's lock."""

    def __init__(self, folder: Path, identity: str, *, boosts: Mapping[str, float] = FIELD_WEIGHTS) -> None:
        self._folder = folder
        self._identity = identity
        self._boosts = boosts
        self._seq = 0
        self._checked: set[str] = set()
        self._checksums: dict[str, int] = {}
        self._index: Any = None
        self._searcher: Any = None
        self._queries: QueryBuilder | None = None
        self._frequencies: dict[tuple[str, str], int] = {}
        self.refresh()

    @property
    def seq(self) -> int:
        return self._seq

    # ── reading

    def refresh(self) -> int:
        """Look at the folder again; returns the last change the index on disk has seen."""
        content = manifest.read(self._folder) if self._folder.is_dir() else None
        if content is None:
            self._forget()
            return 0
        if content["seq"] == self._seq and self._searcher is not None:
            return self._seq
        self._check(content)
        self._load()
        self._seq = int(content["seq"])
        return self._seq

    def search(self, terms: Mapping[str, float], limit: int, allowed: Allowed | None = None) -> Found:
        """The best chunks for weighted terms, best first, and only those `allowed`."""
        if not terms or self._searcher is None or limit < 1:
            return Found()
        queries = self._built()
        if allowed is not None:
            return self._run(queries.any_within(terms, queries.allowed(allowed)), limit)
        essential = self._essential(terms)
        if len(essential) == len(terms):
            return self._run(queries.any_of(terms), limit)
        found = self._run(queries.any_of(essential), max(limit, _BUDGET_CANDIDATES))
        if len(found.keys) < limit:
            return self._run(queries.any_of(terms), limit)
        exact = self._run(queries.scored(terms, found.keys), len(found.keys))
        return Found(exact.keys[:limit], exact.scores[:limit])

    def having(self, facets: Sequence[str], limit: int, allowed: Allowed | None = None) -> list[int]:
        """Chunks that have any of some facets, and only those `allowed`."""
        if not facets or self._searcher is None or limit < 1:
            return []
        return self._run(self._built().having(facets, allowed), limit).keys

    def score(self, terms: Mapping[str, float], keys: Sequence[int]) -> dict[int, float]:
        """The exact score of given chunks."""
        if not terms or not keys or self._searcher is None:
            return dict.fromkeys(keys, 0.0)
        found = self._run(self._built().scored(terms, keys), len(keys))
        return dict.fromkeys(keys, 0.0) | dict(zip(found.keys, found.scores, strict=True))

    def document_frequency(self, term: str) -> int:
        """How many chunks have the term in their body."""
        return 0 if self._searcher is None else self._frequency("body", term)

    def count(self) -> int:
        return 0 if self._searcher is None else int(self._searcher.num_docs)

    def is_scattered(self) -> bool:
        """Whether it is small, and in so many pieces that writing it anew as one is worth it.

        tantivy joins pieces of its own accord only when there are eight; until then every search goes through each.
        """
        if not SCATTERED_LEAST <= self.count() <= SCATTERED_MOST or int(self._searcher.num_segments) < 3:
            return False
        sizes = segment_sizes(self._folder)
        return sum(sizes) - max(sizes, default=0) >= SCATTERED_SHARE * sum(sizes)

    def keys(self) -> Keys:
        if self.count() == 0:
            return np.zeros(0, dtype=np.int64)
        import tantivy

        searcher = self._searcher
        with damage_told_apart("tantivy cannot read the index"):
            hits = searcher.search(tantivy.Query.all_query(), limit=int(searcher.num_docs), count=False).hits
            values = searcher.fast_field_values("key", [address for _, address in hits])
        return np.sort(np.asarray(values, dtype=np.int64))

    def _frequency(self, field: str, term: str) -> int:
        known = self._frequencies.get((field, term))
        if known is None:
            known = self._frequencies[field, term] = int(self._searcher.doc_freq(field, term))
        return known

    def _run(self, query: Any, limit: int) -> Found:
        searcher = self._searcher  # a writer may put another in its place meanwhile
        with damage_told_apart("tantivy cannot search the index"):
            hits = searcher.search(query, limit=limit, count=False).hits
            if not hits:
                return Found()
            keys = searcher.fast_field_values("key", [address for _, address in hits])
        return Found(list(keys), [score for score, _ in hits])

    def _essential(self, terms: Mapping[str, float]) -> Mapping[str, float]:
        """The rarest terms whose postings fit the budget (two at least): they decide who can be among the best.

        The idea of MaxScore (Turtle and Flood, 1995), with a fixed budget in place of a bound: very common
        terms add little to any score, and every candidate is scored with all terms afterwards.
        """
        spent = 0
        chosen: dict[str, float] = {}
        for frequency, term in sorted((self.document_frequency(term), term) for term in terms):
            if len(chosen) >= 2 and spent + frequency > POSTINGS_BUDGET:
                break
            chosen[term] = terms[term]
            spent += frequency
        return chosen

    def _built(self) -> QueryBuilder:
        if self._queries is None:
            self._queries = QueryBuilder(self._index.schema, self._boosts, self._frequency)
        return self._queries

    def _check(self, content: dict[str, Any]) -> None:
        if content["identity"] != self._identity or content["format"] != FORMAT:
            raise IndexDamaged("the index belongs to something else or to another version")
        with damage_told_apart("meta.json cannot be read"):
            meta = manifest.crc_of(self._folder / "meta.json")
        if content["clean"] and meta != content["meta"]:
            raise IndexDamaged("meta.json does not match its checksum")
        self._checksums = dict(content.get("files", {}))
        check_segments(self._folder, self._checksums, self._checked)

    def _load(self) -> None:
        import tantivy

        with damage_told_apart("tantivy cannot open the index"):
            self._index = tantivy.Index.open(str(self._folder_to_open()))
            self._index.reload()
            self._searcher = self._index.searcher()
        self._queries = None
        self._frequencies = {}

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
        self._index = self._searcher = self._queries = None
        self._checksums = {}
        self._seq = 0

    # ── writing

    def apply(self, changes: Iterable[Change], *, seq: int) -> None:
        """Take changes in and commit them; a crash in between leaves the last commit, to be applied over."""
        self._prepare()
        changes = iter(changes)
        first = next(changes, None)
        if first is None and self._searcher is not None:
            self._write_manifest(clean=True, seq=seq)
            self._seq = seq
            return
        changes = chain([] if first is None else [first], changes)
        self._write_manifest(clean=False, seq=self._seq)
        sweep(self._folder)
        with damage_told_apart("tantivy cannot write the index"):
            self._commit(changes)
        self._checksums = checksums(self._folder, self._checksums)
        self._checked |= set(self._checksums)
        self._write_manifest(clean=True, seq=seq)
        self._load()
        self._seq = seq

    def _commit(self, changes: Iterable[Change]) -> None:
        writer = self._index.writer(_WRITER_BYTES, num_threads=1)
        try:
            for change in changes:
                writer.delete_documents_by_term("document", change.document)
                for entry in change.entries:
                    writer.add_document(_as_document(entry))
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


def _as_document(entry: Entry) -> Any:
    import tantivy

    document = tantivy.Document()
    document.add_integer("key", entry.key)
    document.add_integer("document", entry.document)
    document.add_text("body", entry.body)
    for field, text in (("title", entry.title), ("section", entry.section), ("symbols", entry.symbols)):
        if text:
            document.add_text(field, text)
    for facet in entry.facets:
        document.add_text("facets", facet)
    return document
