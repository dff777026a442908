"""Makes drafts: parses a file or takes a stored text, and cuts it into chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from footnotes import tracing
from footnotes.chunk import Chunker
from footnotes.chunk.rules import RulesChunker
from footnotes.embed import Embedder
from footnotes.errors import EmptyDocument, FootnotesError
from footnotes.ingest.derive import (
    Deriver,
    chunker_fingerprint,
    derive_again,
    name_for_prefix,
    notes_of,
    recut_version,
)
from footnotes.ingest.pending import Work
from footnotes.ingest.wiki.chunks import build_describer
from footnotes.ingest.work import NewSource
from footnotes.parse import Source
from footnotes.parse.open import Limits, parse_document, parser_fingerprint
from footnotes.parse.outline import document_title
from footnotes.store.records import DocumentRow, Draft
from footnotes.text.script import stated_language
from footnotes.types import Part, Report

PIPELINE_VERSION = 1
CUT_BY_RULES = "cut by rules, for the embedder was away"
"""The beginning of the warning for a document whose own chunker was unavailable."""


class Drafting:
    """Makes the drafts of documents whose vectors are of one model."""

    def __init__(self, embedder: Embedder, limits: Limits) -> None:
        """The fingerprint of the embedder is asked for with the first draft: that may load a model or ask a server."""
        self._embedder = embedder
        self._limits = limits
        self._versions: dict[tuple[str, int], tuple[Chunker, str, str]] = {}

    def read(self, work: Work, source: Source, chunker: Chunker) -> Iterator[Part]:
        """Parse and cut a file; yield each part when its chunks are in the draft, and complete the draft at the end."""
        derive: Deriver | None = None
        report: Report | None = None
        for item in tracing.stream("parse", parse_document(source, limits=self._limits), mime=source.mime):
            if isinstance(item, Report):
                report = item
                break
            if derive is None:
                chunker = self._able_chunker(work, chunker, item, source.mime)
                derive = self._derive_first(work, source, chunker, item)
            _derive(work, derive, item)
            yield item
        if report is None or derive is None or derive.count == 0:
            raise EmptyDocument(f"{source.filename} has no text")
        work.warnings.extend([*report.warnings, *notes_of(chunker)])
        work.complete(report, derive.title, derive.count)

    def _derive_first(self, work: Work, source: Source, chunker: Chunker, first: Part) -> Deriver:
        """Name a document by its first part, and return what cuts its parts."""
        draft = work.draft
        draft.title = document_title(source.filename, first)
        work.language = stated_language(first.text)
        described = build_describer(source.mime, draft.metadata, draft.title)
        name = name_for_prefix(draft.title, source.mime, draft.metadata)
        cut_by = self.chunker_fingerprint(source.mime, chunker)
        return Deriver(chunker, draft.file_hash, name, described, fingerprint=cut_by)

    def recut(self, row: DocumentRow, parts: Iterable[Part], chunker: Chunker) -> Work:
        """Cut a stored text again, into a new version of its document."""
        document = row.document
        draft = Draft(
            collection=document.collection,
            source=document.source,
            filename=document.filename,
            file_hash=document.file_hash,
            size=document.bytes,
            ingestion_version=recut_version(document.ingestion_version, chunker, self._embedder.fingerprint),
            metadata=document.metadata,
            title=document.title,
            replaces=row,
        )
        origin = NewSource(Path(document.filename), document.source, document.filename, document.collection)
        work = Work(origin, draft, "replaced", list(document.warnings))
        derive = derive_again(document, chunker)
        for part in parts:
            _derive(work, derive, part)
        work.complete(Report("", document.mime, document.characters, document.pages), document.title, derive.count)
        return work

    def _able_chunker(self, work: Work, chunker: Chunker, part: Part, mime: str) -> Chunker:
        """Return the chunker, or rules if its embedder is unavailable.

        The version of the document records that: it is outdated, and `resume` chunks it again with the embedder.
        """
        if not getattr(chunker, "asks_embedder", False):
            return chunker
        try:
            chunker.split(part)
        except FootnotesError as error:
            if not error.retryable:
                raise
            stand_in = RulesChunker()
            work.draft.ingestion_version = self.ingestion_version(mime, stand_in)
            work.warnings.append(f"{CUT_BY_RULES} ({error.message}); `footnotes resume` cuts it again")
            return stand_in
        return chunker

    def ingestion_version(self, mime: str, chunker: Chunker) -> str:
        """Return the fingerprints for a new document of a type."""
        return self._choose_version(mime, chunker)[1]

    def chunker_fingerprint(self, mime: str, chunker: Chunker) -> str:
        return self._choose_version(mime, chunker)[2]

    def _choose_version(self, mime: str, chunker: Chunker) -> tuple[Chunker, str, str]:
        """Return the chunker, the version of a document that it cuts, and its fingerprint."""
        cached = self._versions.get((mime, id(chunker)))  # keep the chunker, so no other gets its number
        if cached is None:
            cut_by = chunker_fingerprint(chunker)
            made_with = (str(PIPELINE_VERSION), parser_fingerprint(mime), cut_by, self._embedder.fingerprint)
            cached = self._versions[mime, id(chunker)] = (chunker, "/".join(made_with), cut_by)
        return cached


def _derive(work: Work, derive: Deriver, part: Part) -> None:
    """Add a part and its chunks to a draft."""
    work.draft.parts.append(part)
    assert work.sketcher is not None
    work.sketcher.add(part.text)
    with tracing.span("chunk", characters=len(part.text)):
        work.draft.chunks.extend(chunk for chunk, _ in derive.chunks(part))
