"""The async twin of `Library`, run in threads so that an event loop never waits for it.

Written by scripts/make_aio.py; change the façade, then run it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, Unpack, cast

from footnotes.answer.asking import AskChoices
from footnotes.errors import FootnotesError
from footnotes.ingest.adding import AddOptions, TextOptions, TextsOptions
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
        """Take in files and folders. One that cannot be taken in is reported and does not stop the others."""
        return await asyncio.to_thread(self.library.add, *paths, **options)

    def adding(self, *paths: str | Path, **options: Unpack[AddOptions]) -> AsyncIterator[Added]:
        """As `add`, giving each result as soon as it is final."""
        return _each(self.library.adding(*paths, **options))

    async def add_text(self, text: str | bytes, *, filename: str, **options: Unpack[TextOptions]) -> Added:
        """Take in a text or the bytes of a file under a name. The same `source` again replaces it."""
        return await asyncio.to_thread(self.library.add_text, text, filename=filename, **options)

    async def add_texts(self, texts: Sequence[str], **options: Unpack[TextsOptions]) -> list[Added]:
        """Take in many texts at once; what became of each comes back in their order."""
        return await asyncio.to_thread(self.library.add_texts, texts, **options)

    async def resume(self, *, on_progress: OnProgress | None = None) -> list[Added]:
        """Go on with what was cut off, and try again what failed in a way that may pass."""
        return await asyncio.to_thread(self.library.resume, on_progress=on_progress)

    def resuming(self, *, on_progress: OnProgress | None = None) -> AsyncIterator[Added]:
        """As `resume`, giving each result as soon as it is final."""
        return _each(self.library.resuming(on_progress=on_progress))

    async def jobs(self, *, files: bool = True) -> list[Job]:
        """The journal: runs and, if wanted, the files of each, oldest first."""
        return await asyncio.to_thread(self.library.jobs, files=files)

    async def sync(self, folder: str | Path, **options: Unpack[SyncOptions]) -> Synced:
        """Make a collection follow a folder: new, changed, renamed and deleted files; nothing from elsewhere.

        A folder that is missing is an error, and one whose files are all gone is only emptied with `delete_all`. In
        place of a folder the address of a source may stand, with its `options`: docs/sources.md.
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
        """Follow a folder as it changes, with the options of `sync`, until `stop` is set.

        Gives what each pass did, or why one could not be made; the next is tried all the same. A source by address is
        looked at `every` so many seconds.
        """
        stop = stop or threading.Event()
        return _each(self.library.watch(folder, stop=stop, every=every, **options), stop)

    async def add_code(self, repository: str | Path, **options: Unpack[CodeOptions]) -> list[Followed]:
        """Take in the source of a repository; called again, follow what the commits since have changed.

        Files that git tracks; a folder without git is walked. A repository whose files are all gone is only emptied
        with `delete_all`.
        """
        return await asyncio.to_thread(self.library.add_code, repository, **options)

    def adding_code(self, repository: str | Path, **options: Unpack[CodeOptions]) -> AsyncIterator[Followed]:
        """As `add_code`, giving each file as soon as it is final."""
        return _each(self.library.adding_code(repository, **options))

    async def add_wiki(self, folder: str | Path, **options: Unpack[WikiOptions]) -> list[Followed]:
        """Take in pages that describe a repository; called again, follow what changed.

        What is known of the repository comes from its source in the folder `repository`, or from a prepared
        `analysis` in a file; without either, pages are cut by their sections all the same.
        """
        return await asyncio.to_thread(self.library.add_wiki, folder, **options)

    def adding_wiki(self, folder: str | Path, **options: Unpack[WikiOptions]) -> AsyncIterator[Followed]:
        """As `add_wiki`, giving each page as soon as it is final."""
        return _each(self.library.adding_wiki(folder, **options))

    async def search(self, query: str, **choices: Unpack[SearchChoices]) -> SearchResult:
        """The best chunks for a question, with the rank and score each leg gave them.

        Words of the question such as `layer:domain` are filters: see docs/reference/filters.md.
        """
        return await asyncio.to_thread(self.library.search, query, **choices)

    async def ask(self, question: str, **choices: Unpack[AskChoices]) -> Answer:
        """An answer from the documents, each sentence with its footnote; abstains when nothing supports one.

        Settings of the answer, such as `model`, `strict` or `temperature`, may be given for this question alone.
        """
        return await asyncio.to_thread(self.library.ask, question, **choices)

    def ask_stream(self, question: str, **choices: Unpack[AskChoices]) -> AsyncIterator[Event]:
        """As `ask`, in events as they happen. The last is `done`, or `error` with as much of the answer as came."""
        return _each(self.library.ask_stream(question, **choices))

    async def documents(
        self, *, where: Where | None = None, collection: str | None = None, limit: int | None = None, offset: int = 0
    ) -> list[Document]:
        """The documents of the library, in the order they came."""
        return await asyncio.to_thread(
            self.library.documents, where=where, collection=collection, limit=limit, offset=offset
        )

    async def document(self, document_id: str) -> Document:
        return await asyncio.to_thread(self.library.document, document_id)

    async def text(self, document_id: str, start: int = 0, end: int | None = None) -> str:
        """Canonical text of a document, or a span of it."""
        return await asyncio.to_thread(self.library.text, document_id, start, end)

    async def page_start(self, document_id: str, page: int) -> int:
        """Where the text of a page, counted from 1, begins in the canonical text."""
        return await asyncio.to_thread(self.library.page_start, document_id, page)

    async def blocks(self, document_id: str, start: int = 0, end: int | None = None) -> list[Block]:
        """The blocks of a document that touch a span of its canonical text, or all of them."""
        return await asyncio.to_thread(lambda: list(self.library.blocks(document_id, start, end)))

    async def find(self, document_id: str, words: str, limit: int = 500) -> list[tuple[int, int, int | None]]:
        """Where words stand in a document, in any case and however they are broken into lines: start, end, page."""
        return await asyncio.to_thread(self.library.find, document_id, words, limit)

    async def chunks(self, document_id: str) -> list[Chunk]:
        return await asyncio.to_thread(self.library.chunks, document_id)

    async def near_duplicates(self) -> dict[str, NearDuplicate]:
        """Documents that say nearly the same as another of their collection: their ids, each with that other one."""
        return await asyncio.to_thread(self.library.near_duplicates)

    async def original(self, document_id: str) -> Path:
        """The file a document was made from, where originals are kept. It is the library's: copy it, leave it alone."""
        return await asyncio.to_thread(self.library.original, document_id)

    async def collections(self) -> list[dict[str, Any]]:
        """The collections with their choices, and how many documents each has."""
        return await asyncio.to_thread(self.library.collections)

    async def check_collection(self, name: str) -> None:
        """Raise where there is no such collection."""
        return await asyncio.to_thread(self.library.check_collection, name)

    async def generation(self) -> int | None:
        """The number of the generation that serves."""
        return await asyncio.to_thread(lambda: self.library.generation)

    async def outdated(self) -> list[Document]:
        """Documents that were made by an older parser, or by another chunker or model than is set now."""
        return await asyncio.to_thread(self.library.outdated)

    async def count_outdated(self) -> int:
        """How many documents `outdated` names; counted again only when the library has changed."""
        return await asyncio.to_thread(self.library.count_outdated)

    async def counts(self) -> dict[str, Any]:
        """How many documents, chunks, characters and bytes the library holds."""
        return await asyncio.to_thread(self.library.counts)

    async def status(self) -> dict[str, Any]:
        """What the library holds, what serves it, and how large it is."""
        return await asyncio.to_thread(self.library.status)

    @property
    def index_failure(self) -> ErrorInfo | None:
        """Why a vector database could not be told of the last changes; it is told when it is back."""
        return self.library.index_failure

    async def set_collection(
        self,
        name: str,
        *,
        chunker: str | None = None,
        chunker_options: Mapping[str, Any] | None = None,
        system_prompt: str | None = None,
    ) -> None:
        """Choose a collection's chunker and system prompt; documents added from now on follow it."""
        return await asyncio.to_thread(
            self.library.set_collection,
            name,
            chunker=chunker,
            chunker_options=chunker_options,
            system_prompt=system_prompt,
        )

    async def delete(self, *document_ids: str, **options: Unpack[DeleteOptions]) -> list[str]:
        """Remove documents by id, source, checksum or collection, which goes with them. Returns the ids that went.

        `compact` and `scrub` are those of `compact`.
        """
        return await asyncio.to_thread(self.library.delete, *document_ids, **options)

    async def compact(self, *, scrub: bool = False) -> None:
        """Leave no byte of what was deleted in the folder.

        In PostgreSQL the space is given back while everybody works on; with `scrub` the tables are written again, so
        that no page keeps a deleted text, and each is locked for all tenants while that is done.
        """
        return await asyncio.to_thread(self.library.compact, scrub=scrub)

    async def reindex(self, **options: Unpack[ReindexOptions]) -> dict[str, Any]:
        """Build the next generation from stored text beside the one that serves, then switch in one step.

        A `gate` is given the number of the new generation before the switch, may look at it with `at_generation`, and
        raises to refuse it.
        """
        return await asyncio.to_thread(self.library.reindex, **options)

    async def rollback(self, *, on_progress: OnProgress | None = None) -> dict[str, Any]:
        """Serve the generation that was kept, after filling in what came since."""
        return await asyncio.to_thread(self.library.rollback, on_progress=on_progress)

    async def verify(self, *, repair: bool = False) -> Verification:
        """Check pages, spans, vectors and both indexes against each other; with `repair`, mend what can be."""
        return await asyncio.to_thread(self.library.verify, repair=repair)

    async def refresh(self) -> None:
        """See what other processes wrote. From the first call on no search looks for itself, or waits for it."""
        return await asyncio.to_thread(self.library.refresh)

    async def settle(self, *, on_progress: OnProgress | None = None) -> None:
        """Wait until what is built behind searches is built."""
        return await asyncio.to_thread(self.library.settle, on_progress=on_progress)

    async def backup(self, file: str | Path, *, keep: int | None = None) -> BackupSnapshot:
        """Add a snapshot of the whole library, all its tenants, to a backup file; `keep` drops older snapshots.

        Others may read and write meanwhile. What did not change since the last snapshot is not stored again.
        """
        return await asyncio.to_thread(self.library.backup, file, keep=keep)

    async def export(self, file: str | Path, *, collection: str | None = None) -> dict[str, int]:
        """Write documents and chunks as JSON Lines: of the whole library, or of a collection."""
        return await asyncio.to_thread(self.library.export, file, collection=collection)

    def exporting(self, *, collection: str | None = None) -> AsyncIterator[str]:
        """The lines `export` would write."""
        return _each(self.library.exporting(collection=collection))

    async def import_(
        self, file: str | Path, *, collection: str | None = None, on_progress: OnProgress | None = None
    ) -> Imported:
        """Append what an export holds, to `collection` when one is named; never overwrites what is there."""
        return await asyncio.to_thread(self.library.import_, file, collection=collection, on_progress=on_progress)

    async def import_from(self, source: str, **options: Unpack[ImportChoices]) -> ImportResult:
        """Take over a collection of another tool: `chroma://…`, `chroma:FOLDER#NAME`, `qdrant://…` or `json:FILE`.

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
