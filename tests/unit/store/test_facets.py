"""What filters can test of a document."""

from __future__ import annotations

from dataclasses import replace

from footnotes.store.facets import MAX_KEY, facets_of
from footnotes.types import Document

DOCUMENT = Document(
    id="d1", collection="default", filename="a.txt", source="a.txt", file_hash="", mime="text/plain", title="a",
    status="ready", bytes=1, characters=1, pages=None, chunks=1, metadata={}, warnings=(), embedding_model="",
    embedding_dim=0, ingestion_version="", version=1, created_at="2026-01-01", updated_at="2026-01-01",
)  # fmt: skip


def test_keys_that_no_filter_can_name_are_no_facets() -> None:
    """Databases have no room for them in their indexes, and would refuse the whole document."""
    long = "k" * MAX_KEY
    said = {long: "found", f"{long}k": "not", "a": {long: "not either", "b": 1}}
    keys = {facet.key for facet in facets_of(replace(DOCUMENT, metadata=said))}
    assert long in keys and "a.b" in keys
    assert max(map(len, keys)) == MAX_KEY
