"""The common record: what every reader gives, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Found:
    """One record as its source has it. `text` where the source keeps texts apart from everything else."""

    id: str
    payload: Mapping[str, Any]
    text: str | None = None
    vector: Sequence[Any] | None = None


class Reader(Protocol):
    """Reads one collection, page after page. A context manager, so that connections end with the work."""

    origin: str
    """Where it is, as it may be shown to anybody."""
    notes: list[str]
    """What whoever asked should know of how it was read."""

    def __enter__(self) -> Reader: ...

    def __exit__(self, *_: object) -> None: ...

    def count(self) -> int:
        """How many records there are, 0 where that is not known beforehand."""
        ...

    def records(self) -> Iterator[Found]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """How a collection is to be understood; nothing means that each record says it for itself."""

    collection: str
    text_field: str = ""
    vector: str = ""
    group_by: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """What became of vectors. Each chunk is counted once; `reasons` say why given ones were made anew."""

    taken_over: int = 0
    embedded: int = 0
    known: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TakenOver:
    """What taking over a collection did. `left_out` are reasons and how many records they kept out."""

    source: str
    records: int
    added: int
    skipped: int
    chunks: int
    left_out: Mapping[str, int]
    vectors: VectorCounts
    notes: tuple[str, ...]
