"""The types of an import: record, reader, options and result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypedDict

from footnotes.ingest.work import OnProgress


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One record of a source. `text` is set if the source stores texts separately."""

    id: str
    payload: Mapping[str, object]
    text: str | None = None
    vector: Sequence[object] | None = None


class Reader(Protocol):
    """Reads one collection page by page. A context manager that closes its connections."""

    origin: str
    """Its address, without secrets."""
    notes: list[str]
    """Remarks for the caller on how it was read."""

    def __enter__(self) -> Reader: ...

    def __exit__(self, *_: object) -> None: ...

    def count(self) -> int:
        """Return the number of records; 0 if it is not known beforehand."""
        ...

    def records(self) -> Iterator[SourceRecord]: ...


class ImportChoices(TypedDict, total=False):
    """Options of an import, from the caller."""

    collection: str | None
    text_field: str
    """`text_field`, `vector` and `group_by` name fields that cannot be guessed."""
    vector: str
    group_by: str
    model: str
    """The model of its vectors, which is checked."""
    on_progress: OnProgress | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """Options of an import; empty fields are guessed from each record."""

    collection: str
    text_field: str = ""
    vector: str = ""
    group_by: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """Counts of vectors, each chunk once; `reasons` count why given vectors were rebuilt."""

    taken_over: int = 0
    embedded: int = 0
    known: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of an import. `left_out` counts the skipped records, by reason."""

    source: str
    records: int
    added: int
    skipped: int
    chunks: int
    left_out: Mapping[str, int]
    vectors: VectorCounts
    notes: tuple[str, ...]
