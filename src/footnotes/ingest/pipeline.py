"""Sends files through the stages: parse, chunk, store, index the words, embed, index the vectors.

First all texts: small documents are written together in one transaction, a large one piece by piece, and published in
one step at its end. From then on, searches find them by words. Then all vectors; an embedder that makes them faster
than texts are written makes those of many small documents beforehand. A document is reported after it is durable and
both indexes have it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path

from footnotes import tracing
from footnotes.chunk import Chunker
from footnotes.chunk.rules import RulesChunker
from footnotes.embed import Embedder
from footnotes.embed.session import cores
from footnotes.errors import (
    DocumentError,
    EmptyDocument,
    FootnotesError,
    GenerationReplaced,
    Interrupted,
    MissingExtra,
    NotFound,
    StoreError,
)
from footnotes.ingest.derive import ChunkerOf, Deriver, chunker_fingerprint, name_for_prefix, notes_of
from footnotes.ingest.embedding import embed_missing, open_generation
from footnotes.ingest.garbage import fewer_collections
from footnotes.ingest.pending import Pending, Work, sketch_works
from footnotes.ingest.pieces import pieces_to_embed
from footnotes.ingest.prepare import TYPES, Instructions, Prepared, find_recipe, is_preparable
from footnotes.ingest.preparer import Preparer
from footnotes.ingest.reading import DocumentLookup, ReadFile, read_together
from footnotes.ingest.waiting import WaitingDocuments
from footnotes.ingest.wiki.chunks import build_describer
from footnotes.ingest.work import NewSource, OnProgress, Progress
from footnotes.parse import Source
from footnotes.parse.open import Limits, parse_document, parser_fingerprint
from footnotes.parse.outline import document_title
from footnotes.parse.sniff import Sniffed, sniff
from footnotes.store import Store
from footnotes.store.records import DocumentRow, Draft, Generation, Publication
from footnotes.text.script import stated_language
from footnotes.types import TAKEN_IN, Added, AddStatus, Document, ErrorInfo, Part, Report

PIPELINE_VERSION = 1
_STOPPED = Interrupted(
    "the work was stopped before its vectors were made", remedy="Run `footnotes resume` to continue."
)
SMALLEST_BATCH, FIRST_BATCH, LARGEST_BATCH = 32, 64, 4_096
BATCH_SECONDS = 4.0
"""A batch is sized to take about this time: visible soon, yet few commits."""
_ONE_FILE = (DocumentError, MissingExtra)
"""Errors of one file, which do not stop the others."""
WORTH_A_PREPARER = 2_000
"""With this many files, another process reads and cuts the next small ones in parallel; starting it takes time."""
WORTH_A_PROCESS = 5_000
"""With about this many chunks, another process indexes words in parallel; starting it takes time."""
CUT_BY_RULES = "cut by rules, for the embedder was away"
"""The beginning of the warning for a document whose own chunker was unavailable."""
_HICCUP_SECONDS = 0.05
QUICK_DOCUMENTS, QUICK_INPUTS, QUICK_RATE, QUICK_TRIES = 256, 16, 500.0, 3
"""With this many documents, this many inputs are tried: an embedder that makes this many per second is fast. A busy
machine may make it look slow once or twice."""
_SERVED = ("ready", "indexing", "queued", "embedding")
"""Documents whose text is searchable; those that are not ready get their vectors before the work ends."""
BATCH_CHARACTERS = 3_000_000


class Pipeline:
    """Ingests files for one tenant. The caller holds the library for writing."""

    def __init__(
        self,
        store: Store,
        user_id: str,
        *,
        embedder: Embedder,
        limits: Limits,
        max_file_bytes: int,
        embed_batch: int,
        on_progress: OnProgress,
    ) -> None:
        self._store = store
        self._user_id = user_id
        self._embedder = embedder
        self._limits = limits
        self._max_file_bytes = max_file_bytes
        self._embed_batch = embed_batch
        self._on_progress = on_progress
        self._pending = Pending()
        self._known = DocumentLookup(store, user_id)
        self._versions: dict[tuple[str, int], tuple[Chunker, str, str]] = {}
        self._waiting: list[tuple[int, Added]] = []
        self._behind: list[Added] = []
        self._claimed: list[tuple[NewSource, int | None]] = []
        self._claimed_sources: set[tuple[str, str]] = set()
        self._serving: Generation | None = None
        self._published = False
        self._publishes_behind = False
        self._is_embedder_away = False
        self._tries = 0
        """How often the embedder may be slow before it is no longer tried beforehand."""
        self._is_quick = False
        self._flushed = time.monotonic()
        self._indexed = 0
        self._progress = (0, 0)
        """Files that were read, and those that remain."""
        self._on_text: Callable[[Added], object] = lambda _: None
        self._batch_chunks = FIRST_BATCH

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
        self._serving = self._generation()
        many, is_remote = len(sources) >= QUICK_DOCUMENTS, getattr(self._embedder, "is_remote", False)
        self._tries = QUICK_TRIES if many and not is_remote else 0
        with fewer_collections() if many else nullcontext():
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
                    self._progress = (number, len(sources) - number)
                    try:
                        yield from self._take(file, chunker_of)
                    except _ONE_FILE as error:
                        yield Added(file.origin.source, None, "failed", 0, error.info())
        yield from self._flush()
        if self._publishes_behind:
            self._publishes_behind = False
            self._store.publish(self._user_id, self._now())
        behind, self._behind = self._behind, []
        yield from behind
        yield from self._complete(self._now())

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

    def _now(self) -> Generation:
        """Return the current generation, as far as known."""
        assert self._serving is not None
        return self._serving

    def _generation(self) -> Generation:
        return open_generation(self._store, self._user_id, self._embedder)

    def recut(self, rows: Sequence[DocumentRow], chunker_of: ChunkerOf) -> Iterator[Added]:
        """Chunk documents again from their stored text, each into a new version of itself."""
        self._serving = self._generation()
        for row in rows:
            self._pending.add(self._recut(row, chunker_of(row.document.collection, row.document.mime)))
            if self._is_full():
                yield from self._flush()
        yield from self._flush()
        yield from self._complete(self._now())

    def _recut(self, row: DocumentRow, chunker: Chunker) -> Work:
        document = row.document
        # The version keeps its parser part: that parser made the text.
        pipeline, parser, parser_version, *_ = document.ingestion_version.split("/")
        made_by = (pipeline, parser, parser_version, chunker_fingerprint(chunker), self._embedder.fingerprint)
        draft = Draft(
            collection=document.collection,
            source=document.source,
            filename=document.filename,
            file_hash=document.file_hash,
            size=document.bytes,
            ingestion_version="/".join(made_by),
            metadata=document.metadata,
            replaces=row,
        )
        draft.title = document.title
        origin = NewSource(Path(document.filename), document.source, document.filename, document.collection)
        work = Work(origin, draft, "replaced", list(document.warnings))
        described = build_describer(document.mime, document.metadata, document.title)
        derive = Deriver(chunker, document.file_hash, document.title, described)
        for part in self._store.documents.parts(self._user_id, document.id):
            self._derive(work, derive, part)
        draft.publication = Publication(
            mime=document.mime,
            title=document.title,
            characters=document.characters,
            pages=document.pages,
            chunks=derive.count,
            metadata=document.metadata,
            warnings=document.warnings,
        )
        return work

    # ── one file

    def _take(self, file: ReadFile, chunker_of: ChunkerOf) -> Iterator[Added]:
        if file.error is not None:
            raise file.error
        origin, file_hash, size = file.origin, file.file_hash, file.size
        if self._pending.has(origin, file_hash):
            yield from self._flush()
        kind = _detect_type(file)
        fixed = origin.chunker
        chunker_of = chunker_of if fixed is None else lambda *_: fixed
        chunker = chunker_of(origin.collection, kind.mime)
        version = self.ingestion_version(kind.mime, chunker)
        same = self._known.by_hash(origin.collection, file_hash)
        if same is not None and same.pk in self._pending.replaced:  # it has these bytes only until that is written
            yield from self._flush()
            same = self._known.by_hash(origin.collection, file_hash)
        if self._is_being_made(same):
            assert same is not None
            self._leave(origin, same.pk)
            return
        renamed = same is not None and origin.rename and _is_renamed(origin, same.document)
        is_reusable = same is not None and origin.mime in ("", same.document.mime) and not (origin.renew or renamed)
        if (
            same is not None
            and is_reusable
            and same.document.status in _SERVED
            and self._is_up_to_date(same, chunker_of)
        ):
            try:
                yield from self._report_stored(origin, same)
            except NotFound:  # deleted this moment
                self._claimed.append((origin, None))
            return
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
            file_hash=file_hash,
            size=size,
            ingestion_version=version,
            metadata=origin.metadata,
            replaces=replaces,
        )
        work = Work(origin, draft, "deduplicated" if renamed else status, list(kind.warnings))
        if file.prepared is not None and file.prepared.cut_by == self._choose_version(kind.mime, chunker)[2]:
            work.adopt(file.prepared)
            yield from self._keep(work)
            return
        content = origin.content if file.content is None else file.content
        yield from self._read_and_keep(work, Source(origin.path, origin.filename, kind.mime, content), chunker)

    def _read_and_keep(self, work: Work, source: Source, chunker: Chunker) -> Iterator[Added]:
        """Read a file, and keep its draft until it is written with others."""
        origin, draft = work.origin, work.draft
        try:
            yield from self._read(work, source, chunker)
        except GenerationReplaced:
            self._begin_again([work])
            return
        except _ONE_FILE as error:
            self._store.documents.discard(self._user_id, draft, error.info())
            self._known.forget_written([draft])
            yield Added(origin.source, draft.document_id or None, "failed", 0, error.info())
            return
        if self._is_claimed(draft):
            yield from self._hand_over(work)
            return
        yield from self._keep(work)

    def _keep(self, work: Work) -> Iterator[Added]:
        self._pending.add(work)
        if self._is_full():
            yield from self._flush()

    def _read(self, work: Work, source: Source, chunker: Chunker) -> Iterator[Added]:
        """Parse and chunk; write what does not fit in memory as it comes."""
        draft = work.draft
        derive: Deriver | None = None
        report: Report | None = None
        for item in tracing.stream("parse", parse_document(source, limits=self._limits), mime=source.mime):
            if isinstance(item, Report):
                report = item
                break
            if derive is None:
                draft.title = document_title(source.filename, item)
                described = build_describer(source.mime, draft.metadata, draft.title)
                name = name_for_prefix(draft.title, source.mime, draft.metadata)
                chunker = self._able_chunker(work, chunker, item, source.mime)
                cut_by = self._choose_version(source.mime, chunker)[2]
                derive = Deriver(chunker, draft.file_hash, name, described, fingerprint=cut_by)
                work.language = stated_language(item.text)
            self._derive(work, derive, item)
            self._on_progress(Progress("parsing", item.end, 0, work.origin.source))
            if len(draft.chunks) >= self._batch_chunks or draft.characters() >= BATCH_CHARACTERS:
                yield from self._flush()
                start, count = time.monotonic(), len(draft.chunks)
                self._write_ahead([draft])
                self._adapt(count, time.monotonic() - start)
                if self._is_claimed(draft):
                    return
        if report is None or derive is None or derive.count == 0:
            raise EmptyDocument(f"{source.filename} has no text")
        work.warnings.extend([*report.warnings, *notes_of(chunker)])
        draft.publication = Publication(
            mime=report.mime,
            title=derive.title,
            characters=report.characters,
            pages=report.pages,
            chunks=derive.count,
            metadata={**work.language, **report.metadata, **draft.metadata},
            warnings=tuple(work.warnings),
        )

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

    @staticmethod
    def _is_claimed(draft: Draft) -> bool:
        return draft.claimed_pk is not None or draft.refused is not None

    def _hand_over(self, work: Work) -> Iterator[Added]:
        """Handle a draft that another writer holds: look up the same bytes again at the end; do not write others."""
        if work.draft.claimed_pk is not None:
            self._leave(work.origin, work.draft.claimed_pk)
        else:
            yield Added(work.origin.source, None, "failed", 0, work.draft.refused)

    def _leave(self, origin: NewSource, pk: int) -> None:
        self._claimed.append((origin, pk))
        self._claimed_sources.add((origin.collection, origin.source))

    @staticmethod
    def _derive(work: Work, derive: Deriver, part: Part) -> None:
        work.draft.parts.append(part)
        assert work.sketcher is not None
        work.sketcher.add(part.text)
        with tracing.span("chunk", characters=len(part.text)):
            work.draft.chunks.extend(chunk for chunk, _ in derive.chunks(part))

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
        if before is None or not self._pending.works:
            return False
        return any((origin.collection, other) in self._pending.sources for other in self._others(before, origin))

    def _others(self, row: DocumentRow, origin: NewSource) -> set[str]:
        """Return the other sources of a document; none if it has just been deleted."""
        with suppress(NotFound):
            return set(self._store.documents.sources(self._user_id, row.document.id)) - {origin.source}
        return set()

    def _report_stored(self, origin: NewSource, same: DocumentRow) -> Iterator[Added]:
        """Report bytes that are stored, and were made as they would be made now."""
        added = self._build_duplicate(origin, same)
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

    def _is_being_made(self, row: DocumentRow | None) -> bool:
        """Return whether another writer holds a document."""
        if row is None or row.document.status in ("ready", "failed"):
            return False
        return self._store.documents.is_claimed_by_another(self._user_id, row.pk)

    def _is_up_to_date(self, row: DocumentRow, chunker_of: ChunkerOf) -> bool:
        """Return whether a document is up to date. It keeps its original type: the same bytes under another name are
        not parsed differently, and back again the next time."""
        if row.current is None:
            return False
        chunker = chunker_of(row.document.collection, row.document.mime)
        return row.document.ingestion_version == self.ingestion_version(row.document.mime, chunker)

    def ingestion_version(self, mime: str, chunker: Chunker) -> str:
        """Return the fingerprints for a new document of a type."""
        return self._choose_version(mime, chunker)[1]

    def _choose_version(self, mime: str, chunker: Chunker) -> tuple[Chunker, str, str]:
        """Return the chunker, the version of a document that it cuts, and its fingerprint."""
        cached = self._versions.get((mime, id(chunker)))  # keep the chunker, so no other gets its number
        if cached is None:
            cut_by = chunker_fingerprint(chunker)
            made_with = (str(PIPELINE_VERSION), parser_fingerprint(mime), cut_by, self._embedder.fingerprint)
            cached = self._versions[mime, id(chunker)] = (chunker, "/".join(made_with), cut_by)
        return cached

    # ── many files

    def _is_full(self) -> bool:
        return self._pending.chunks >= self._batch_chunks or self._pending.characters >= BATCH_CHARACTERS

    def _flush(self) -> Iterator[Added]:
        """Write all pending documents and index their words. Report those that need no vectors; the rest waits."""
        works, self._pending = self._pending.works, Pending()
        if not works:
            return
        start, count = time.monotonic(), sum(len(work.draft.chunks) for work in works)
        try:
            self._write_replacements_ahead([work.draft for work in works])
            self._embed_quickly([work.draft for work in works])
            sketch_works(works)
            with tracing.span("store", documents=len(works), chunks=count):
                self._store.documents.save(self._user_id, self._now(), [work.draft for work in works])
                self._known.forget_written(work.draft for work in works)
        except GenerationReplaced:
            self._begin_again(works)
            return
        self._on_progress(Progress("indexing", 0, len(works)))
        behind = self._is_worth_a_process(works)
        with tracing.span("index", documents=len(works), chunks=count):
            self._store.publish(self._user_id, self._now(), behind=behind)
        self._adapt(count, time.monotonic() - start)
        self._flushed = time.monotonic()
        for work in works:
            if self._is_claimed(work.draft):
                yield from self._hand_over(work)
            elif work.draft.waits:
                self._waiting.append((work.draft.handle.pk, _build_added(work)))
                self._on_text(_build_added(work))
            elif behind:
                self._behind.append(_build_added(work))
            else:
                yield self._build_followed(_build_added(work))
        self._published = True

    def _is_worth_a_process(self, works: Sequence[Work]) -> bool:
        """Return whether another process indexes words: from when the files have many chunks on.

        The first documents are visible soonest if this process does it, unless there are many.
        """
        count = sum(work.publication.chunks for work in works)
        self._indexed += count
        seen, left = self._progress
        to_come = left * self._indexed / max(seen, 1) if self._published else 0
        self._publishes_behind = self._publishes_behind or count + to_come >= WORTH_A_PROCESS
        return self._publishes_behind

    def _write_replacements_ahead(self, drafts: Sequence[Draft]) -> None:
        """Write next versions of served documents without publishing them, so they have their vectors when they are
        published: every search finds either the old version or the new one."""
        next_versions = [draft for draft in drafts if _is_replacement(draft)]
        if not next_versions or self._is_embedder_away:
            return
        publications = [draft.publication for draft in next_versions]
        for draft in next_versions:
            draft.publication = None
        try:
            self._write_ahead(next_versions)
        finally:
            for draft, publication in zip(next_versions, publications, strict=True):
                draft.publication = publication

    def _write_ahead(self, drafts: Sequence[Draft]) -> None:
        """Write what drafts have buffered; next versions of documents that are served get their vectors at once."""
        inputs = [(draft, _inputs(draft, self._embedder)) for draft in drafts if _is_replacement(draft)]
        self._store.documents.save(self._user_id, self._now(), drafts)
        self._known.forget_written(drafts)
        wanted = {key: pieces for draft, found in inputs if not self._is_claimed(draft) for key, pieces in found}
        if wanted and not self._is_embedder_away:
            self._embed(wanted)

    def _embed_quickly(self, drafts: Sequence[Draft]) -> None:
        """Make vectors before their texts are written, if the embedder is fast: the texts are then ready at once."""
        if not self._tries or self._is_embedder_away:
            return
        inputs = [each for draft in drafts for each in _inputs(draft, self._embedder)]
        if not inputs:
            return
        # Where reading is slow too, the machine is: an embedder that keeps up with it is fast enough.
        allowed = max(1 / QUICK_RATE, (time.monotonic() - self._flushed) / len(inputs))
        for some in (inputs,) if self._is_quick else (inputs[:QUICK_INPUTS], inputs[QUICK_INPUTS:]):
            seconds = self._embed(dict(some)) if some else 0.0
            self._is_quick = not self._is_embedder_away and seconds <= len(some) * allowed + _HICCUP_SECONDS
            if not self._is_quick:
                self._tries -= 1
                return

    def _embed(self, inputs: Mapping[bytes, Sequence[str]]) -> float:
        """Embed inputs whose texts are not published yet, and return the embedder's time. If it fails, words find these
        texts, and vectors follow."""
        try:
            return embed_missing(
                self._store,
                self._now(),
                inputs,
                embedder=self._embedder,
                batch=self._embed_batch,
                on_progress=self._on_progress,
            ).seconds
        except (StoreError, DocumentError):
            raise
        except FootnotesError:
            self._is_embedder_away = True
            return 0.0

    def _begin_again(self, works: Sequence[Work]) -> None:
        """Ingest these again for the current generation: the library was reindexed while they were read."""
        self._known.forget()
        self._serving = self._generation()
        self._claimed.extend((work.origin, None) for work in works)

    def _adapt(self, count: int, seconds: float) -> None:
        """Size the next batch by the time of this one. A much smaller batch only shows that the next may be larger:
        most of its time was overhead."""
        fitting = min(max(int(count * BATCH_SECONDS / max(seconds, 0.001)), SMALLEST_BATCH), LARGEST_BATCH)
        full = 2 * count >= self._batch_chunks
        self._batch_chunks = fitting if full else max(fitting, self._batch_chunks)

    # ── vectors

    def _complete(self, generation: Generation) -> Iterator[Added]:
        """Make all missing vectors, including those of earlier work."""
        waiting = WaitingDocuments(
            self._store,
            generation,
            embedder=self._embedder,
            batch=self._embed_batch,
            on_progress=self._on_progress,
        )
        try:
            for pks in waiting.embed():
                yield from self._ready(set(pks))
            for pk in {pk for pk, _ in self._waiting}:
                self._store.documents.is_claimed_by_another(self._user_id, pk, wait=True)
            for pks in waiting.embed():  # what another writer did not finish
                yield from self._ready(set(pks))
        except (StoreError, DocumentError):
            raise
        except FootnotesError as error:
            yield from self._pause(error.info())
        except BaseException:
            with suppress(StoreError):
                self._store.vectors.pause(self._user_id, _STOPPED.info())
            raise
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
        self._store.vectors.pause(self._user_id, error)
        later = replace(error, remedy=f"{error.remedy} Then run `footnotes resume`: until then words find it.")
        paused, self._waiting = self._waiting, []
        for _, added in paused:
            yield replace(added, status="failed", error=later)


def _detect_type(file: ReadFile) -> Sniffed:
    origin = file.origin
    if file.prepared is not None:
        return Sniffed(file.prepared.mime, file.prepared.warnings)
    return sniff(origin.path, origin.filename, file.content) if not origin.mime else Sniffed(origin.mime)


def _is_replacement(draft: Draft) -> bool:
    return draft.replaces is not None and draft.replaces.current is not None


def _inputs(draft: Draft, embedder: Embedder) -> list[tuple[bytes, tuple[str, ...]]]:
    """Return the inputs to embed for the buffered chunks of a draft."""
    found, parts = [], iter(draft.parts)
    part = next(parts, None)
    for chunk in draft.chunks:
        while part is not None and part.end < chunk.end:
            part = next(parts, None)
        assert part is not None
        text = part.text[chunk.start - part.start : chunk.end - part.start]
        found.append((chunk.input_hash, pieces_to_embed(chunk, text, embedder)))
    return found


def _build_added(work: Work) -> Added:
    chunks, warnings = work.publication.chunks, tuple(work.warnings)
    near = work.draft.near_duplicate_of
    return Added(work.origin.source, work.draft.document_id, work.status, chunks, None, warnings, near)


def _is_renamed(origin: NewSource, document: Document) -> bool:
    """Return whether the same bytes have another name, or other metadata, than the stored document."""
    metadata = {key: value for key, value in document.metadata.items() if key != "language"}
    return document.filename != origin.filename or metadata != dict(origin.metadata)
