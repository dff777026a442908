"""Collections that follow a folder, a repository or a wiki."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from footnotes.errors import FootnotesError, OptionError
from footnotes.ingest.context import IngestContext
from footnotes.ingest.ingestor import IngestTarget, MetadataOf
from footnotes.ingest.sources.open import SourceAccess, is_source, open_source
from footnotes.ingest.sources.sync import SourceSync
from footnotes.ingest.sync import FolderSync, synced
from footnotes.ingest.watch import watch_folder, watch_source
from footnotes.ingest.work import OnProgress, quiet
from footnotes.types import Followed, Synced

if TYPE_CHECKING:
    from footnotes.ingest.wiki.pages import Vocabulary


class FollowOptions(TypedDict, total=False):
    """How a collection follows something."""

    collection: str | None
    metadata: MetadataOf
    delete_all: bool
    """Empty the collection if every file is gone: without it, that is an error."""
    on_progress: OnProgress | None


class SyncOptions(FollowOptions, total=False):
    """How a collection follows a folder."""

    chunker: str | None
    chunker_options: Mapping[str, object] | None
    dry_run: bool
    on_file: Callable[[Followed], None] | None
    options: Mapping[str, str] | None
    """Options of a source that is named by its address: docs/sources.md."""
    access: SourceAccess | None
    """What the address may reach; by default everything that the caller may."""


class CodeOptions(FollowOptions, total=False):
    """How a collection follows a repository."""

    chunker: str | None
    chunker_options: Mapping[str, object] | None
    untracked: bool
    """Also files that git neither tracks nor ignores."""


class WikiOptions(FollowOptions, total=False):
    """How a collection follows a wiki."""

    repository: str | Path | None
    """The source that the pages describe."""
    analysis: str | Path | None
    """A prepared analysis of that source, in a file."""


class Following:
    """Follows sources for one tenant of a library."""

    def __init__(self, context: IngestContext) -> None:
        self._context = context

    def sync(self, source: str | Path, options: SyncOptions) -> Synced:
        """Make one pass over a folder, or over a source given by its address."""
        target = self._target(options, options.get("chunker"), options.get("chunker_options"))
        dry_run, delete_all = options.get("dry_run", False), options.get("delete_all", False)
        on_file = options.get("on_file") or quiet
        if is_source(str(source)):
            with self._open(str(source), target, options) as following:
                done = synced(following, dry_run=dry_run, delete_all=delete_all, on_file=on_file)
        elif options.get("options"):
            raise OptionError("a folder has no options", remedy="Options apply to sources with an address.")
        else:
            folder = FolderSync(self._context.ingestor, target, Path(source))
            with nullcontext() if dry_run else self._context.writing("following a folder"):
                done = synced(folder, dry_run=dry_run, delete_all=delete_all, on_file=on_file)
        if not dry_run and any(done.counts[kind] for kind in ("added", "changed")):
            self._context.finish_graph(options.get("on_progress"))
        return done

    @contextmanager
    def _open(self, address: str, target: IngestTarget, options: SyncOptions) -> Iterator[SourceSync]:
        """Make one pass over a source; the library is locked while documents are written, not while they are read."""
        source_options, access = options.get("options"), options.get("access")
        with open_source(address, self._context.settings, options=source_options, access=access) as source_and_address:
            yield SourceSync(
                self._context.ingestor,
                target,
                source_and_address,
                writing=lambda: self._context.writing("following a source"),
                on_progress=options.get("on_progress"),
            )

    def watch(
        self, source: str | Path, stop: threading.Event | None, every: float, options: SyncOptions
    ) -> Iterator[Synced | FootnotesError]:
        """Yield a pass after every change of a folder, or `every` so many seconds for a source, until `stop` is set."""
        ended = stop or threading.Event()
        if is_source(str(source)):
            return watch_source(lambda: self.sync(source, options), every=every, stop=ended)
        root = Path(source).expanduser()
        return watch_folder(lambda: self.sync(root, options), root, avoid=self._context.folder, stop=ended)

    def add_code(self, repository: str | Path, options: CodeOptions) -> Iterator[Followed]:
        """Ingest the source of a repository, and later what its commits have changed."""
        from footnotes.ingest.code.sync import RepositorySync

        target = self._target(options, options.get("chunker"), options.get("chunker_options"))

        def build() -> FolderSync:
            untracked = options.get("untracked", False)
            return RepositorySync(self._context.ingestor, target, Path(repository), untracked=untracked)

        return self._follow("following a repository", build, options)

    def add_wiki(self, folder: str | Path, options: WikiOptions) -> Iterator[Followed]:
        """Ingest pages that describe a repository, and later the changed ones."""
        from footnotes.ingest.wiki.pages import WikiSync

        vocabulary = self._vocabulary(options.get("repository"), options.get("analysis"))
        target = self._target(options)

        def build() -> FolderSync:
            return WikiSync(self._context.ingestor, target, Path(folder), vocabulary)

        return self._follow("following a wiki", build, options)

    def _target(
        self, options: FollowOptions, chunker: str | None = None, chunker_options: Mapping[str, object] | None = None
    ) -> IngestTarget:
        name = self._context.collection(options.get("collection"))
        return self._context.target(name, options.get("metadata"), chunker, chunker_options, options.get("on_progress"))

    def _follow(self, purpose: str, build: Callable[[], FolderSync], options: FollowOptions) -> Iterator[Followed]:
        done = False
        with self._context.writing(purpose):
            one = build()
            for file in one.run(one.plan(delete_all=options.get("delete_all", False))):
                done = done or file.status in ("added", "changed")
                yield file
        if done:
            self._context.finish_graph(options.get("on_progress"))

    def _vocabulary(self, repository: str | Path | None, analysis: str | Path | None) -> Vocabulary:
        """Return the names that pages are compared with."""
        from footnotes.ingest.wiki.analysis import RepositoryAnalysis, analyse_repository, load_analysis
        from footnotes.ingest.wiki.pages import Vocabulary

        if repository is not None and analysis is not None:
            raise OptionError("repository and analysis cannot be combined; pass one")
        if analysis is not None:
            return Vocabulary.from_analysis(load_analysis(Path(analysis).expanduser()))
        if repository is not None:
            context = self._context
            return Vocabulary.from_analysis(
                analyse_repository(Path(repository), context.settings.layers, context.limits())
            )
        return Vocabulary.from_analysis(RepositoryAnalysis())
