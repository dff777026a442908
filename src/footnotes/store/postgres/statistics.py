"""Counts the chunks with each term, as BM25 needs; stored beside the chunks and updated with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from typing import Any

from footnotes.store.database import Cursor
from footnotes.store.postgres.cursor import PostgresCursor
from footnotes.store.postgres.words import Words
from footnotes.store.weights import FIELDS

FOLDED_FROM = 50_000
"""Rows of one generation from which they are added up; with fewer, a search adds them itself."""


class TermCounts:
    """In how many chunks of some versions each term stands, by field, and how long their fields are.

    They are counted while they are written: `note_chunks` has to read them again.
    """

    def __init__(self, versions: Container[int]) -> None:
        self._versions = versions
        self._lengths: list[tuple[int, ...]] = []
        self._terms: dict[str, Counter[str]] = {field: Counter() for field in FIELDS}

    def add(self, version: int, words: Words) -> None:
        if version in self._versions:
            self._lengths.append(words.lengths)
            for field, found in words.counts.items():
                self._terms[field].update(found.keys())

    def write(self, cursor: PostgresCursor, generation: int) -> None:
        """Add them to what is known of a generation, in the order of the index on it.

        Few terms stand in a title or a heading: those are counted in rows of their own, and body counts alone.
        """
        if not self._lengths:
            return
        for terms, lengths in zip(self._terms.values(), zip(*self._lengths, strict=True), strict=True):
            terms[" chunks"], terms[" length"] = len(lengths), sum(lengths)
        body, *above = self._terms.values()
        of_body, of_others = sorted(body), sorted({term for terms in above for term in terms})
        columns: list[list[Any]] = [of_body, [*map(body.__getitem__, of_body)], of_others]
        columns += ([*map(terms.__getitem__, of_others)] for terms in above)
        cursor.insert_columns("put_statistics", columns, generation=generation)


def recount(cursor: Cursor, generation: int) -> None:
    """Recount all terms of a generation from its chunks."""
    cursor.run("drop_terms", generation=generation)
    for row in cursor.all("served_versions", generation=generation):
        cursor.run("note_chunks", generation=generation, versions=[row["version"]])
    cursor.run("fold_terms", generation=generation)


def is_scattered(cursor: Cursor, generation: int) -> bool:
    """Return whether there are enough unfolded rows to slow down searches."""
    found = cursor.one("count_terms", generation=generation)
    assert found is not None
    return bool(found["rows"] - found["terms"] > min(FOLDED_FROM, max(1_000, found["terms"])))
