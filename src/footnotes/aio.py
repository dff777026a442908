"""The async twin of `Library`, run in threads so that an event loop never waits for it.

Written by scripts/make_aio.py; change the façade, then run it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, Unpack, cast

from footnotes.answer.asking import AskChoices
from footnotes.errors import FootnotesError
from footnotes.ingest.adding import AddOptions, TextOptions, TextsOptions
from footnotes.ingest.context import CollectionOptions
from footnotes.ingest.following import CodeOptions, SyncOptions, WikiOptions
from footnotes.ingest.importing.records import ImportChoices, ImportResult
from footnotes.ingest.reindexing import ReindexOptions
from footnotes.ingest.removal import DeleteOptions
from footnotes.ingest.transfer import Imported
from footnotes.ingest.work import OnProgress
from footnotes.library import Library
from footnotes.retrieve.searcher import SearchChoices
from footnotes.retrieve.where import Where
from footnotes.settings import Settings
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

T = TypeVar("T")
_END = object()


class AsyncLibrary:
    """Every method of `Library`, awaited; what it gives one by one is an async iterator. Use it with `async with`."""

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
        """Let go of the folder."""
        if self._library is not None:
            await asyncio.to_thread(self._library.close)
            self._library = None

    @property
    def library(self) -> Library:
        """The library itself, for what needs no waiting."""
        if self._library is None:
            raise RuntimeError("the library is not open: use `async with footnotes.connect(...)`")
        return self._library

    async def add(self, *paths: str | Path, **options: Unpack[AddOptions]) -> list[Added]:
        """Add files and folders. A file that fails is reported and does not stop the others."""
        return await asyncio.to_thread(self.library.add, *paths, **options)

    def adding(self, *paths: str | Path, **options: Unpack[AddOptions]) -> AsyncIterator[Added]:
        """Like `add`, but yield each result as soon as it is final."""
        return _each(self.library.adding(*paths, **options))

    async def add_text(self, text: str | bytes, *, filename: str, **options: Unpack[TextOptions]) -> Added:
        """Add a text or the bytes of a file under a name. The same `source` again replaces it."""
        return await asyncio.to_thread(self.library.add_text, text, filename=filename, **options)

    async def add_texts(self, texts: Sequence[str], **options: Unpack[TextsOptions]) -> list[Added]:
        """Add many texts at once; return their results in the same order."""
        return await asyncio.to_thread(self.library.add_texts, texts, **options)

    async def resume(self, *, on_progress: OnProgress | None = None) -> list[Added]:
        """Continue interrupted work, and retry temporary failures."""
        return await asyncio.to_thread(self.library.resume, on_progress=on_progress)

    def resuming(self, *, on_progress: OnProgress | None = None) -> AsyncIterator[Added]:
        """Like `resume`, but yield each result as soon as it is final."""
        return _each(self.library.resuming(on_progress=on_progress))

    async def jobs(self, *, files: bool = True) -> list[Job]:
        """Return the journal, oldest first: runs and, on request, the files of each."""
        return await asyncio.to_thread(self.library.jobs, files=files)

    async def sync(self, folder: str | Path, **options: Unpack[SyncOptions]) -> Synced:
        """Update a collection from a folder: new, changed, renamed and deleted files. Other documents stay unchanged.

        A missing folder is an error. If all files are gone, documents are deleted only with `delete_all`. Instead of
        a folder, pass the address of a source with its `options`: docs/sources.md.
        """
        return await asyncio.to_thread(self.library.sync, folder, **options)

    def watch(
        self,
        folder: str | Path,
        *,
        stop: threading.Event | None = None,
        every: float = 300.0,
        **options: Unpack[SyncOptions],
    ) -> AsyncIterator[Synced | FootnotesError]:
        """Sync a folder whenever it changes, with the options of `sync`, until `stop` is set.

        Yields the result of each pass, or the error of a failed one, and continues. A source by address is synced
        `every` so many seconds.
        """
        stop = stop or threading.Event()
        return _each(self.library.watch(folder, stop=stop, every=every, **options), stop)

    async def add_code(self, repository: str | Path, **options: Unpack[CodeOptions]) -> list[Followed]:
        """Add the source code of a repository; call again to follow later commits.

        Adds the files that git tracks; walks a folder without git. If all files are gone, documents are deleted only
        with `delete_all`.
        """
        return await asyncio.to_thread(self.library.add_code, repository, **options)

    def adding_code(self, repository: str | Path, **options: Unpack[CodeOptions]) -> AsyncIterator[Followed]:
        """Like `add_code`, but yield each file as soon as it is final."""
        return _each(self.library.adding_code(repository, **options))

    async def add_wiki(self, folder: str | Path, **options: Unpack[WikiOptions]) -> list[Followed]:
        """Add pages that describe a repository; call again to follow changes.

        Symbols and layers come from the source code in the folder `repository`, or from a prepared `analysis` in a
        file. Without either, pages are only cut by section.
        """
        return await asyncio.to_thread(self.library.add_wiki, folder, **options)

    def adding_wiki(self, folder: str | Path, **options: Unpack[WikiOptions]) -> AsyncIterator[Followed]:
        """Like `add_wiki`, but yield each page as soon as it is final."""
        return _each(self.library.adding_wiki(folder, **options))

    async def search(self, query: str, **choices: Unpack[SearchChoices]) -> SearchResult:
        """Return the best chunks for a question, with the rank and score in each leg.

        Words of the question such as `layer:domain` are filters: see docs/reference/filters.md.
        """
        return await asyncio.to_thread(self.library.search, query, **choices)

    async def ask(self, question: str, **choices: Unpack[AskChoices]) -> Answer:
        """Answer a question from the documents, with a footnote for each sentence; abstain without support.

        Settings of the answer, such as `model`, `strict` or `temperature`, can be set for this question alone.
        """
        return await asyncio.to_thread(self.library.ask, question, **choices)

    def ask_stream(self, question: str, **choices: Unpack[AskChoices]) -> AsyncIterator[Event]:
        """Like `ask`, but yield events as they happen. The last is `done`, or `error` with the answer so far."""
        return _each(self.library.ask_stream(question, **choices))

    async def documents(
        self, *, where: Where | None = None, collection: str | None = None, limit: int | None = None, offset: int = 0
    ) -> list[Document]:
        """Return the documents of the library, in the order they were added."""
        return await asyncio.to_thread(
            self.library.documents, where=where, collection=collection, limit=limit, offset=offset
        )

    async def document(self, document_id: str) -> Document:
        return await asyncio.to_thread(self.library.document, document_id)

    async def text(self, document_id: str, start: int = 0, end: int | None = None) -> str:
        """Return the canonical text of a document, or a span of it."""
        return await asyncio.to_thread(self.library.text, document_id, start, end)

    async def page_start(self, document_id: str, page: int) -> int:
        """Return the offset of a page, counted from 1, in the canonical text."""
        return await asyncio.to_thread(self.library.page_start, document_id, page)

    async def blocks(self, document_id: str, start: int = 0, end: int | None = None) -> list[Block]:
        """Return the blocks of a document that overlap a span of its canonical text, or all of them."""
        return await asyncio.to_thread(lambda: list(self.library.blocks(document_id, start, end)))

    async def find(self, document_id: str, words: str, limit: int = 500) -> list[tuple[int, int, int | None]]:
        """Find words in a document, ignoring case and line breaks; return start, end and page of each."""
        return await asyncio.to_thread(self.library.find, document_id, words, limit)

    async def chunks(self, document_id: str) -> list[Chunk]:
        return await asyncio.to_thread(self.library.chunks, document_id)

    async def near_duplicates(self) -> dict[str, NearDuplicate]:
        """Return near-duplicates: the id of each, with the similar document of its collection."""
        return await asyncio.to_thread(self.library.near_duplicates)

    async def original(self, document_id: str) -> Path:
        """Return the original file of a document, if it is stored. Copy the file, do not change it."""
        return await asyncio.to_thread(self.library.original, document_id)

    async def collections(self) -> list[dict[str, Any]]:
        """Return the collections with their options and number of documents."""
        return await asyncio.to_thread(self.library.collections)

    async def check_collection(self, name: str) -> None:
        """Raise if the collection does not exist."""
        return await asyncio.to_thread(self.library.check_collection, name)

    async def generation(self) -> int | None:
        """The number of the current generation."""
        return await asyncio.to_thread(lambda: self.library.generation)

    async def outdated(self) -> list[Document]:
        """Return documents that were made by an older parser, or with another chunker or model than the current one."""
        return await asyncio.to_thread(self.library.outdated)

    async def count_outdated(self) -> int:
        """Return the number of `outdated` documents; count again only after the library changed."""
        return await asyncio.to_thread(self.library.count_outdated)

    async def counts(self) -> dict[str, Any]:
        """Count the documents, chunks, characters and bytes of the library."""
        return await asyncio.to_thread(self.library.counts)

    async def status(self) -> dict[str, Any]:
        """Return the contents, models and size of the library."""
        return await asyncio.to_thread(self.library.status)

    @property
    def index_failure(self) -> ErrorInfo | None:
        """Return why a remote index missed the last changes; it catches up when it is back."""
        return self.library.index_failure

    async def set_collection(self, name: str, **options: Unpack[CollectionOptions]) -> None:
        """Set a collection's chunker and system prompt; they apply to documents added from now on."""
        return await asyncio.to_thread(self.library.set_collection, name, **options)

    async def delete(self, *document_ids: str, **options: Unpack[DeleteOptions]) -> list[str]:
        """Delete documents by id, source, checksum or collection, with the collection. Return the deleted ids.

        `compact` and `scrub` are the options of `compact`.
        """
        return await asyncio.to_thread(self.library.delete, *document_ids, **options)

    async def compact(self, *, scrub: bool = False) -> None:
        """Remove every byte of deleted documents from the folder.

        In PostgreSQL this frees space without blocking others. With `scrub` the tables are rewritten, so no page
        contains deleted text; each table is locked for all tenants meanwhile.
        """
        return await asyncio.to_thread(self.library.compact, scrub=scrub)

    async def reindex(self, **options: Unpack[ReindexOptions]) -> dict[str, object]:
        """Build the next generation from stored text beside the current one, then switch in one step.

        `gate` gets the number of the new generation before the switch. It may inspect it with `at_generation`, and
        raises an error to refuse it.
        """
        return await asyncio.to_thread(self.library.reindex, **options)

    async def rollback(self, *, on_progress: OnProgress | None = None) -> dict[str, Any]:
        """Switch back to the kept generation, after adding newer documents to it."""
        return await asyncio.to_thread(self.library.rollback, on_progress=on_progress)

    async def verify(self, *, repair: bool = False) -> Verification:
        """Check pages, spans, vectors and both indexes against each other; with `repair`, rebuild what is damaged."""
        return await asyncio.to_thread(self.library.verify, repair=repair)

    async def refresh(self) -> None:
        """Read the changes of other processes. After the first call, searches no longer check for them."""
        return await asyncio.to_thread(self.library.refresh)

    async def settle(self, *, on_progress: OnProgress | None = None) -> None:
        """Wait for background builds to finish."""
        return await asyncio.to_thread(self.library.settle, on_progress=on_progress)

    async def backup(self, file: str | Path, *, keep: int | None = None) -> BackupSnapshot:
        """Add a snapshot of the whole library, with all tenants, to a backup file; `keep` drops older snapshots.

        Others may read and write meanwhile. Unchanged data is not stored again.
        """
        return await asyncio.to_thread(self.library.backup, file, keep=keep)

    async def export(self, file: str | Path, *, collection: str | None = None) -> dict[str, int]:
        """Write documents and chunks as JSON Lines: of the whole library, or of a collection."""
        return await asyncio.to_thread(self.library.export, file, collection=collection)

    def exporting(self, *, collection: str | None = None) -> AsyncIterator[str]:
        """Yield the lines of an export."""
        return _each(self.library.exporting(collection=collection))

    async def import_(
        self, file: str | Path, *, collection: str | None = None, on_progress: OnProgress | None = None
    ) -> Imported:
        """Import an export, into `collection` if given. Never overwrites."""
        return await asyncio.to_thread(self.library.import_, file, collection=collection, on_progress=on_progress)

    async def import_from(self, source: str, **options: Unpack[ImportChoices]) -> ImportResult:
        """Import a collection of another tool: `chroma://…`, `chroma:FOLDER#NAME`, `qdrant://…` or `json:FILE`.

        Appends, never overwrites.
        """
        return await asyncio.to_thread(self.library.import_from, source, **options)


async def _each(items: Iterator[T], stop: threading.Event | None = None) -> AsyncIterator[T]:
    """The items, each waited for in one thread, which holds what they lock. Leaving the loop ends what makes them."""
    context, loop = copy_context(), asyncio.get_running_loop()
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="footnotes-stream")
    try:
        while (item := await loop.run_in_executor(thread, lambda: context.run(next, items, _END))) is not _END:
            yield cast(T, item)
    finally:
        if stop is not None:
            stop.set()
        if callable(close := getattr(items, "close", None)):
            await loop.run_in_executor(thread, lambda: context.run(close))
        thread.shutdown(wait=False)
