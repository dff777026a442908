"""Adds documents to the library: paths, addresses, texts and uploads, with a journal of running work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

from footnotes.errors import NotFound, OptionError, SourceUnreadable
from footnotes.fetch.url import is_url
from footnotes.ingest.archive import is_archive
from footnotes.ingest.context import IngestContext
from footnotes.ingest.drafting import CUT_BY_RULES
from footnotes.ingest.ingestor import IngestTarget, MetadataOf
from footnotes.ingest.journal import Journal, unfinished_runs
from footnotes.ingest.names import as_text, check_metadata, lasting, safe_filename
from footnotes.ingest.reindexing import Reindexing
from footnotes.ingest.texts import in_order, on_disk, text_sources
from footnotes.ingest.walk import Skipped, resolve_path, walk
from footnotes.ingest.work import NewSource, OnProgress, both
from footnotes.store.files import write_bytes
from footnotes.types import Added, Metadata


class AddOptions(TypedDict, total=False):
    """How documents are added."""

    collection: str | None
    metadata: MetadataOf
    """Set on every document; a function is called for each path."""
    chunker: str | None
    chunker_options: Mapping[str, object] | None
    on_progress: OnProgress | None


class TextOptions(TypedDict, total=False):
    """How one text is added."""

    collection: str | None
    metadata: Metadata | None
    source: str | None
    """Its permanent name: the same source again replaces it."""
    keep_original: bool | None
    """Whether to store the original; None follows the settings."""


class TextsOptions(TypedDict, total=False):
    """How many texts are added."""

    filenames: Sequence[str] | None
    sources: Sequence[str] | None
    """The permanent names of the texts: the same source again is the next version. Without one, a text is named by its
    file name, and without that by its content."""
    metadata: Metadata | Sequence[Metadata] | None
    """One mapping for all, or one for each."""
    collection: str | None
    on_progress: OnProgress | None


class UploadOptions(TypedDict, total=False):
    """How an upload is added."""

    collection: str | None
    metadata: Metadata | None
    source: str | None
    deleted: Sequence[str]
    """Sources that must not be added again: members of an archive that were deleted."""
    chunker: str | None
    chunker_options: Mapping[str, object] | None
    rename: bool
    """A document with the same bytes gets the new filename and metadata."""
    renew: bool
    """Parse, chunk and embed it again although the same bytes are stored."""


class Adding:
    """Adds documents for one tenant of a library."""

    def __init__(self, context: IngestContext, reindexing: Reindexing) -> None:
        self._context = context
        self._reindexing = reindexing
        self._store, self._user = context.store, context.user

    def add(self, paths: Sequence[str | Path], options: AddOptions) -> Iterator[Added]:
        """Add files, folders and addresses; yield each result as soon as it is final."""
        metadata, chunker_options = options.get("metadata"), options.get("chunker_options")
        request = {
            "paths": [as_text(lasting(path)) for path in paths],
            "collection": options.get("collection"),
            "metadata": None if callable(metadata) else metadata,
            "chunker": options.get("chunker"),
            "chunker_options": dict(chunker_options) if chunker_options else None,
        }
        yield from self._add(paths, request, metadata, options.get("on_progress"))

    def _add(
        self,
        paths: Sequence[str | Path],
        request: Mapping[str, Any],
        metadata: MetadataOf,
        on_progress: OnProgress | None,
        run: int = 0,
    ) -> Iterator[Added]:
        context = self._context
        name = context.collection(request["collection"])
        chunker_of = context.chunker_of(request["chunker"], request["chunker_options"])
        chunker_of(name, "text/plain")  # a wrong name or option is an error before anything is read
        for path in paths:
            if not str(path):
                raise OptionError("a path is empty", remedy="Pass a file or folder; `.` is this folder.")
        with ExitStack() as held:
            held.enter_context(context.writing("adding documents"))
            with self._reindexing.journal("add", request, run) as journal:
                progress = both(journal.progress, on_progress)
                target = context.target(name, metadata, request["chunker"], request["chunker_options"], progress)
                for added in self._results(paths, target, frozenset(request.get("deleted", ())), journal, held.close):
                    journal.settle(added)
                    yield added
        context.finish_graph(on_progress)

    def _results(
        self,
        paths: Sequence[str | Path],
        target: IngestTarget,
        deleted: frozenset[str],
        journal: Journal,
        release: Callable[[], None],
    ) -> Iterator[Added]:
        """Add files and folders, then release the library and add addresses: fetching pages does not hold it."""
        addresses = [str(lasting(path)) for path in paths if is_url(str(path))]
        found: list[NewSource] = []
        for path in paths:
            if not is_url(str(path)):
                yield from self._gather(Path(path).expanduser(), target.collection, target.metadata, found)
        if deleted:
            found = [replace(origin, deleted=deleted) for origin in found]
        present = [origin for origin in found if not origin.is_deleted]
        journal.expect(origin.source for origin in present if not is_archive(origin.path, origin.filename))
        yield from self._context.ingestor.ingest(found, target)
        release()
        for address in addresses:
            yield from self._context.ingestor.pages(address, target)

    def _gather(self, path: Path, collection: str, metadata: MetadataOf, found: list[NewSource]) -> Iterator[Added]:
        """Collect the files of a path in `found`; yield those that are skipped, and why."""
        folders: dict[str, str] = {}
        shared = None if callable(metadata) else check_metadata(metadata or {})
        try:
            for item in walk(path, avoid=self._context.folder):
                if isinstance(item, Skipped):
                    yield Added(as_text(item.path), None, "skipped", 0, None, (item.reason,))
                else:
                    item_metadata = check_metadata(metadata(item)) if callable(metadata) else shared or {}
                    source, name = as_text(resolve_path(item, folders)), as_text(item.name)
                    found.append(NewSource(item, source, name, collection, item_metadata))
        except SourceUnreadable as error:
            yield Added(as_text(path), None, "failed", 0, error.info())

    def resume(self, on_progress: OnProgress | None) -> Iterator[Added]:
        """Continue interrupted work, and retry temporary failures."""
        with self._context.writing("resuming"):
            numbers = [job.number for job in unfinished_runs(self._store.jobs.all(self._user))]
        for number in numbers:
            job = next((job for job in self._store.jobs.all(self._user) if job.number == number), None)
            if job is None:  # its documents were deleted in the meantime
                continue
            request: dict[str, Any] = dict(job.request)
            if job.kind == "reindex":
                if not request.get("gated"):  # a gate needs the caller: it must start the reindex again
                    with suppress(NotFound):  # there is nothing to index; the journal records that
                        self._reindexing.rebuild(request, None, on_progress, job.number)
                continue
            yield from self._add(request["paths"], request, request["metadata"], on_progress, job.number)
        with self._context.writing("resuming"):
            yield from self._context.pipeline(on_progress).add([], self._context.chunker_of())
        outdated = self._reindexing.outdated()
        if any(each.startswith(CUT_BY_RULES) for document in outdated for each in document.warnings):
            self._reindexing.reindex({"outdated": True, "on_progress": on_progress})
        self._context.finish_graph(on_progress)

    def add_text(self, text: str | bytes, filename: str, options: TextOptions) -> Added:
        """Add a text, or the bytes of a file."""
        name, safe = self._context.collection(options.get("collection")), safe_filename(filename)
        source_name = as_text(options.get("source") or f"text:{safe}")
        metadata = check_metadata(options.get("metadata") or {})
        with self._context.writing("adding a text"):
            path = self._store.incoming(self._user) / "content"
            write_bytes(path, text.encode("utf-8", "replace") if isinstance(text, str) else text)
            source = NewSource(path, source_name, safe, name, metadata)
            target = self._context.target(name, metadata)
            (added,) = self._context.ingestor.ingest_files([source], target, keep=options.get("keep_original"))
        self._context.finish_graph(None)
        return added

    def add_texts(self, texts: Sequence[str], options: TextsOptions) -> list[Added]:
        """Add many texts at once; return their results in the same order."""
        name = self._context.collection(options.get("collection"))
        with self._context.writing("adding texts"):
            sources = text_sources(
                texts,
                self._store.incoming(self._user),
                name,
                filenames=options.get("filenames"),
                sources=options.get("sources"),
                metadata=options.get("metadata"),
            )
            if self._context.settings.keep_originals:
                sources = [on_disk(source) for source in sources]
            target = self._context.target(name, on_progress=options.get("on_progress"))
            once = list({source.source: source for source in sources}.values())  # a text without a name may occur twice
            done = self._context.ingestor.ingest_files(once, target)
            found = in_order(done, [source.source for source in sources])
        self._context.finish_graph(options.get("on_progress"))
        return found

    def build_source(self, path: Path, filename: str, options: UploadOptions) -> NewSource:
        """Add an uploaded file that was checked and is ready for `add_files`."""
        safe, name = safe_filename(filename), self._context.collection(options.get("collection"))
        source_name, metadata = (
            as_text(options.get("source") or f"text:{safe}"),
            check_metadata(options.get("metadata") or {}),
        )
        chunker = options.get("chunker")
        cut_by = (
            self._context.chunker_of(chunker, options.get("chunker_options"))(name, "text/plain") if chunker else None
        )
        gone, rename = frozenset(options.get("deleted", ())), options.get("rename", False)
        renew = options.get("renew", False)
        return NewSource(
            path, source_name, safe, name, metadata, deleted=gone, chunker=cut_by, rename=rename, renew=renew
        )

    def add_files(self, files: Sequence[NewSource], on_progress: OnProgress | None) -> Iterator[Added]:
        """Add uploads to one collection; archives among them member by member."""
        if not files:
            return
        with self._context.writing("adding uploads"):
            target = self._context.target(files[0].collection, on_progress=on_progress)
            yield from self._context.ingestor.ingest(files, target)
        self._context.finish_graph(None)
