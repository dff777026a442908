"""Makes vectors for documents whose text is stored, batch after batch, until none are left.

The process that holds the library for writing does this, also for documents of earlier writers. Progress needs no
record: documents without vectors are the remaining work.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from footnotes import tracing
from footnotes.embed import Matrix
from footnotes.errors import DocumentError, FootnotesError, Interrupted, StoreError
from footnotes.ingest.embedding import Embedding
from footnotes.ingest.pieces import pieces_to_embed
from footnotes.ingest.work import Progress
from footnotes.store.records import Generation, PendingChunk

SMALLEST_BATCH, FIRST_BATCH, LARGEST_BATCH = 32, 64, 4_096
_READ_TOGETHER = 256
BATCH_SECONDS = 4.0
"""A batch is sized to take about this time: complete and visible soon, yet few commits."""
_STOPPED = Interrupted(
    "the work was stopped before its vectors were made", remedy="Run `footnotes resume` to continue."
)


class WaitingDocuments:
    """Embeds waiting documents of one tenant's library. The caller holds the library for writing."""

    def __init__(self, embedding: Embedding, generation: Generation) -> None:
        self._embedding = embedding
        self._vectors = embedding.store.vectors
        self._user = embedding.user
        self._generation = generation
        self._inputs: dict[bytes, tuple[str, ...]] = {}
        self._known: dict[str, Matrix] = {}
        self._size = FIRST_BATCH
        self._done = 0
        self._total = 0

    def embed(self) -> Iterator[list[int]]:
        """Embed everything. Yields the keys of documents as soon as they are ready.

        If the embedder fails or the work is stopped, the documents left wait for `resume`, with the reason.
        """
        try:
            yield from self._embed_claimed()
        except (StoreError, DocumentError):
            raise
        except FootnotesError as error:
            self._vectors.pause(self._user, error.info())
            raise
        except BaseException:
            with suppress(StoreError):
                self._vectors.pause(self._user, _STOPPED.info())
            raise

    def _embed_claimed(self) -> Iterator[list[int]]:
        before: list[int] = []
        while True:
            claimed, chunks = self._vectors.claim(self._user)
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
                    self._inputs[item.input_hash] = pieces_to_embed(item, item.text, self._embedding.embedder)
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
        after = (pks[0], -1)
        while True:
            limit = self._size
            found = self._vectors.inputs(self._user, self._generation, pks, after=after, limit=limit)
            if found:
                yield found
                after = (found[-1].document, found[-1].index)
            if len(found) < limit:
                return

    def _finish(self, pks: list[int]) -> list[int]:
        self._embed()
        self._embedding.on_progress(Progress("indexing", 0, len(pks)))
        with tracing.span("index", documents=len(pks), leg="dense"):
            self._vectors.finish(self._user, self._generation, pks)
        return pks

    def _embed(self) -> None:
        inputs, self._inputs = self._inputs, {}
        if not inputs:
            return
        start, before = time.monotonic(), self._done

        def report(progress: Progress) -> None:
            self._embedding.on_progress(Progress("embedding", before + progress.done, self._total))

        replace(self._embedding, on_progress=report).embed(self._generation, inputs, self._known)
        self._done += len(inputs)
        self._size = fit_batch(len(inputs), time.monotonic() - start)


def fit_batch(count: int, seconds: float) -> int:
    """Return the size of a batch that takes about the wanted time, if these many took so many seconds."""
    return min(max(int(count * BATCH_SECONDS / max(seconds, 0.001)), SMALLEST_BATCH), LARGEST_BATCH)
