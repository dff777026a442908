"""Documents that are read and cut but not written yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from footnotes.ingest.prepare import Prepared
from footnotes.ingest.work import NewSource
from footnotes.store.records import Draft, Publication
from footnotes.text.sketch import Sketcher, sketch_together
from footnotes.types import Added, AddStatus, JsonValue, Report


@dataclass(slots=True)
class Work:
    """A draft with data that the store does not need."""

    origin: NewSource
    draft: Draft
    status: AddStatus
    warnings: list[str]
    sketcher: Sketcher | None = field(default_factory=Sketcher)
    """None if the draft has its sketch."""
    language: dict[str, JsonValue] = field(default_factory=dict)

    @property
    def publication(self) -> Publication:
        assert self.draft.publication is not None
        return self.draft.publication

    def adopt(self, prepared: Prepared) -> None:
        """Complete the draft with what another process has made of the file."""
        draft, report = self.draft, prepared.made_report()
        draft.parts, draft.chunks = prepared.made_parts(), prepared.made_chunks()
        draft.title, draft.sketch, self.sketcher = prepared.title, prepared.sketch, None
        self.language = dict(prepared.language)
        self.warnings.extend(report.warnings)
        self.complete(report, prepared.title, len(draft.chunks))

    def complete(self, report: Report, title: str, chunks: int) -> None:
        """Complete the draft: saving it publishes it."""
        self.draft.publication = Publication(
            mime=report.mime,
            title=title,
            characters=report.characters,
            pages=report.pages,
            chunks=chunks,
            metadata={**self.language, **report.metadata, **self.draft.metadata},
            warnings=tuple(self.warnings),
        )

    def added(self) -> Added:
        """Return the result of a written document."""
        chunks, near = self.publication.chunks, self.draft.near_duplicate_of
        return Added(self.origin.source, self.draft.document_id, self.status, chunks, None, tuple(self.warnings), near)


class Pending:
    """Drafts that are read but not written, with running totals."""

    def __init__(self) -> None:
        self.works: list[Work] = []
        self.chunks = self.characters = 0
        self.sources: set[tuple[str, str]] = set()
        self.replaced: set[int] = set()
        self._hashes: set[tuple[str, str]] = set()

    def add(self, work: Work) -> None:
        draft = work.draft
        self.works.append(work)
        self.chunks += len(draft.chunks)
        self.characters += draft.characters()
        self.sources.add((draft.collection, draft.source))
        self._hashes.add((draft.collection, draft.file_hash))
        if draft.replaces is not None:
            self.replaced.add(draft.replaces.pk)

    def has(self, origin: NewSource, file_hash: str) -> bool:
        """Return whether a draft has the same source or the same bytes."""
        return (origin.collection, file_hash) in self._hashes or (origin.collection, origin.source) in self.sources


def sketch_works(works: Sequence[Work]) -> None:
    """Give every draft its sketch."""
    sketched = [(work.draft, work.sketcher) for work in works if work.sketcher is not None]
    sketches = sketch_together([sketcher for _, sketcher in sketched])
    for (draft, _), sketch in zip(sketched, sketches, strict=True):
        draft.sketch = sketch
