"""Makes vectors for documents whose text is stored, batch after batch, until none are left.

The process that holds the library for writing does this, also for documents of earlier writers. Progress needs no
record: documents without vectors are the remaining work.
"""

from __future__ import annotations

import time
from bisect import bisect_left
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
        before: list[int] = []
        while True:
            claimed, chunks = self._store.vectors.claim(self._generation.user_id)
            if not claimed or claimed == before:
                return
            self._total = self._done + chunks
            yield from self._embed_documents(claimed)
            before = claimed

    def _embed_documents(self, pks: Sequence[int]) -> Iterator[list[int]]:
        complete: list[int] = []
        for start in range(0, len(pks), _READ_TOGETHER):
            left = pks[start : start + _READ_TOGETHER]
            for found in self._pages(left):
                for item in found:
                    self._inputs[item.input_hash] = pieces_to_embed(item, item.text, self._embedder)
                reached = bisect_left(left, found[-1].document)
                complete += left[:reached]
                left = left[reached:]
                if len(self._inputs) < self._size:
                    continue
                if complete:
                    yield self._finish(complete)
                    complete = []
                else:  # amid a large document
                    self._embed()
            complete += left
        if complete:
            yield self._finish(complete)

    def _pages(self, pks: Sequence[int]) -> Iterator[list[PendingChunk]]:
        """Yield the inputs of documents, as many at a time as are embedded together."""
        user_id, after = self._generation.user_id, (pks[0], -1)
        while found := self._store.vectors.inputs(user_id, self._generation, pks, after=after, limit=self._size):
            yield found
            after = (found[-1].document, found[-1].index)

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
