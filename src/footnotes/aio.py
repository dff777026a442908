"""The async twin of `Library`: the same core, run in threads so that an event loop never waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from footnotes.config import Settings
from footnotes.engine import Library
from footnotes.errors import FootnotesError
from footnotes.ingest.importing.records import TakenOver
from footnotes.ingest.transfer import Imported
from footnotes.store.backup import BackupSnapshot
from footnotes.store.records import Verification
from footnotes.types import (
    Added,
    Answer,
    Block,
    Chunk,
    Document,
    ErrorInfo,
    Event,
    Followed,
    Job,
    NearDuplicate,
    SearchResult,
    Synced,
)

P = ParamSpec("P")
R = TypeVar("R")


class AsyncLibrary:
    """Every method of `Library`, awaited. Use it with `async with`."""

    def __init__(self, folder: str | Path | None = None, *, settings: Settings | None = None) -> None:
        self._folder = folder
        self._settings = settings
        self._library: Library | None = None

    async def __aenter__(self) -> AsyncLibrary:
        self._library = await asyncio.to_thread(Library, self._folder, settings=self._settings)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        if self._library is not None:
            await asyncio.to_thread(self._library.close)
            self._library = None

    @property
    def library(self) -> Library:
        """The library itself, for what needs no waiting."""
        if self._library is None:
            raise RuntimeError("the library is not open: use `async with footnotes.connect(...)`")
        return self._library

    async def add(self, *paths: str | Path, **options: Any) -> list[Added]:
        return await self._run(self.library.add, *paths, **options)

    async def add_code(self, repository: str | Path, **options: Any) -> list[Followed]:
        return await self._run(self.library.add_code, repository, **options)

    async def add_wiki(self, folder: str | Path, **options: Any) -> list[Followed]:
        return await self._run(self.library.add_wiki, folder, **options)

    async def add_text(self, text: str | bytes, **options: Any) -> Added:
        return await self._run(self.library.add_text, text, **options)

    async def add_texts(self, texts: Sequence[str], **options: Any) -> list[Added]:
        return await self._run(self.library.add_texts, texts, **options)

    async def resume(self, **options: Any) -> list[Added]:
        return await self._run(self.library.resume, **options)

    async def jobs(self) -> list[Job]:
        return await self._run(self.library.jobs)

    async def sync(self, folder: str | Path, **options: Any) -> Synced:
        return await self._run(self.library.sync, folder, **options)

    async def watch(self, folder: str | Path, **options: Any) -> AsyncIterator[Synced | FootnotesError]:
        """The passes of `Library.watch`, each waited for in a thread. Leaving the loop ends it."""
        stop = threading.Event()
        passes = self.library.watch(folder, stop=stop, **options)
        try:
            while (result := await asyncio.to_thread(next, passes, None)) is not None:
                yield result
        finally:
            stop.set()

    async def search(self, query: str, **options: Any) -> SearchResult:
        return await self._run(self.library.search, query, **options)

    async def ask(self, question: str, **options: Any) -> Answer:
        return await self._run(self.library.ask, question, **options)

    async def ask_stream(self, question: str, **options: Any) -> AsyncIterator[Event]:
        """The events of `Library.ask_stream`, each waited for in a thread."""
        events = self.library.ask_stream(question, **options)
        end = Event("done")
        try:
            while (event := await asyncio.to_thread(next, events, end)) is not end:
                yield event
        finally:
            await asyncio.to_thread(_closed, events)

    async def documents(self, **options: Any) -> list[Document]:
        return await self._run(self.library.documents, **options)

    async def document(self, document_id: str) -> Document:
        return await self._run(self.library.document, document_id)

    async def outdated(self) -> list[Document]:
        return await self._run(self.library.outdated)

    async def count_outdated(self) -> int:
        return await self._run(self.library.count_outdated)

    async def generation(self) -> int | None:
        return await self._run(lambda: self.library.generation)

    async def text(self, document_id: str, start: int = 0, end: int | None = None) -> str:
        return await self._run(self.library.text, document_id, start, end)

    async def original(self, document_id: str) -> Path:
        return await self._run(self.library.original, document_id)

    async def blocks(self, document_id: str, start: int = 0, end: int | None = None) -> list[Block]:
        return await self._run(lambda: list(self.library.blocks(document_id, start, end)))

    async def find(self, document_id: str, words: str, limit: int = 500) -> list[tuple[int, int, int | None]]:
        return await self._run(self.library.find, document_id, words, limit)

    async def chunks(self, document_id: str) -> list[Chunk]:
        return await self._run(self.library.chunks, document_id)

    async def near_duplicates(self) -> dict[str, NearDuplicate]:
        return await self._run(self.library.near_duplicates)

    async def collections(self) -> list[dict[str, Any]]:
        return await self._run(self.library.collections)

    async def check_collection(self, name: str) -> None:
        await self._run(self.library.check_collection, name)

    async def set_collection(self, name: str, **options: Any) -> None:
        await self._run(self.library.set_collection, name, **options)

    async def delete(self, *document_ids: str, **options: Any) -> list[str]:
        return await self._run(self.library.delete, *document_ids, **options)

    async def counts(self) -> dict[str, Any]:
        return await self._run(self.library.counts)

    @property
    def index_failure(self) -> ErrorInfo | None:
        return self.library.index_failure

    async def status(self) -> dict[str, Any]:
        return await self._run(self.library.status)

    async def verify(self, **options: Any) -> Verification:
        return await self._run(self.library.verify, **options)

    async def compact(self, *, scrub: bool = False) -> None:
        await self._run(self.library.compact, scrub=scrub)

    async def reindex(self, **options: Any) -> dict[str, Any]:
        return await self._run(self.library.reindex, **options)

    async def rollback(self, **options: Any) -> dict[str, Any]:
        return await self._run(self.library.rollback, **options)

    async def backup(self, file: str | Path, **options: Any) -> BackupSnapshot:
        return await self._run(self.library.backup, file, **options)

    async def export(self, file: str | Path, **options: Any) -> dict[str, int]:
        return await self._run(self.library.export, file, **options)

    async def import_(self, file: str | Path, **options: Any) -> Imported:
        return await self._run(self.library.import_, file, **options)

    async def import_from(self, source: str, **options: Any) -> TakenOver:
        return await self._run(self.library.import_from, source, **options)

    @staticmethod
    async def _run(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(call, *args, **kwargs)


def _closed(events: Iterator[Event]) -> None:
    """A stream nobody listens to any more is ended."""
    if callable(close := getattr(events, "close", None)):
        close()
