"""Sends files, archives of documents, pages and sitemaps through the pipeline, and stores their originals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path

from footnotes.ingest.archive import ArchiveLimits, batches, is_archive
from footnotes.ingest.derive import ChunkerOf
from footnotes.ingest.names import check_metadata
from footnotes.ingest.pipeline import Pipeline
from footnotes.ingest.work import NewSource
from footnotes.settings import Settings
from footnotes.store import Store
from footnotes.store.records import DocumentRow
from footnotes.types import TAKEN_IN, Added, Metadata

MetadataOf = Metadata | Callable[[Path], Metadata] | None


@dataclass(frozen=True, slots=True)
class IngestTarget:
    """The destination, metadata and options of documents."""

    collection: str
    metadata: MetadataOf
    chunker_of: ChunkerOf
    pipeline: Pipeline

    versions: dict[str, str] = field(default_factory=dict)

    def metadata_of(self, path: Path) -> Metadata:
        return check_metadata(self.metadata(path) if callable(self.metadata) else self.metadata or {})

    def is_current(self, mime: str, ingestion_version: str) -> bool:
        """Return whether a document of a type is current: made as it would be made now."""
        if mime not in self.versions:
            self.versions[mime] = self.pipeline.ingestion_version(mime, self.chunker_of(self.collection, mime))
        return self.versions[mime] == ingestion_version


class Ingestor:
    """Ingests sources for one tenant of a library."""

    def __init__(self, store: Store, user_id: str, settings: Settings) -> None:
        self.store = store
        self.user = user_id
        self.settings = settings

    def ingest(self, sources: Sequence[NewSource], target: IngestTarget) -> Iterator[Added]:
        """Send files through the pipeline, then archives, by member. The caller holds the library for writing."""
        plain: list[NewSource] = []
        archives: list[NewSource] = []
        for source in sources:
            (archives if is_archive(source.path, source.filename) else plain).append(source)
        yield from self.ingest_files(plain, target)
        for archive in archives:
            yield from self.unpacked(archive, target)

    def ingest_files(
        self, sources: Sequence[NewSource], target: IngestTarget, *, keep: bool | None = None
    ) -> Iterator[Added]:
        """Send files through the pipeline; an archive among them counts as an unreadable file.

        Documents that were deleted since the work began are not added again.
        """
        gone = [source for source in sources if source.is_deleted]
        yield from (Added(source.source, None, "skipped", 0, None, ("deleted in the meantime",)) for source in gone)
        sources = [source for source in sources if not source.is_deleted]
        if not (self.settings.keep_originals if keep is None else keep):
            yield from target.pipeline.add(sources, target.chunker_of)
            return
        paths = {source.source: source.path for source in sources}

        def keep_original(added: Added) -> None:
            if added.status in ("ready", "indexing", "replaced", "deduplicated") and added.path in paths:
                self._keep(str(added.document_id), paths[added.path])

        # As soon as a text can be cited, its original can be opened, even while its vectors are being made.
        for added in target.pipeline.add(sources, target.chunker_of, on_text=keep_original):
            keep_original(added)
            yield added

    def unpacked(self, archive: NewSource, target: IngestTarget) -> Iterator[Added]:
        """Ingest the members of an archive, each as a document."""
        for batch in batches(archive, self._archive_limits(), self.store.incoming(self.user)):
            yield from batch.results
            yield from self.ingest_files(batch.sources, target)

    def _keep(self, document_id: str, path: Path) -> None:
        row = self.store.documents.find(self.user, document_id)
        if not self.store.originals.has(self.user, document_id):
            self.store.originals.keep(self.user, row.pk, path, row.document.file_hash)

    # ── the web

    def pages(self, address: str, target: IngestTarget) -> Iterator[Added]:
        """Ingest the page at an address, or every page of a sitemap. An unchanged page is not fetched again."""
        from footnotes.ingest.web import Web

        metadata = target.metadata_of(Path(address))
        origins = self.store.sources(self.user, target.collection)

        def find_known(source: str) -> tuple[Added, str | None, str | None] | None:
            row = self.store.documents.find_by(self.user, target.collection, "source", [source]).get(source)
            if row is None or not self._is_as_wanted(row, metadata, target):
                return None
            result = Added(source, row.document.id, "deduplicated", row.document.chunks)
            return result, *origins.version(source)

        web = Web(self.settings, target.collection, metadata, find_known)
        for batch in web.batches(address):
            yield from batch.results
            if not batch.sources:
                continue
            done: list[Added] = []
            with self.store.writing(self.user, "adding pages"):
                for added in self.ingest(batch.sources, target):
                    done.append(added)
                    yield added
                fine = [added.path for added in done if added.status != "failed" and added.path in batch.origins]
                origins.note([batch.origins[source] for source in fine], program_version())

    @staticmethod
    def _is_as_wanted(row: DocumentRow, metadata: Mapping[str, object], target: IngestTarget) -> bool:
        """Return whether a document is complete, up to date, and has all its metadata."""
        document = row.document
        current = document.status in TAKEN_IN and target.is_current(document.mime, document.ingestion_version)
        return current and all(document.metadata.get(key) == value for key, value in metadata.items())

    def _archive_limits(self) -> ArchiveLimits:
        settings = self.settings
        return ArchiveLimits(settings.archive_max_members, settings.archive_max_bytes, settings.max_file_bytes)


@cache
def program_version() -> str:
    """Return the version of the program: a later one may be able to read failed files."""
    return version("footnotes")
