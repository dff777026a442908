"""The public API: one tenant's documents, to add to, search and ask."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from footnotes import tracing
from footnotes.answer import Answerer, last_answer
from footnotes.answer.answerer import EXTRACTIVE
from footnotes.answer.asking import AskChoices, Asking, Ground
from footnotes.answer.asking.say import completing, saying
from footnotes.answer.models import ChatModel
from footnotes.embed import Embedder
from footnotes.embed.embedders import Embedders
from footnotes.errors import FootnotesError
from footnotes.ingest.adding import Adding, AddOptions, TextOptions, TextsOptions, UploadOptions
from footnotes.ingest.backup import backup_library
from footnotes.ingest.context import CollectionOptions, IngestContext
from footnotes.ingest.following import CodeOptions, Following, SyncOptions, WikiOptions
from footnotes.ingest.reindexing import Reindexing, ReindexOptions
from footnotes.ingest.removal import DeleteOptions, Removal
from footnotes.ingest.transfer import Imported, export_library, export_lines, import_library
from footnotes.ingest.work import NewSource, OnProgress, quiet
from footnotes.retrieve.searcher import SearchChoices, Searcher
from footnotes.retrieve.where import Where, as_filter, in_collection
from footnotes.settings import Settings, load
from footnotes.store import Store
from footnotes.store.backup import BackupSnapshot
from footnotes.store.collections import check_collection, describe_collections
from footnotes.store.conversations import Conversations
from footnotes.store.make import open_store
from footnotes.store.reading import find_words, page_start, read_blocks
from footnotes.store.records import Verification
from footnotes.store.status import library_status
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

if TYPE_CHECKING:
    from footnotes.ingest.importing.records import ImportChoices, ImportResult


class Library:
    """One tenant's documents in a folder. Thread-safe; close it, or use it as a context manager.

    Libraries of several tenants may share one `store`; the code that opened the store closes it after them.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        *,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        create: bool = True,
        store: Store | None = None,
    ) -> None:
        self.settings = settings or load(_expand(folder))
        if embedder is not None:
            self.settings = replace(self.settings, embedder=embedder.name)
        tracing.set_up(self.settings.otel_endpoint)
        self.folder = _expand(folder) or Path(self.settings.library).expanduser()
        self._store = store or open_store(self.settings, self.folder, create=create)
        self._shares_store = store is not None
        self._user = self.settings.user
        self._embedders = Embedders(self.settings, self._stored_dimensions, embedder)
        self._answerer = Answerer(self.settings)
        has_model = self.settings.model != EXTRACTIVE
        self._searcher = Searcher(
            self._store,
            self._user,
            self.settings,
            self._embedders,
            say=saying(self.settings, self.settings.model) if has_model else None,
            complete=completing(self._answerer) if has_model else None,
        )
        self._asking = self._build_asking(self._searcher)
        self._context = IngestContext(self._store, self._user, self.settings, self.folder, self._embedders)
        self._reindexing, self._removal = Reindexing(self._context), Removal(self._context)
        self._adding, self._following = Adding(self._context, self._reindexing), Following(self._context)
        self._store.recover_if_idle(self._user)

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the folder."""
        self._searcher.close()
        self._answerer.close()
        if not self._shares_store:
            self._store.close()

    # ── add

    def add(self, *paths: str | Path, **options: Unpack[AddOptions]) -> list[Added]:
        """Add files and folders. A file that fails is reported and does not stop the others."""
        return list(self.adding(*paths, **options))

    def adding(self, *paths: str | Path, **options: Unpack[AddOptions]) -> Iterator[Added]:
        """Like `add`, but yield each result as soon as it is final."""
        yield from self._adding.add(paths, options)

    def add_text(self, text: str | bytes, *, filename: str, **options: Unpack[TextOptions]) -> Added:
        """Add a text or the bytes of a file under a name. The same `source` again replaces it."""
        return self._adding.add_text(text, filename, options)

    def add_texts(self, texts: Sequence[str], **options: Unpack[TextsOptions]) -> list[Added]:
        """Add many texts at once; return their results in the same order."""
        return self._adding.add_texts(texts, options)

    def build_source(self, path: Path, *, filename: str, **options: Unpack[UploadOptions]) -> NewSource:
        """Check an uploaded file and prepare it for `adding_files`."""
        return self._adding.build_source(path, filename, options)

    def adding_files(self, files: Sequence[NewSource], *, on_progress: OnProgress | None = None) -> Iterator[Added]:
        """Add uploads to one collection; add archives member by member."""
        yield from self._adding.add_files(files, on_progress)

    def resume(self, *, on_progress: OnProgress | None = None) -> list[Added]:
        """Continue interrupted work, and retry temporary failures."""
        return list(self.resuming(on_progress=on_progress))

    def resuming(self, *, on_progress: OnProgress | None = None) -> Iterator[Added]:
        """Like `resume`, but yield each result as soon as it is final."""
        yield from self._adding.resume(on_progress)

    def jobs(self, *, files: bool = True) -> list[Job]:
        """Return the journal, oldest first: runs and, on request, the files of each."""
        return self._store.jobs.all(self._user, files=files)

    # ── follow

    def sync(self, folder: str | Path, **options: Unpack[SyncOptions]) -> Synced:
        """Update a collection from a folder: new, changed, renamed and deleted files. Other documents stay unchanged.

        A missing folder is an error. If all files are gone, documents are deleted only with `delete_all`. Instead of
        a folder, pass the address of a source with its `options`: docs/sources.md.
        """
        return self._following.sync(folder, options)

    def watch(
        self,
        folder: str | Path,
        *,
        stop: threading.Event | None = None,
        every: float = 300.0,
        **options: Unpack[SyncOptions],
    ) -> Iterator[Synced | FootnotesError]:
        """Sync a folder whenever it changes, with the options of `sync`, until `stop` is set.

        Yields the result of each pass, or the error of a failed one, and continues. A source by address is synced
        `every` so many seconds.
        """
        return self._following.watch(folder, stop, every, options)

    def add_code(self, repository: str | Path, **options: Unpack[CodeOptions]) -> list[Followed]:
        """Add the source code of a repository; call again to follow later commits.

        Adds the files that git tracks; walks a folder without git. If all files are gone, documents are deleted only
        with `delete_all`.
        """
        return list(self.adding_code(repository, **options))

    def adding_code(self, repository: str | Path, **options: Unpack[CodeOptions]) -> Iterator[Followed]:
        """Like `add_code`, but yield each file as soon as it is final."""
        yield from self._following.add_code(repository, options)

    def add_wiki(self, folder: str | Path, **options: Unpack[WikiOptions]) -> list[Followed]:
        """Add pages that describe a repository; call again to follow changes.

        Symbols and layers come from the source code in the folder `repository`, or from a prepared `analysis` in a
        file. Without either, pages are only cut by section.
        """
        return list(self.adding_wiki(folder, **options))

    def adding_wiki(self, folder: str | Path, **options: Unpack[WikiOptions]) -> Iterator[Followed]:
        """Like `add_wiki`, but yield each page as soon as it is final."""
        yield from self._following.add_wiki(folder, options)

    # ── find and ask

    def search(self, query: str, **choices: Unpack[SearchChoices]) -> SearchResult:
        """Return the best chunks for a question, with the rank and score in each leg.

        Words of the question such as `layer:domain` are filters: see docs/reference/filters.md.
        """
        return self._searcher.search(query, choices)

    def ask(self, question: str, **choices: Unpack[AskChoices]) -> Answer:
        """Answer a question from the documents, with a footnote for each sentence; abstain without support.

        Settings of the answer, such as `model`, `strict` or `temperature`, can be set for this question alone.
        """
        return last_answer(self.ask_stream(question, **choices))

    def ask_stream(self, question: str, **choices: Unpack[AskChoices]) -> Iterator[Event]:
        """Like `ask`, but yield events as they happen. The last is `done`, or `error` with the answer so far."""
        return self._asking.stream(question, choices)

    def at_generation(self, generation: int) -> Library:
        """Return a library that searches and answers from another generation. Closing this library closes it."""
        same = copy.copy(self)
        same._searcher = self._searcher.at_generation(generation)
        same._asking = same._build_asking(same._searcher)
        return same

    def connect_model(self, name: str, make: Callable[[Settings], ChatModel]) -> None:
        """Register a model under a name, for the option `model` of questions."""
        self._answerer.connect(name, make)

    @property
    def conversations(self) -> Conversations:
        """The conversations of this library's store; every method takes the tenant first."""
        return self._store.conversations

    def embedder(self, name: str | None = None) -> Embedder:
        """Load the embedder of the settings, or a named one, once."""
        return self._embedders.get(name)

    # ── look

    def documents(
        self, *, where: Where | None = None, collection: str | None = None, limit: int | None = None, offset: int = 0
    ) -> list[Document]:
        """Return the documents of the library, in the order they were added."""
        chosen = in_collection(as_filter(where), collection)
        return self._store.documents.all(self._user, where=chosen, limit=limit, offset=offset)

    def document(self, document_id: str) -> Document:
        return self._store.documents.find(self._user, document_id).document

    def text(self, document_id: str, start: int = 0, end: int | None = None) -> str:
        """Return the canonical text of a document, or a span of it."""
        return self._store.documents.text(self._user, document_id, start, end)

    def page_start(self, document_id: str, page: int) -> int:
        """Return the offset of a page, counted from 1, in the canonical text."""
        return page_start(self._store.documents, self._user, document_id, page)

    def blocks(self, document_id: str, start: int = 0, end: int | None = None) -> Iterator[Block]:
        """Return the blocks of a document that overlap a span of its canonical text, or all of them."""
        return read_blocks(self._store.documents, self._user, document_id, start, end)

    def find(self, document_id: str, words: str, limit: int = 500) -> list[tuple[int, int, int | None]]:
        """Find words in a document, ignoring case and line breaks; return start, end and page of each."""
        return find_words(self._store.documents, self._user, document_id, words, limit)

    def chunks(self, document_id: str) -> list[Chunk]:
        return self._store.documents.chunks(self._user, document_id)

    def near_duplicates(self) -> dict[str, NearDuplicate]:
        """Return near-duplicates: the id of each, with the similar document of its collection."""
        return self._store.documents.near_duplicates(self._user)

    def original(self, document_id: str) -> Path:
        """Return the original file of a document, if it is stored. Copy the file, do not change it."""
        return self._store.originals.find(self._user, self.document(document_id).id)

    def collections(self) -> list[dict[str, Any]]:
        """Return the collections with their options and number of documents."""
        return describe_collections(self._store.collections, self._user)

    def check_collection(self, name: str) -> None:
        """Raise if the collection does not exist."""
        check_collection(self._store.collections, self._user, name)

    @property
    def generation(self) -> int | None:
        """The number of the current generation."""
        serving = self._store.generations.serving(self._user)
        return serving.pk if serving else None

    def outdated(self) -> list[Document]:
        """Return documents that were made by an older parser, or with another chunker or model than the current one."""
        return self._reindexing.outdated()

    def count_outdated(self) -> int:
        """Return the number of `outdated` documents; count again only after the library changed."""
        return self._reindexing.count_outdated()

    def counts(self) -> dict[str, Any]:
        """Count the documents, chunks, characters and bytes of the library."""
        return self._store.documents.counts(self._user)

    def status(self) -> dict[str, Any]:
        """Return the contents, models and size of the library."""
        named = {"library": str(self.folder), "user": self._user}
        return {**named, **library_status(self._store, self._user, self.settings.embedder)}

    @property
    def index_failure(self) -> ErrorInfo | None:
        """Return why a remote index missed the last changes; it catches up when it is back."""
        return self._store.index_failure

    # ── change

    def set_collection(self, name: str, **options: Unpack[CollectionOptions]) -> None:
        """Set a collection's chunker and system prompt; they apply to documents added from now on."""
        self._context.set_collection(name, options)

    def delete(self, *document_ids: str, **options: Unpack[DeleteOptions]) -> list[str]:
        """Delete documents by id, source, checksum or collection, with the collection. Return the deleted ids.

        `compact` and `scrub` are the options of `compact`.
        """
        return self._removal.delete(document_ids, options)

    def compact(self, *, scrub: bool = False) -> None:
        """Remove every byte of deleted documents from the folder.

        In PostgreSQL this frees space without blocking others. With `scrub` the tables are rewritten, so no page
        contains deleted text; each table is locked for all tenants meanwhile.
        """
        self._removal.compact(scrub=scrub)

    def reindex(self, **options: Unpack[ReindexOptions]) -> dict[str, object]:
        """Build the next generation from stored text beside the current one, then switch in one step.

        `gate` gets the number of the new generation before the switch. It may inspect it with `at_generation`, and
        raises an error to refuse it.
        """
        return self._reindexing.reindex(options)

    def rollback(self, *, on_progress: OnProgress | None = None) -> dict[str, Any]:
        """Switch back to the kept generation, after adding newer documents to it."""
        return self._reindexing.rollback(on_progress)

    def verify(self, *, repair: bool = False) -> Verification:
        """Check pages, spans, vectors and both indexes against each other; with `repair`, rebuild what is damaged."""
        with self._context.writing("verifying") if repair else nullcontext():
            return self._store.verify(self._user, repair=repair)

    def refresh(self) -> None:
        """Read the changes of other processes. After the first call, searches no longer check for them."""
        self._store.refresh(self._user)

    def settle(self, *, on_progress: OnProgress | None = None) -> None:
        """Wait for background builds to finish."""
        self._context.finish_graph(on_progress or quiet)

    # ── move

    def backup(self, file: str | Path, *, keep: int | None = None) -> BackupSnapshot:
        """Add a snapshot of the whole library, with all tenants, to a backup file; `keep` drops older snapshots.

        Others may read and write meanwhile. Unchanged data is not stored again.
        """
        return backup_library(self.settings, self.folder, Path(file).expanduser(), keep=keep)

    def export(self, file: str | Path, *, collection: str | None = None) -> dict[str, int]:
        """Write documents and chunks as JSON Lines: of the whole library, or of a collection."""
        where = in_collection(None, collection)
        return export_library(self._store, self._user, Path(file).expanduser(), where=where)

    def exporting(self, *, collection: str | None = None) -> Iterator[str]:
        """Yield the lines of an export."""
        return export_lines(self._store, self._user, where=in_collection(None, collection))

    def import_(
        self, file: str | Path, *, collection: str | None = None, on_progress: OnProgress | None = None
    ) -> Imported:
        """Import an export, into `collection` if given. Never overwrites."""
        return import_library(self._context, Path(file).expanduser(), collection, on_progress)

    def import_from(self, source: str, **options: Unpack[ImportChoices]) -> ImportResult:
        """Import a collection of another tool: `chroma://…`, `chroma:FOLDER#NAME`, `qdrant://…` or `json:FILE`.

        Appends, never overwrites.
        """
        from footnotes.ingest.importing.importer import import_collection

        return import_collection(self._context, source, options)

    # ── parts

    def _build_asking(self, searcher: Searcher) -> Asking:
        ground = Ground(self._store, self._user, searcher, self._embedders)
        return Asking(ground, self.settings, self._answerer)

    def _stored_dimensions(self, embedder: str) -> int | None:
        serving = self._store.generations.serving(self._user)
        return serving.dimensions if serving is not None and serving.embedder == embedder else None


def _expand(folder: str | Path | None) -> Path | None:
    return None if folder is None else Path(folder).expanduser()
