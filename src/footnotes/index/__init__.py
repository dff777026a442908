"""Caches of the truth, one per leg. Each catches up from the store's change log and is never loaded unchecked."""

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
"""The fields of the lexical leg and what a match in each weighs, in every store."""


class IndexDamaged(Exception):
    """The files on disk cannot be trusted. Never leaves this package's callers: the answer is a rebuild."""


class IndexUnreadable(OSError):
    """The system refused to open or read a file (no descriptors, no right, no memory): it may be whole all the same."""


_DAMAGE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.EEXIST, errno.ESTALE, errno.ELOOP})
"""What the system says of files that are not there, or are none. All else says something of the system."""
_NATIVE_ERRNO = re.compile(r"(?:\bcode: |os error )(\d+)")


def errno_of(error: BaseException) -> int | None:
    """The system's number of an error; tantivy gives it in its message alone."""
    if isinstance(error, OSError):
        return error.errno
    found = _NATIVE_ERRNO.search(str(error))
    return int(found[1]) if found else None


@contextmanager
def damage_told_apart(what: str) -> Iterator[None]:
    """Errors of reading an index leave as `IndexDamaged` or, where the system is to blame, as `IndexUnreadable`.

    A panic of native code counts as damage: it met what it does not expect.
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
    """What an index needs of one chunk. There is one for each, and a dataclass takes ten times as long to make."""

    key: int
    document: int
    body: str = ""
    title: str = ""
    section: str = ""
    symbols: str = ""
    facets: tuple[str, ...] = ()
    vector: bytes = b""
    """float16, of length 1, as the store keeps it."""
    weights: Mapping[int, float] = _NOTHING
    """What its terms weigh, by place; see `Weights`."""
    metadata: Mapping[str, JsonValue] = _NOTHING
    """What a vector database is told of the chunk beside: its document's metadata, collection and ids."""


class Change(NamedTuple):
    """One step of the change log: a document's chunks came (`entries` has them) or went (`removed` names them)."""

    seq: int
    document: int
    entries: Iterable[Entry] = ()
    removed: Sequence[tuple[int, int]] = ()
    only_removed: bool = False
    """Nothing else changed: what the document has beside `removed` is in the index already."""


def keys_of(ranges: Iterable[tuple[int, int]]) -> Iterator[int]:
    """The keys of ranges (first, count)."""
    for first, count in ranges:
        yield from range(first, first + count)


@dataclass(frozen=True, slots=True)
class Found:
    """Keys in the order of their scores, best first."""

    keys: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a filter lets through: the exact keys, sorted, and facets that mean the same where there are any."""

    keys: Keys
    facets: tuple[tuple[str, ...], ...] = ()
    """Conjunction of disjunctions of facet terms; empty when the filter cannot be said in facets."""
    listed: bool = True
    """Whether the keys are given. Where not, there are facets, and the caller looks at what was found once more."""


@dataclass(frozen=True, slots=True)
class Facets:
    """Asks for chunks that have any of some facets."""

    names: Sequence[str]


Terms: TypeAlias = Mapping[str, float]
"""Words of a question, and how often it says each."""
Weights: TypeAlias = Mapping[int, float]
"""Terms as places (0 to 2³² - 1) and what each weighs. The score of a chunk is the inner product of two of them."""
Query: TypeAlias = Terms | Weights | Facets | Vector
"""What an index is asked. Which kinds it knows depends on the leg it serves."""


class Index(Protocol):
    """A cache of the truth: it is fed from the change log, and can be emptied and filled again at any time.

    Those in a folder (tantivy, usearch) and remote ones (Qdrant, Chroma) do the same.
    """

    @property
    def position(self) -> int:
        """The last change it is known to have seen; 0 when it is empty or nothing is known."""
        ...

    def apply(self, changes: Iterable[Change], *, position: int) -> None:
        """Take changes in, durably, and remember the position. Applying a change twice is harmless."""
        ...

    def search(self, query: Any, limit: int, allowed: Allowed | None = None) -> Found:
        """The best chunks for a query, best first, and only those `allowed`."""
        ...

    def score(self, query: Any, keys: Sequence[int]) -> dict[int, float]:
        """The score of given chunks; those it knows nothing of may be left out."""
        ...

    def keys(self) -> Keys:
        """Every key that can be found, sorted."""
        ...

    def clear(self) -> None:
        """Forget everything; the next changes rebuild it."""
        ...
