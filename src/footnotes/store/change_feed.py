"""What a store gives a vector database, and how it is said there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np

from footnotes.index import Allowed, Change, Keys
from footnotes.index.remote import Scope
from footnotes.store import lexemes
from footnotes.store.database import Database
from footnotes.store.records import Generation
from footnotes.store.retry import retrying
from footnotes.store.rows import origin_of


@dataclass(frozen=True, slots=True)
class Portion:
    """Some of what changed, and the change up to which that is all."""

    seq: int
    changes: Iterable[Change]


class ChangeFeed(Protocol):
    """What a store gives a vector database, and what it remembers of it."""

    words: str
    """By which version terms are made, where words are brought; an index filled by another one is filled again."""

    def held(self, generation: Generation) -> AbstractContextManager[None]:
        """One process at a time fills an index."""
        ...

    def last(self, generation: Generation) -> int:
        """The last change there is."""
        ...

    def portion(self, generation: Generation, after: int) -> AbstractContextManager[Portion | None]:
        """The next documents that changed after a change, each as it is now; None when there are none."""
        ...

    def behind(self, generation: Generation, seq: int) -> int:
        """How many documents changed after a change; of very many, ten thousand."""
        ...

    def known(self, generation: Generation) -> int:
        """The last change its index was known to have seen, by the process that filled it."""
        ...

    def again(self, generation: Generation, keys: Keys, seq: int) -> AbstractContextManager[Portion]:
        """The documents of some chunks once more."""
        ...

    def keys(self, generation: Generation) -> Keys:
        """The chunks an index has when it lacks nothing, sorted."""
        ...

    def note(self, generation: Generation) -> None:
        """An index is about to be filled: whatever happens to the generation, it is to be emptied some day."""
        ...

    def reached(self, generation: Generation, seq: int) -> None:
        """An index has seen all changes up to this one: documents that waited for it are ready."""
        ...

    def dropped(self, user_id: str) -> list[Scope]:
        """Shelves of a tenant's generations that are gone, and that nobody could empty yet."""
        ...

    def forget(self, scope: Scope) -> None:
        """Such an index is empty now."""
        ...


class BaseChangeFeed:
    """What stores know alike: which library and database are meant, and what is brought there.

    `tells` says whether names and metadata are.
    """

    def __init__(self, database: Database, library: str, address: str, legs: Iterable[str], *, tells: bool) -> None:
        self._database = database
        self._library = library
        self._address = address
        self._lexical = "lexical" in legs
        self._dense = "dense" in legs
        self._tells = tells
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

    def keys(self, generation: Generation) -> Keys:
        with self._database.read(generation.user_id) as cursor:
            rows = cursor.all("live_keys", generation=generation.pk)
        return np.array([row["key"] for row in rows if self._lexical or not row["waits"]], dtype=np.int64)

    @retrying
    def _put_shelf(self, generation: Generation) -> None:
        """Write down that there is an index, in place of any other."""
        made = {"fingerprint": generation.fingerprint, "dimensions": generation.dimensions, "words": self.words}
        with self._database.write(generation.user_id) as cursor:
            cursor.run("put_remote_index", address=self._address, generation=generation.pk, **made)
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


TOLD = ("document_id", "collection", "filename", "source", "title")


def described(document: Mapping[str, object], chunk_id: str, metadata: Mapping[str, object]) -> dict[str, Any]:
    """What a vector database is told of a chunk, for people and programs that look into it."""
    return {
        **{name: document[name] for name in TOLD},
        **origin_of(document),
        "chunk_id": chunk_id,
        "metadata": metadata,
    }


def hidden(facets: Iterable[str]) -> tuple[str, ...]:
    """Facets as a vector database has them: it can filter by them, and has less to keep; nobody can read them."""
    return tuple(blake2b(facet.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() for facet in facets)


def hidden_filter(allowed: Allowed | None) -> Allowed | None:
    """A filter in such facets."""
    if allowed is None or not allowed.facets:
        return allowed
    return replace(allowed, facets=tuple(hidden(group) for group in allowed.facets))
