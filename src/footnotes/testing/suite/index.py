"""The index under test, as the suite of indexes needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from footnotes.embed import Matrix
from footnotes.index import Vector
from footnotes.library import Library
from footnotes.retrieve.where import Where
from footnotes.testing.embedder import HashingEmbedder
from footnotes.testing.suite.harness import StoreHarness
from footnotes.types import Role

_SQLITE = """
SELECT c.key, c.id, e.vector FROM chunks c JOIN documents d ON d.pk = c.document AND d.current = c.version
JOIN generations g ON g.pk = c.generation
LEFT JOIN embeddings e ON e.user_id = c.user_id AND e.model = g.model AND e.input_hash = c.input_hash
"""
_POSTGRES = """
SELECT c.key, c.id, c.embedding FROM document_chunks c
JOIN documents d ON d.pk = c.document AND d.current = c.version
"""


class IndexUnderTest:
    """One index, of one leg, beside an empty store. The author of an index implements the access from outside.

    Tests that do not apply are skipped with the reason in `never_away`, `never_behind` and so on.
    """

    name: ClassVar[str] = ""
    leg: ClassVar[str] = "dense"
    silent: ClassVar[bool] = False
    """Whether it is beside the library: an outage then means that an older copy of it returns unnoticed."""
    never_away: ClassVar[str] = ""
    never_behind: ClassVar[str] = ""
    never_damaged: ClassVar[str] = ""
    never_foreign: ClassVar[str] = ""
    never_goes_back: ClassVar[str] = ""
    beyond_repair: ClassVar[tuple[str, ...]] = ()
    """Damages that only its owner can repair, with `remake`."""
    writer: ClassVar[str] = ""
    """The class whose `apply` applies changes, as `module:Class`."""
    in_small_steps: ClassVar[dict[str, object]] = {}
    """Settings that apply changes one by one."""

    def __init__(self, harness: StoreHarness) -> None:
        self.harness = harness

    def open(self, user: str = "local", *, embedder: HashingEmbedder | None = None, **settings: object) -> Library:
        return self.harness.open(user, embedder=embedder, **settings)

    # ── to be implemented by the author of an index

    def stop(self) -> None:
        """Make it unreachable. The library is closed, unless the index is a server."""
        raise NotImplementedError

    def start(self) -> None:
        """Make it reachable again."""
        raise NotImplementedError

    def damages(self) -> dict[str, Callable[[], None]]:
        """Return ways to damage it, by name; `verify` detects all of them. The library is closed."""
        raise NotImplementedError

    def remake(self) -> None:
        """Repair it as its owner would, as `verify` advises if nothing else helps."""
        raise NotImplementedError

    def forge(self, key: int, like: int) -> None:
        """Give one chunk the data of another: vector, words and filter values."""
        raise NotImplementedError

    def keys(self) -> set[int]:
        """Return every chunk it has, of any tenant and generation, as seen from outside."""
        raise NotImplementedError

    def residue(self, canary: str, vectors: list[Vector]) -> list[str]:
        """Find a word or one of some vectors in it, as seen from outside."""
        raise NotImplementedError

    def go_back(self, copy: bool) -> None:
        """Copy only the store, or restore the copy. The library is closed."""
        raise NotImplementedError

    def hasten(self, patch: pytest.MonkeyPatch) -> None:
        """Before it is filled: force approximate search, even for few chunks."""

    def settle(self, library: Library) -> None:
        """After it is filled: wait until it searches the way it does with many chunks."""
        library.settle()

    def close(self) -> None:
        """Stop everything, and restore what is unreachable."""

    # ── the store's data

    def truth(self, library: Library) -> dict[int, tuple[str, Vector | None]]:
        """Return the id and vector of every published chunk of any tenant and generation, by key."""
        store: Any = library._store
        if store.kind == "sqlite":
            rows = store.database.reader.execute(_SQLITE).fetchall()
            return {key: (name, _as_row(vector)) for key, name, vector in rows}
        rows = store.database.fetch(library.settings.user, _POSTGRES)
        return {row[0]: (row[1], None if row[2] is None else row[2].to_numpy().astype(np.float32)) for row in rows}


def _as_row(stored: bytes | None) -> Vector | None:
    return None if stored is None else np.frombuffer(stored, dtype=np.float16).astype(np.float32)


class CountingEmbedder(HashingEmbedder):
    """Remembers its passages, so a test can show that none was embedded twice."""

    def __init__(self) -> None:
        super().__init__()
        self.passages: list[str] = []

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        if role == "passage":
            self.passages += texts
        return super().embed(texts, role=role)

    def check_nothing_twice(self) -> None:
        assert len(self.passages) == len(set(self.passages)), "a passage was embedded twice"


def everything(library: Library, leg: str, where: Where | None = None, question: str = "common") -> set[str]:
    """The ids of all chunks that a leg finds for a word that all of them have."""
    found = library.search(question, mode=leg, where=where, limit=1_000, per_document=1_000)
    assert found.legs[leg].status in ("ok", "pending"), found.legs[leg].reason
    return {hit.chunk_id for hit in found.hits}


def chunk_ids(library: Library, leg: str = "dense") -> set[str]:
    """The ids of all chunks of a tenant, as the store has them; of those a leg can find by the word "common"."""
    found = (chunk for document in library.documents() for chunk in library.chunks(document.id))
    return {chunk.id for chunk in found if leg == "dense" or "common" in chunk.text}


def check_whole(index: IndexUnderTest, library: Library) -> None:
    """Check that nothing is missing and nothing is extra, in all legs."""
    found = library.verify()
    assert found.ok, found.problems
    assert everything(library, index.leg) == chunk_ids(library, index.leg)
    assert index.keys() == set(index.truth(library))
    assert {document.status for document in library.documents()} <= {"ready"}
    result = library.search("common", mode=index.leg)
    assert result.legs[index.leg].status == "ok" and not result.degraded, result.legs
