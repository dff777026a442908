"""The change log as a vector database receives it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Protocol

import numpy as np

from footnotes.index import Allowed, Change, Keys
from footnotes.index.remote import Scope
from footnotes.store import lexemes
from footnotes.store.database import Cursor, Database, Row
from footnotes.store.records import Generation
from footnotes.store.retry import retrying
from footnotes.store.rows import origin_of
from footnotes.types import JsonValue

TOLD = ("document_id", "collection", "filename", "source", "title")


@dataclass(frozen=True, slots=True)
class Portion:
    """A group of changed documents, and the change up to which it is complete."""

    seq: int
    changes: Iterable[Change]


class ChangeFeed(Protocol):
    """The data a store gives a vector database, and its record of the database's progress."""

    words: str
    """The version of the analysis for the lexical leg; an index with another version is filled again."""

    def held(self, generation: Generation) -> AbstractContextManager[None]:
        """Hold the lock that lets one process at a time fill an index."""
        ...

    def last(self, generation: Generation) -> int:
        """Return the last change."""
        ...

    def portion(self, generation: Generation, after: int) -> AbstractContextManager[Portion | None]:
        """Lend the next documents changed after a change, in their current state; None if there are none."""
        ...

    def behind(self, generation: Generation, seq: int) -> int:
        """Count the documents changed after a change, up to ten thousand."""
        ...

    def known(self, generation: Generation) -> int:
        """Return the last change recorded as applied by the process that filled the index."""
        ...

    def again(self, generation: Generation, keys: Keys, seq: int) -> AbstractContextManager[Portion]:
        """Lend the documents of some chunks again."""
        ...

    def keys(self, generation: Generation) -> Keys:
        """Return the chunks of a complete index, sorted."""
        ...

    def note(self, generation: Generation) -> None:
        """Record an index before it is filled, so that it is cleared some day whatever happens to the generation."""
        ...

    def reached(self, generation: Generation, seq: int) -> None:
        """Record the change an index has reached: documents that waited for it are ready."""
        ...

    def dropped(self, user_id: str) -> list[Scope]:
        """Return indexes of the tenant's deleted generations that could not be cleared yet."""
        ...

    def forget(self, scope: Scope) -> None:
        """Forget an index that has been cleared."""
        ...


class BaseChangeFeed(ABC):
    """The parts that all stores share: the library, the database, and the data to send.

    `with_metadata` means that names and metadata are sent too.
    """

    def __init__(
        self, database: Database, library: str, address: str, legs: Iterable[str], *, with_metadata: bool
    ) -> None:
        self._database = database
        self._library = library
        self._address = address
        self._lexical = "lexical" in legs
        self._dense = "dense" in legs
        self._with_metadata = with_metadata
        self.words = lexemes.fingerprint() if self._lexical else ""

    def last(self, generation: Generation) -> int:
        with self._database.read(generation.user_id) as cursor:
            return int(cursor.value("last_change", generation=generation.pk))

    def behind(self, generation: Generation, seq: int) -> int:
        with self._database.read(generation.user_id) as cursor:
            return int(cursor.value("count_changed", generation=generation.pk, seq=seq))

    def known(self, generation: Generation) -> int:
        with self._database.read(generation.user_id) as cursor:
            row = cursor.one("remote_index", address=self._address, generation=generation.pk)
        return row["seq"] if row is not None and row["words"] == self.words else 0

    @abstractmethod
    def _changes(self, cursor: Cursor, generation: Generation, rows: Sequence[Row], seq: int) -> Iterable[Change]:
        """Return the documents of rows in their current state."""

    @contextmanager
    def again(self, generation: Generation, keys: Keys, seq: int) -> Iterator[Portion]:
        with self._database.snapshot(generation.user_id) as cursor:
            rows = cursor.all("documents_of_keys", generation=generation.pk, keys=keys.tolist())
            yield Portion(seq, self._changes(cursor, generation, rows, seq))

    def keys(self, generation: Generation) -> Keys:
        with self._database.read(generation.user_id) as cursor:
            rows = cursor.all("live_keys", generation=generation.pk)
        return np.array([row["key"] for row in rows if self._lexical or not row["waits"]], dtype=np.int64)

    @retrying
    def _put_remote_index(self, generation: Generation) -> None:
        """Record this index, and that the generation uses no other."""
        description = {"fingerprint": generation.fingerprint, "dimensions": generation.dimensions, "words": self.words}
        with self._database.write(generation.user_id) as cursor:
            cursor.run("put_remote_index", address=self._address, generation=generation.pk, **description)
            cursor.run("use_no_other_remote_index", address=self._address, generation=generation.pk)

    def dropped(self, user_id: str) -> list[Scope]:
        names = ("user_id", "generation", "fingerprint", "dimensions", "words")
        with self._database.read(user_id) as cursor:
            rows = cursor.all("dropped_remote_indexes", address=self._address)
        return [Scope(self._library, *(row[name] for name in names)) for row in rows]

    @retrying
    def forget(self, scope: Scope) -> None:
        with self._database.write(scope.user_id) as cursor:
            cursor.run("forget_remote_index", address=self._address, generation=scope.generation)


def first_rows(rows: Sequence[Row], chunks: int) -> list[Row]:
    """Return the first documents that have about so many chunks together."""
    some, size = list[Row](), 0
    for row in rows:
        some.append(row)
        size += row["chunks"]
        if size >= chunks:
            break
    return some


def described(document: Row, chunk_id: str, metadata: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return readable data on a chunk, for people and programs that use the vector database directly."""
    return {
        **{name: document[name] for name in TOLD},
        **origin_of(document),
        "chunk_id": chunk_id,
        "metadata": metadata,
    }


def hidden(facets: Iterable[str]) -> tuple[str, ...]:
    """Hash facets for a vector database: it can filter by hashes, which are smaller and unreadable."""
    return tuple(blake2b(facet.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() for facet in facets)


def hidden_filter(allowed: Allowed | None) -> Allowed | None:
    """Hash the facets of a filter in the same way."""
    if allowed is None or not allowed.facets:
        return allowed
    return replace(allowed, facets=tuple(hidden(group) for group in allowed.facets))
