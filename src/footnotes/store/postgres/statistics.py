"""How many chunks have a term: what BM25 needs to know, kept beside the chunks and changed with them."""

from __future__ import annotations

from footnotes.store.database import Cursor

FOLDED_FROM = 50_000
"""Rows of one generation beyond which they are added up; until then a search adds them itself."""


def recount(cursor: Cursor, generation: int) -> None:
    """Count all terms of a generation again, from its chunks."""
    cursor.run("drop_terms", generation=generation)
    for row in cursor.all("served_versions", generation=generation):
        cursor.run("note_chunks", generation=generation, versions=[row["version"]])
    cursor.run("fold_terms", generation=generation)


def is_scattered(cursor: Cursor, generation: int) -> bool:
    """Whether there are so many rows beside the folded ones that searches feel them."""
    found = cursor.one("count_terms", generation=generation)
    assert found is not None
    return bool(found["rows"] - found["terms"] > min(FOLDED_FROM, max(1_000, found["terms"])))
