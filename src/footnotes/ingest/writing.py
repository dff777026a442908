"""Writes drafts together, makes their vectors beforehand where they are ready sooner then, and publishes them.

Small documents are written together in one transaction, a large one piece by piece.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from footnotes import tracing
from footnotes.embed import Embedder
from footnotes.errors import DocumentError, FootnotesError, StoreError
from footnotes.ingest.embedding import Embedding
from footnotes.ingest.pending import Pending, Work, sketch_works
from footnotes.ingest.pieces import pieces_to_embed
from footnotes.ingest.reading import DocumentLookup
from footnotes.ingest.waiting import FIRST_BATCH, fit_batch
from footnotes.ingest.work import Progress
from footnotes.store.records import Draft, Generation
from footnotes.types import ErrorInfo

BATCH_CHARACTERS = 3_000_000
WORTH_A_PROCESS = 5_000
"""With about this many chunks, another process indexes words in parallel; starting it takes time."""
QUICK_DOCUMENTS, QUICK_INPUTS, QUICK_RATE, QUICK_TRIES = 256, 16, 500.0, 3
"""With this many documents, this many inputs are tried: an embedder that makes this many per second is fast. A busy
machine may make it look slow once or twice."""
_HICCUP_SECONDS = 0.05


class DraftWriter:
    """Writes the drafts of one run."""

    def __init__(self, embedding: Embedding, known: DocumentLookup) -> None:
        self._embedding = embedding
        self._store, self._user_id, self._embedder = embedding.store, embedding.user, embedding.embedder
        self._known = known
        self._generation: Generation | None = None
        self.pending = Pending()
        self.files_read = self.files_left = 0
        self._batch_chunks = FIRST_BATCH
        self._written = time.monotonic()
        self._indexed = 0
        self._has_published = False
        self._publishes_behind = False
        self._is_embedder_away = False
        self._is_quick = False
        self._tries = 0
        """How often the embedder may be slow before it is no longer tried beforehand."""

    def open(self, files: int = 0) -> None:
        """Begin to write into the current generation, for this many files."""
        self._generation = self._embedding.open_generation()
        is_remote = getattr(self._embedder, "is_remote", False)
        self._tries = QUICK_TRIES if files >= QUICK_DOCUMENTS and not is_remote else 0

    def reopen(self) -> None:
        """Continue in the current generation: the library was reindexed."""
        self._known.forget()
        self._generation = self._embedding.open_generation()

    @property
    def generation(self) -> Generation:
        """The current generation, as far as known."""
        assert self._generation is not None
        return self._generation

    @property
    def is_full(self) -> bool:
        return self.pending.chunks >= self._batch_chunks or self.pending.characters >= BATCH_CHARACTERS

    def is_large(self, draft: Draft) -> bool:
        """Return whether a draft that is still being read fills a batch by itself."""
        return len(draft.chunks) >= self._batch_chunks or draft.characters() >= BATCH_CHARACTERS

    def take(self) -> list[Work]:
        """Return all pending documents, to be written now."""
        works, self.pending = self.pending.works, Pending()
        return works

    def write(self, works: Sequence[Work]) -> bool:
        """Write documents and index their words. Return whether another process indexes them.

        Raises `GenerationReplaced` if the library was reindexed meanwhile.
        """
        start, drafts = time.monotonic(), [work.draft for work in works]
        count = sum(len(draft.chunks) for draft in drafts)
        self._write_replacements_ahead(drafts)
        self._embed_quickly(drafts)
        sketch_works(works)
        with tracing.span("store", documents=len(works), chunks=count):
            self._save(drafts)
        self._embedding.on_progress(Progress("indexing", 0, len(works)))
        behind = self._is_worth_a_process(works)
        with tracing.span("index", documents=len(works), chunks=count):
            self._store.publish(self._user_id, self.generation, behind=behind)
        self._adapt(count, time.monotonic() - start)
        self._written, self._has_published = time.monotonic(), True
        return behind

    def write_ahead(self, draft: Draft) -> None:
        """Write what a large draft has buffered, without publishing it."""
        start, count = time.monotonic(), len(draft.chunks)
        self._write_ahead([draft])
        self._adapt(count, time.monotonic() - start)

    def discard(self, draft: Draft, error: ErrorInfo) -> None:
        """Record why a document failed, and remove what was written of it."""
        draft.error = error
        self._save([draft])

    def finish(self) -> None:
        """Wait until everything written is published."""
        if self._publishes_behind:
            self._publishes_behind = False
            self._store.publish(self._user_id, self.generation)

    def _save(self, drafts: Sequence[Draft]) -> None:
        self._store.documents.save(self._user_id, self.generation, drafts)
        self._known.forget_written(drafts)

    def _is_worth_a_process(self, works: Sequence[Work]) -> bool:
        """Return whether another process indexes words: from when the files have many chunks on.

        The first documents are visible soonest if this process does it, unless there are many.
        """
        count = sum(work.publication.chunks for work in works)
        self._indexed += count
        to_come = self.files_left * self._indexed / max(self.files_read, 1) if self._has_published else 0
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
        self._save(drafts)
        wanted = {key: pieces for draft, found in inputs if not draft.is_claimed for key, pieces in found}
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
        allowed = max(1 / QUICK_RATE, (time.monotonic() - self._written) / len(inputs))
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
            return self._embedding.embed(self.generation, inputs).seconds
        except (StoreError, DocumentError):
            raise
        except FootnotesError:
            self._is_embedder_away = True
            return 0.0

    def _adapt(self, count: int, seconds: float) -> None:
        """Size the next batch by the time of this one. A much smaller batch only shows that the next may be larger:
        most of its time was overhead."""
        fitting = fit_batch(count, seconds)
        full = 2 * count >= self._batch_chunks
        self._batch_chunks = fitting if full else max(fitting, self._batch_chunks)


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
