"""Indexes: caches of the store, one per leg. Each follows the store's change log and is checked before use."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from footnotes.types import JsonValue

Keys: TypeAlias = NDArray[np.int64]
Vector: TypeAlias = NDArray[np.float32]

FIELD_WEIGHTS: Mapping[str, float] = {"body": 1.0, "title": 0.3, "section": 0.3, "symbols": 0.3}
"""The fields of the lexical leg and the weight of a match in each, in every store."""


class IndexDamaged(Exception):
    """The files on disk are damaged. Callers of this package never see it: they rebuild the index."""


class IndexUnreadable(OSError):
    """The system refused to open or read a file (no descriptors, no permission, no memory); the file may be intact."""


_DAMAGE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.EEXIST, errno.ESTALE, errno.ELOOP})
"""Error numbers for missing or wrong files. All others point to a problem of the system."""
_NATIVE_ERRNO = re.compile(r"(?:\bcode: |os error )(\d+)")


def errno_of(error: BaseException) -> int | None:
    """Return an error's number in the system; tantivy has it only in the message."""
    if isinstance(error, OSError):
        return error.errno
    found = _NATIVE_ERRNO.search(str(error))
    return int(found[1]) if found else None


@contextmanager
def damage_told_apart(what: str) -> Iterator[None]:
    """Translate errors of reading an index to `IndexDamaged` or, if the system is the cause, to `IndexUnreadable`.

    A panic in native code counts as damage: it met unexpected content.
    """
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, SystemError) as error:
        number = errno_of(error)
        if number is not None and number not in _DAMAGE:
            raise IndexUnreadable(number, f"{what}: {error}") from error
        raise IndexDamaged(f"{what}: {error}") from error
    except BaseException as error:
        if type(error).__module__ != "pyo3_runtime":
            raise
        raise IndexDamaged(f"{what}: {error}") from error


_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Entry(NamedTuple):
    """The data of one chunk for an index. Every chunk has one, and a dataclass takes ten times as long to create."""

    key: int
    document: int
    body: str = ""
    title: str = ""
    section: str = ""
    symbols: str = ""
    facets: tuple[str, ...] = ()
    vector: bytes = b""
    """A unit vector in float16, as the store holds it."""
    weights: Mapping[int, float] = _NOTHING
    """The weights of its terms by position; see `Weights`."""
    metadata: Mapping[str, JsonValue] = _NOTHING
    """Extra data for a vector database: the document's metadata, collection and ids."""


class Change(NamedTuple):
    """One step of the change log: a document's chunks were added (`entries`) or removed (`removed`)."""

    seq: int
    document: int
    entries: Iterable[Entry] = ()
    removed: Sequence[tuple[int, int]] = ()
    only_removed: bool = False
    """Nothing else changed: the index already has the document's other chunks."""


def keys_of(ranges: Iterable[tuple[int, int]]) -> Iterator[int]:
    """Yield the keys in ranges (first, count)."""
    for first, count in ranges:
        yield from range(first, first + count)


@dataclass(frozen=True, slots=True)
class Found:
    """Keys in order of their scores, best first."""

    keys: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The result of a filter: the exact keys, sorted, and equivalent facets if there are any."""

    keys: Keys
    facets: tuple[tuple[str, ...], ...] = ()
    """Conjunction of disjunctions of facet terms; empty if facets cannot express the filter."""
    listed: bool = True
    """Whether the keys are given. If not, there are facets, and the caller checks the results again."""

    @property
    def is_empty(self) -> bool:
        return self.listed and not len(self.keys)


@dataclass(frozen=True, slots=True)
class Facets:
    """A query for chunks that have any of some facets."""

    names: Sequence[str]


Terms: TypeAlias = Mapping[str, float]
"""Words of a question, and how often each occurs in it."""
Weights: TypeAlias = Mapping[int, float]
"""Weights of terms by position (0 to 2³² - 1). A chunk's score is the inner product of its weights and the query's."""
Query: TypeAlias = Terms | Weights | Facets | Vector
"""Queries of an index. Each leg supports some of them."""


class Index(Protocol):
    """A cache of the store: it applies the change log, and can be cleared and filled again at any time.

    Indexes in a folder (tantivy, usearch) and remote ones (Qdrant, Chroma) behave alike.
    """

    @property
    def position(self) -> int:
        """The last change it is known to have applied; 0 if it is empty or unknown."""
        ...

    def apply(self, changes: Iterable[Change], *, position: int) -> None:
        """Apply changes durably, and record the position. Applying a change twice is harmless."""
        ...

    def search(self, query: Any, limit: int, allowed: Allowed | None = None) -> Found:
        """Return the best chunks for a query, best first, and only those `allowed`."""
        ...

    def score(self, query: Any, keys: Sequence[int]) -> dict[int, float]:
        """Return the scores of given chunks; unknown ones may be missing."""
        ...

    def keys(self) -> Keys:
        """Return the keys of all chunks that can be found, sorted."""
        ...

    def clear(self) -> None:
        """Delete everything; the next changes rebuild it."""
        ...
