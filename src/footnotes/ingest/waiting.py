"""Makes vectors for documents whose text is stored, batch after batch, until none are left.

The process that holds the library for writing does this, also for documents of earlier writers. Progress needs no
record: documents without vectors are the remaining work.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from footnotes import tracing
from footnotes.embed import Embedder, Matrix
from footnotes.ingest.embedding import embed_missing
from footnotes.ingest.pieces import pieces_to_embed
from footnotes.ingest.work import OnProgress, Progress
from footnotes.store import Store
from footnotes.store.records import Generation, PendingChunk

SMALLEST_BATCH, FIRST_BATCH, LARGEST_BATCH = 32, 64, 4_096
_READ_TOGETHER = 256
BATCH_SECONDS = 4.0
"""A batch is sized to take about this time: complete soon, yet few commits."""


class WaitingDocuments:
    """Embeds waiting documents of one tenant's library. The caller holds the library for writing."""

    def __init__(
        self, store: Store, generation: Generation, *, embedder: Embedder, batch: int, on_progress: OnProgress
    ) -> None:
        self._store = store
        self._generation = generation
        self._embedder = embedder
        self._batch = batch
        self._on_progress = on_progress
        self._inputs: dict[bytes, tuple[str, ...]] = {}
        self._known: dict[str, Matrix] = {}
        self._size = FIRST_BATCH
        self._done = 0
        self._total = 0

    def embed(self) -> Iterator[list[int]]:
        """Embed everything. Yields the keys of documents as soon as they are ready."""
        user_id = self._generation.user_id
        before: list[int] = []
        while (claimed := self._store.vectors.claim(user_id)) and claimed != before:
            self._total = self._done + self._store.vectors.waiting(user_id).chunks
            self._store.vectors.set_waiting(user_id, "embedding")
            yield from self._embed_documents(claimed)
            before = claimed

    def _embed_documents(self, pks: list[int]) -> Iterator[list[int]]:
        complete: list[int] = []
        for start in range(0, len(pks), _READ_TOGETHER):
            some = pks[start : start + _READ_TOGETHER]
            user_id = self._generation.user_id
            small = self._store.vectors.inputs_of_small(user_id, self._generation, some, most=SMALLEST_BATCH)
            for pk in some:
                if pk in small:
                    self._take(small[pk])
                else:
                    self._gather(pk)
                complete.append(pk)
                if len(self._inputs) >= self._size:
                    yield self._finish(complete)
                    complete = []
        if complete:
            yield self._finish(complete)

    def _take(self, found: Sequence[PendingChunk]) -> None:
        for item in found:
            self._inputs[item.input_hash] = pieces_to_embed(item, item.text, self._embedder)

    def _gather(self, pk: int) -> None:
        """Collect a large document's inputs, and embed full batches on the way."""
        after = -1
        while found := self._inputs_after(pk, after):
            after = found[-1].index
            self._take(found)
            if len(found) < self._size:
                return
            self._embed()

    def _inputs_after(self, pk: int, after: int) -> list[PendingChunk]:
        user_id = self._generation.user_id
        return self._store.vectors.inputs(user_id, self._generation, pk, after=after, limit=self._size)

    def _finish(self, pks: list[int]) -> list[int]:
        self._embed()
        self._on_progress(Progress("indexing", 0, len(pks)))
        with tracing.span("index", documents=len(pks), leg="dense"):
            self._store.vectors.finish(self._generation.user_id, self._generation, pks)
        return pks

    def _embed(self) -> None:
        inputs, self._inputs = self._inputs, {}
        if not inputs:
            return
        start, before = time.monotonic(), self._done

        def report(progress: Progress) -> None:
            self._on_progress(Progress("embedding", before + progress.done, self._total))

        embed_missing(
            self._store,
            self._generation,
            inputs,
            embedder=self._embedder,
            batch=self._batch,
            on_progress=report,
            known=self._known,
        )
        self._done += len(inputs)
        fitting = int(len(inputs) * BATCH_SECONDS / max(time.monotonic() - start, 0.001))
        self._size = min(max(fitting, SMALLEST_BATCH), LARGEST_BATCH)
