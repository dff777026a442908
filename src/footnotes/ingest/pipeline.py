"""Sends files through the stages: parse, chunk, store, index the words, embed, index the vectors.

First all texts: small documents are written together in one transaction, a large one piece by piece, and published in
one step at its end. From then on, searches find them by words. Then all vectors; an embedder that makes them faster
than texts are written makes those of many small documents beforehand. A document is reported after it is durable and
both indexes have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import replace

from footnotes.chunk import Chunker
from footnotes.embed.session import cores
from footnotes.errors import (
    DocumentError,
    FootnotesError,
    GenerationReplaced,
    MissingExtra,
    NotFound,
    StoreError,
)
from footnotes.ingest.derive import ChunkerOf
from footnotes.ingest.drafting import Drafting
from footnotes.ingest.embedding import Embedding
from footnotes.ingest.garbage import fewer_collections
from footnotes.ingest.pending import Work
from footnotes.ingest.prepare import TYPES, Instructions, Prepared, find_recipe, is_preparable
from footnotes.ingest.preparer import Preparer
from footnotes.ingest.reading import DocumentLookup, ReadFile, read_together
from footnotes.ingest.waiting import WaitingDocuments
from footnotes.ingest.work import NewSource, Progress
from footnotes.ingest.writing import QUICK_DOCUMENTS, DraftWriter
from footnotes.parse import Source
from footnotes.parse.open import Limits
from footnotes.parse.sniff import Sniffed, sniff
from footnotes.store.records import DocumentRow, Draft, Generation
from footnotes.types import TAKEN_IN, Added, AddStatus, Document, ErrorInfo

_ONE_FILE = (DocumentError, MissingExtra)
"""Errors of one file, which do not stop the others."""
WORTH_A_PREPARER = 2_000
"""With this many files, another process reads and cuts the next small ones in parallel; starting it takes time."""
_SERVED = ("ready", "indexing", "queued", "embedding")
"""Documents whose text is searchable; those that are not ready get their vectors before the work ends."""


class Pipeline:
    """Ingests files for one tenant. The caller holds the library for writing."""

    def __init__(self, embedding: Embedding, limits: Limits, max_file_bytes: int) -> None:
        self._embedding = embedding
        self._store, self._user_id, self._on_progress = embedding.store, embedding.user, embedding.on_progress
        self._limits = limits
        self._max_file_bytes = max_file_bytes
        self._known = DocumentLookup(self._store, self._user_id)
        self._drafting = Drafting(embedding.embedder, limits)
        self._writer = DraftWriter(embedding, self._known)
        self._waiting: list[tuple[int, Added]] = []
        self._behind: list[Added] = []
        self._claimed: list[tuple[NewSource, int | None]] = []
        self._claimed_sources: set[tuple[str, str]] = set()
        self._on_text: Callable[[Added], object] = lambda _: None

    def add(
        self,
        sources: Sequence[NewSource],
        chunker_of: ChunkerOf,
        *,
        on_text: Callable[[Added], object] = lambda _: None,
    ) -> Iterator[Added]:
        """Ingest files. Yields each result once it is final; a file that fails does not stop the rest.

        `on_text` is called for each file whose text is searchable and whose vectors are still missing.
        """
        self._on_text = on_text
        self._writer.open(len(sources))
        with fewer_collections() if len(sources) >= QUICK_DOCUMENTS else nullcontext():
            yield from self._add(sources, chunker_of)
        while self._claimed:
            # Another writer ingests the same bytes: when it is done, they are stored or still to be ingested.
            left, self._claimed = self._claimed, []
            for _, pk in left:
                if pk is not None:
                    self._store.documents.is_claimed_by_another(self._user_id, pk, wait=True)
            yield from self._add([origin for origin, _ in left], chunker_of)

    def _add(self, sources: Sequence[NewSource], chunker_of: ChunkerOf) -> Iterator[Added]:
        number = 0
        with self._preparing(sources, chunker_of) as prepared:
            for files in read_together(sources, self._max_file_bytes, prepared):
                self._known.look_for(files)
                for file in files:
                    self._on_progress(Progress("reading", number, len(sources), file.origin.source))
                    number += 1
                    self._writer.files_read, self._writer.files_left = number, len(sources) - number
                    try:
                        yield from self._take(file, chunker_of)
                    except _ONE_FILE as error:
                        yield Added(file.origin.source, None, "failed", 0, error.info())
        yield from self._finish()

    @contextmanager
    def _preparing(self, sources: Sequence[NewSource], chunker_of: ChunkerOf) -> Iterator[Iterator[Prepared | None]]:
        """Let another process prepare small new files, if there are many. Known ones may be unchanged: they need no
        parsing."""
        if len(sources) < WORTH_A_PREPARER or cores() < 2:
            yield iter(())
            return
        collections = dict.fromkeys(origin.collection for origin in sources)
        found = {(name, mime): find_recipe(chunker_of(name, mime), mime) for name in collections for mime in TYPES}
        recipes = {place: recipe for place, recipe in found.items() if recipe is not None}

        def select(group: Sequence[NewSource]) -> list[bool]:
            known = self._known.has_sources(group)
            return [not old and is_preparable(each, recipes) for old, each in zip(known, group, strict=True)]

        instructions = Instructions(recipes, self._limits, self._store.stores_terms)
        with closing(Preparer(instructions)) as preparer:
            yield preparer.prepare(sources, select)

    def recut(self, rows: Sequence[DocumentRow], chunker_of: ChunkerOf) -> Iterator[Added]:
        """Chunk documents again from their stored text, each into a new version of itself."""
        self._writer.open()
        for row in rows:
            parts = self._store.documents.parts(self._user_id, row.document.id)
            work = self._drafting.recut(row, parts, chunker_of(row.document.collection, row.document.mime))
            yield from self._keep(work)
        yield from self._finish()

    # ── one file

    def _take(self, file: ReadFile, chunker_of: ChunkerOf) -> Iterator[Added]:
        if file.error is not None:
            raise file.error
        origin = file.origin
        if self._writer.pending.has(origin, file.file_hash):
            yield from self._flush()
        kind = _detect_type(file)
        fixed = origin.chunker
        chunker_of = chunker_of if fixed is None else lambda *_: fixed
        chunker = chunker_of(origin.collection, kind.mime)
        same = self._known.by_hash(origin.collection, file.file_hash)
        if same is not None and same.pk in self._writer.pending.replaced:  # it has these bytes until that is written
            yield from self._flush()
            same = self._known.by_hash(origin.collection, file.file_hash)
        if same is not None and self._is_being_made(same):
            self._leave(origin, same.pk)
        elif same is not None and self._is_as_wanted(same, origin, chunker_of):
            yield from self._report_stored(origin, same)
        else:
            yield from self._ingest(file, kind, chunker, same)

    def _ingest(self, file: ReadFile, kind: Sniffed, chunker: Chunker, same: DocumentRow | None) -> Iterator[Added]:
        """Make a new document of a file, or the next version of one."""
        origin, version = file.origin, self._drafting.ingestion_version(kind.mime, chunker)
        before = self._known.by_source(origin.collection, origin.source)
        if self._shares_with_pending(before, origin):
            yield from self._flush()
            found = self._store.documents.find_by(self._user_id, origin.collection, "source", [origin.source])
            before = found.get(origin.source)
        replaces, status = self._place(origin, same, before)
        draft = Draft(
            collection=origin.collection,
            source=origin.source,
            filename=origin.filename,
            file_hash=file.file_hash,
            size=file.size,
            ingestion_version=version,
            metadata=origin.metadata,
            replaces=replaces,
        )
        renamed = same is not None and _is_renamed(origin, same.document)
        work = Work(origin, draft, "deduplicated" if renamed else status, list(kind.warnings))
        if file.prepared is not None and file.prepared.cut_by == self._drafting.chunker_fingerprint(kind.mime, chunker):
            work.adopt(file.prepared)
            yield from self._keep(work)
            return
        content = origin.content if file.content is None else file.content
        yield from self._read(work, Source(origin.path, origin.filename, kind.mime, content), chunker)

    def _read(self, work: Work, source: Source, chunker: Chunker) -> Iterator[Added]:
        """Read a file, and keep its draft until it is written with others; write early what does not fit in memory."""
        origin, draft = work.origin, work.draft
        try:
            for part in self._drafting.read(work, source, chunker):
                self._on_progress(Progress("parsing", part.end, 0, origin.source))
                if self._writer.is_large(draft):
                    yield from self._flush()
                    self._writer.write_ahead(draft)
                    if draft.is_claimed:
                        break
        except GenerationReplaced:
            self._begin_again([work])
        except _ONE_FILE as error:
            self._writer.discard(draft, error.info())
            yield Added(origin.source, draft.document_id or None, "failed", 0, error.info())
        else:
            yield from self._hand_over(work) if draft.is_claimed else self._keep(work)

    def _keep(self, work: Work) -> Iterator[Added]:
        self._writer.pending.add(work)
        if self._writer.is_full:
            yield from self._flush()

    def _hand_over(self, work: Work) -> Iterator[Added]:
        """Handle a draft that another writer holds: look up the same bytes again at the end; do not write others."""
        if work.draft.claimed_pk is not None:
            self._leave(work.origin, work.draft.claimed_pk)
        else:
            yield Added(work.origin.source, None, "failed", 0, work.draft.refused)

    def _leave(self, origin: NewSource, pk: int) -> None:
        self._claimed.append((origin, pk))
        self._claimed_sources.add((origin.collection, origin.source))

    def _place(
        self, origin: NewSource, same: DocumentRow | None, before: DocumentRow | None
    ) -> tuple[DocumentRow | None, AddStatus]:
        """Find the document to replace, if any: that of the same bytes, else the one of its source."""
        if same is not None:
            return same, "ready" if same.current is None else "replaced"
        if before is None:
            return None, "ready"
        if self._others(before, origin):
            return None, "replaced"
        return before, "ready" if before.current is None else "replaced"

    def _shares_with_pending(self, before: DocumentRow | None, origin: NewSource) -> bool:
        """Return whether another source of the same document has a new version under way: that one replaces it then."""
        if before is None or not self._writer.pending.works:
            return False
        return any((origin.collection, other) in self._writer.pending.sources for other in self._others(before, origin))

    def _others(self, row: DocumentRow, origin: NewSource) -> set[str]:
        """Return the other sources of a document; none if it has just been deleted."""
        with suppress(NotFound):
            return set(self._store.documents.sources(self._user_id, row.document.id)) - {origin.source}
        return set()

    def _report_stored(self, origin: NewSource, same: DocumentRow) -> Iterator[Added]:
        """Report bytes that are stored, and were made as they would be made now."""
        try:
            added = self._build_duplicate(origin, same)
        except NotFound:  # deleted this moment
            self._claimed.append((origin, None))
            return
        if same.document.status in TAKEN_IN:
            yield added
        else:
            # If earlier work left it unfinished, with a reason, it becomes ready now. If this work, or another live
            # process, added it, it is only a duplicate.
            here = any(pk == same.pk for pk, _ in self._waiting)
            is_left = (
                same.document.error is not None and (origin.collection, origin.source) not in self._claimed_sources
            )
            self._waiting.append((same.pk, replace(added, status="ready") if is_left and not here else added))

    def _build_duplicate(self, origin: NewSource, same: DocumentRow) -> Added:
        before = self._known.by_source(origin.collection, origin.source)
        self._known.forget()
        if before is not None and before.pk != same.pk:
            self._store.sources(self._user_id, origin.collection).forget([origin.source])
        self._store.documents.touch(self._user_id, same, source=origin.source, metadata=origin.metadata)
        return Added(origin.source, same.document.id, "deduplicated", same.document.chunks)

    def _is_being_made(self, row: DocumentRow) -> bool:
        """Return whether another writer holds a document."""
        if row.document.status in ("ready", "failed"):
            return False
        return self._store.documents.is_claimed_by_another(self._user_id, row.pk)

    def _is_as_wanted(self, row: DocumentRow, origin: NewSource, chunker_of: ChunkerOf) -> bool:
        """Return whether a document of the same bytes is what it would be if it were made now.

        It keeps its original type: the same bytes under another name are not parsed differently, and back again the
        next time.
        """
        document = row.document
        if origin.renew or _is_renamed(origin, document) or origin.mime not in ("", document.mime):
            return False
        if row.current is None or document.status not in _SERVED:
            return False
        chunker = chunker_of(document.collection, document.mime)
        return document.ingestion_version == self.ingestion_version(document.mime, chunker)

    def ingestion_version(self, mime: str, chunker: Chunker) -> str:
        """Return the fingerprints for a new document of a type."""
        return self._drafting.ingestion_version(mime, chunker)

    # ── many files

    def _flush(self) -> Iterator[Added]:
        """Write all pending documents. Report those that need no vectors; the rest waits."""
        if not (works := self._writer.take()):
            return
        try:
            behind = self._writer.write(works)
        except GenerationReplaced:
            self._begin_again(works)
            return
        for work in works:
            if work.draft.is_claimed:
                yield from self._hand_over(work)
            elif work.draft.waits:
                self._waiting.append((work.draft.handle.pk, work.added()))
                self._on_text(work.added())
            elif behind:
                self._behind.append(work.added())
            else:
                yield self._build_followed(work.added())

    def _finish(self) -> Iterator[Added]:
        """Write the rest, report what was published behind the reading, and complete what waits for vectors."""
        yield from self._flush()
        self._writer.finish()
        behind, self._behind = self._behind, []
        yield from map(self._build_followed, behind)
        yield from self._complete(self._writer.generation)

    def _begin_again(self, works: Sequence[Work]) -> None:
        """Ingest these again for the current generation: the library was reindexed while they were read."""
        self._writer.reopen()
        self._claimed.extend((work.origin, None) for work in works)

    # ── vectors

    def _complete(self, generation: Generation) -> Iterator[Added]:
        """Make all missing vectors, including those of earlier work."""
        waiting = WaitingDocuments(self._embedding, generation)
        try:
            for pks in waiting.embed():
                yield from self._ready(set(pks))
            if of_others := {pk for pk, _ in self._waiting}:
                for pk in of_others:
                    self._store.documents.is_claimed_by_another(self._user_id, pk, wait=True)
                for pks in waiting.embed():  # what another writer did not finish
                    yield from self._ready(set(pks))
        except (StoreError, DocumentError):
            raise
        except FootnotesError as error:
            yield from self._pause(error.info())
        yield from self._ready({pk for pk, _ in self._waiting})

    def _ready(self, pks: set[int]) -> Iterator[Added]:
        done = [added for pk, added in self._waiting if pk in pks]
        self._waiting = [(pk, added) for pk, added in self._waiting if pk not in pks]
        yield from map(self._build_followed, done)

    def _build_followed(self, added: Added) -> Added:
        """Report a document as ready, unless a remote index that must have it is unavailable."""
        failure = self._store.index_failure
        if failure is None or added.status not in ("ready", "replaced"):
            return added
        note = f"not in the vector database yet ({failure.code}: {failure.message}); it catches up by itself"
        return replace(added, status="indexing", warnings=(*added.warnings, note))

    def _pause(self, error: ErrorInfo) -> Iterator[Added]:
        """Handle an unavailable embedder. Nothing is lost: words find the texts, and their vectors wait."""
        later = replace(error, remedy=f"{error.remedy} Then run `footnotes resume`: until then words find it.")
        paused, self._waiting = self._waiting, []
        for _, added in paused:
            yield replace(added, status="failed", error=later)


def _detect_type(file: ReadFile) -> Sniffed:
    origin = file.origin
    if file.prepared is not None:
        return Sniffed(file.prepared.mime, file.prepared.warnings)
    return sniff(origin.path, origin.filename, file.content) if not origin.mime else Sniffed(origin.mime)


def _is_renamed(origin: NewSource, document: Document) -> bool:
    """Return whether the same bytes are given another name, or other metadata, than the stored document has."""
    metadata = {key: value for key, value in document.metadata.items() if key != "language"}
    return origin.rename and (document.filename != origin.filename or metadata != dict(origin.metadata))
