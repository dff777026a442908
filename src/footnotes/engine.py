"""Composes the stages: one library, ready to add to, search and ask."""

from __future__ import annotations

import json
import logging
import re
import shutil
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import asdict, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from footnotes import tracing
from footnotes.answer import Answerer, last_answer
from footnotes.answer.answerer import EXTRACTIVE
from footnotes.answer.models import ChatModel
from footnotes.answer.sources import sources_of
from footnotes.asking import Asking, AskOptions, as_turns, changed_settings
from footnotes.asking.ground import LibraryGround
from footnotes.asking.reranking import Reranking
from footnotes.asking.say import saying
from footnotes.chunk import Chunker
from footnotes.chunk.contextual import ContextualChunker, text_hash
from footnotes.config import Settings, load
from footnotes.embed import Embedder
from footnotes.embed.checked import QUERY_ATTEMPTS, embed_all, embed_one
from footnotes.embed.make import make_embedder
from footnotes.embed.metric import by_dot_product
from footnotes.errors import (
    DimensionMismatch,
    FootnotesError,
    NotFound,
    OptionError,
    ReindexRefused,
    SearchUnavailable,
    SourceUnreadable,
)
from footnotes.fetch.url import is_url
from footnotes.index import Vector
from footnotes.ingest.archive import is_archive
from footnotes.ingest.backup import backup_library
from footnotes.ingest.choosing import Choices, Chunkers
from footnotes.ingest.derive import ChunkerOf
from footnotes.ingest.journal import Journal, unfinished_runs
from footnotes.ingest.names import as_text, checked_collection, checked_metadata, lasting, safe_filename
from footnotes.ingest.pipeline import CUT_BY_RULES, Pipeline
from footnotes.ingest.reindex import Reindex
from footnotes.ingest.sync import FolderSync, synced
from footnotes.ingest.take import Place, Taking
from footnotes.ingest.texts import in_order, on_disk, text_sources
from footnotes.ingest.transfer import Imported, export_library, export_lines, import_library, is_imported
from footnotes.ingest.walk import Skipped, resolved, walk
from footnotes.ingest.watch import watching
from footnotes.ingest.work import NewSource, OnProgress, Progress, both, embedding_input, input_hash, quiet
from footnotes.parse.open import Limits
from footnotes.retrieve.expand import merged_hits, variants_of
from footnotes.retrieve.rerankers.make import Parts
from footnotes.retrieve.retriever import Retriever, SearchOptions, checked_query
from footnotes.retrieve.where import Where, as_filter
from footnotes.retrieve.where import both as all_of
from footnotes.retrieve.words import split_words
from footnotes.store import SearchView, Store
from footnotes.store.backup import BackupSnapshot
from footnotes.store.files import write_bytes
from footnotes.store.groups.conversations import Conversations
from footnotes.store.make import open_store
from footnotes.store.memories import Memories, Memory
from footnotes.store.originals import add_originals
from footnotes.store.records import Verification
from footnotes.types import (
    Added,
    AllOf,
    Answer,
    Block,
    Chunk,
    Condition,
    Document,
    ErrorInfo,
    Event,
    Filter,
    Followed,
    Job,
    JobKind,
    Metadata,
    NearDuplicate,
    Role,
    SearchResult,
    Synced,
    Turn,
)

if TYPE_CHECKING:
    from footnotes.ingest.importing.records import TakenOver
    from footnotes.ingest.wiki.pages import Vocabulary

_LOG = logging.getLogger("footnotes.retrieve")
FORMER_CONTEXTS = "contexts"
"""The folder in which an earlier version kept what models said of texts; nothing reads it any more."""


class Library:
    """One tenant's documents in a folder. Safe to use from several threads; close it, or use it as a context.

    Libraries of several tenants may share one `store`; whoever opened it closes it after them.
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
        self.settings = settings or load(_expanded(folder))
        tracing.set_up(self.settings.otel_endpoint)
        self.folder = _expanded(folder) or Path(self.settings.library).expanduser()
        self._store = store or open_store(self.settings, self.folder, create=create)
        self._shares_store = store is not None
        self._user = self.settings.user
        self._retriever = Retriever()
        self._embedders: dict[str, Embedder] = {}
        if embedder is not None:
            self.settings = replace(self.settings, embedder=embedder.name)
            self._embedders[embedder.name] = self._expected(embedder)
        self._answerer = Answerer(self.settings)
        ground = LibraryGround(self, self._view, self._user)
        self._asking = Asking(ground, self.settings, self._answerer)
        self._reranking = Reranking(self.settings, self._reranker_parts)
        self._taking = Taking(self._store, self._user, self.settings)
        self._chunkers = Chunkers(self.settings, self._chunker_parts, self._with_contexts)
        self._guard = threading.Lock()
        self._local = threading.local()
        self._outdated: tuple[str, int] | None = None
        self._store.recover_if_idle(self._user)

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder."""
        self._retriever.close()
        self._reranking.close()
        self._answerer.close()
        if not self._shares_store:
            self._store.close()

    # ── add

    def add(
        self,
        *paths: str | Path,
        collection: str | None = None,
        metadata: Metadata | Callable[[Path], Metadata] | None = None,
        chunker: str | None = None,
        chunker_options: Mapping[str, Any] | None = None,
        on_progress: OnProgress | None = None,
    ) -> list[Added]:
        """Take in files and folders. One that cannot be taken in is reported and does not stop the others.

        `metadata` is given to every document; as a function it is asked for each path.
        """
        stream = self.adding(
            *paths,
            collection=collection,
            metadata=metadata,
            chunker=chunker,
            chunker_options=chunker_options,
            on_progress=on_progress,
        )
        return list(stream)

    def adding(
        self,
        *paths: str | Path,
        collection: str | None = None,
        metadata: Metadata | Callable[[Path], Metadata] | None = None,
        chunker: str | None = None,
        chunker_options: Mapping[str, Any] | None = None,
        on_progress: OnProgress | None = None,
    ) -> Iterator[Added]:
        """As `add`, giving each result as soon as it is final."""
        request = {
            "paths": [as_text(lasting(path)) for path in paths],
            "collection": collection,
            "metadata": None if callable(metadata) else metadata,
            "chunker": chunker,
            "chunker_options": dict(chunker_options) if chunker_options else None,
        }
        yield from self._adding(paths, collection, metadata, chunker, chunker_options, on_progress, request)

    def _adding(
        self,
        paths: Sequence[str | Path],
        collection: str | None,
        metadata: Metadata | Callable[[Path], Metadata] | None,
        chunker: str | None,
        chunker_options: Mapping[str, Any] | None,
        on_progress: OnProgress | None,
        request: Mapping[str, Any],
        run: int = 0,
    ) -> Iterator[Added]:
        name = checked_collection(collection or self.settings.collection)
        chunker_of = self._chunker_of(chunker, chunker_options)
        chunker_of(name, "text/plain")  # a wrong name or option is an error before anything is read
        for path in paths:
            if not str(path):
                raise OptionError("a path to add is empty", remedy="Name a file or folder; `.` is this folder.")
        with ExitStack() as held:
            held.enter_context(self._store.writing(self._user, "adding documents"))
            with self._journal("add", request, run) as journal:
                found: list[NewSource] = []
                place = Place(name, metadata, chunker_of, self._pipeline(both(journal.progress, on_progress)))
                for path in paths:
                    if is_url(str(path)):
                        continue
                    for added in self._gather(Path(path).expanduser(), name, metadata, found):
                        journal.settle(added)
                        yield added
                if deleted := frozenset(request.get("deleted", ())):
                    found = [replace(origin, deleted=deleted) for origin in found]
                kept = [origin for origin in found if not origin.is_deleted]
                journal.expect(origin.source for origin in kept if not is_archive(origin.path, origin.filename))
                for added in self._taking.taken(found, place):
                    journal.settle(added)
                    yield added
                held.close()  # nobody waits for the library while pages are fetched
                for address in filter(is_url, (str(lasting(path)) for path in paths if is_url(str(path)))):
                    for added in self._taking.pages(address, place):
                        journal.settle(added)
                        yield added
        self._finish_graph(on_progress)

    def resume(self, *, on_progress: OnProgress | None = None) -> list[Added]:
        """Go on with what was cut off, and try again what failed in a way that may pass."""
        return list(self.resuming(on_progress=on_progress))

    def resuming(self, *, on_progress: OnProgress | None = None) -> Iterator[Added]:
        """As `resume`, giving each result as soon as it is final."""
        with self._store.writing(self._user, "resuming"):
            numbers = [job.number for job in unfinished_runs(self.jobs())]
        for number in numbers:
            job = next((job for job in self.jobs() if job.number == number), None)
            if job is None:  # what it was about was deleted meanwhile
                continue
            request: dict[str, Any] = dict(job.request)
            if job.kind == "reindex":
                if not request.get("gated"):  # whoever set a gate has to be asked again
                    with suppress(NotFound):  # there is nothing to index; the journal says so
                        self._rebuild(request, None, on_progress, job.number)
                continue
            options = (request["collection"], request["metadata"], request["chunker"], request["chunker_options"])
            yield from self._adding(request["paths"], *options, on_progress, request, job.number)
        with self._store.writing(self._user, "resuming"):
            yield from self._pipeline(on_progress).add([], self._chunker_of())
        if any(each.startswith(CUT_BY_RULES) for document in self.outdated() for each in document.warnings):
            self.reindex(outdated=True, on_progress=on_progress)
        self._finish_graph(on_progress)

    def jobs(self) -> list[Job]:
        """The journal: runs and their files, oldest first."""
        return self._store.jobs.all(self._user)

    def _journal(self, kind: JobKind, request: Mapping[str, Any], run: int = 0) -> Journal:
        what = ", ".join(map(str, request.get("paths") or [])) or str(request.get("collection") or "everything")
        return Journal(self._store, self._user, kind=kind, source=what, request=request, run=run)

    def add_text(
        self,
        text: str | bytes,
        *,
        filename: str,
        collection: str | None = None,
        metadata: Metadata | None = None,
        source: str | None = None,
        keep_original: bool | None = None,
    ) -> Added:
        """Take in a text or the bytes of a file under a name. The same `source` again replaces it.

        `keep_original` keeps the bytes too; nothing means as the settings say.
        """
        name = checked_collection(collection or self.settings.collection)
        safe = safe_filename(filename)
        named, said = as_text(source or f"text:{safe}"), checked_metadata(metadata or {})
        with self._store.writing(self._user, "adding a text"):
            path = self._store.incoming(self._user) / "content"
            write_bytes(path, text.encode("utf-8", "replace") if isinstance(text, str) else text)
            origin = NewSource(path, named, safe, name, said)
            place = Place(name, said, self._chunker_of(), self._pipeline(None))
            (added,) = self._taking.taken_as_they_are([origin], place, keep=keep_original)
        self._finish_graph(None)
        return added

    def add_texts(
        self,
        texts: Sequence[str],
        *,
        filenames: Sequence[str] | None = None,
        sources: Sequence[str] | None = None,
        metadata: Metadata | Sequence[Metadata] | None = None,
        collection: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> list[Added]:
        """Take in many texts at once; what became of each comes back in their order.

        `sources` name them for good: the same one again is the next version. Without one a text is named by its file
        name, and without that by what it says. `metadata` is one mapping for all, or one for each.
        """
        name = checked_collection(collection or self.settings.collection)
        with self._store.writing(self._user, "adding texts"):
            folder = self._store.incoming(self._user)
            origins = text_sources(texts, folder, name, filenames=filenames, sources=sources, metadata=metadata)
            if self.settings.keep_originals:
                origins = [on_disk(origin) for origin in origins]
            place = Place(name, None, self._chunker_of(), self._pipeline(on_progress))
            once = list({origin.source: origin for origin in origins}.values())  # a text without a name may stand twice
            found = in_order(self._taking.taken_as_they_are(once, place), [origin.source for origin in origins])
        self._finish_graph(on_progress)
        return found

    def handed_over(
        self,
        path: Path,
        *,
        filename: str,
        collection: str | None = None,
        metadata: Metadata | None = None,
        source: str | None = None,
        deleted: Sequence[str] = (),
        chunker: str | None = None,
        chunker_options: Mapping[str, Any] | None = None,
        rename: bool = False,
    ) -> NewSource:
        """A file that was handed over, as an upload is, checked and ready for `adding_files`.

        `deleted` are marks of sources that are not to be brought back: members of an archive that were deleted. With
        `rename`, a document with the same bytes takes over the filename and the metadata.
        """
        safe = safe_filename(filename)
        name = checked_collection(collection or self.settings.collection)
        named, said = as_text(source or f"text:{safe}"), checked_metadata(metadata or {})
        cut_by = self._chunker_of(chunker, chunker_options)(name, "text/plain") if chunker else None
        gone = frozenset(deleted)
        return NewSource(path, named, safe, name, said, deleted=gone, chunker=cut_by, rename=rename)

    def adding_files(self, files: Sequence[NewSource], *, on_progress: OnProgress | None = None) -> Iterator[Added]:
        """Take in files that were handed over for one collection; archives among them member by member."""
        if not files:
            return
        with self._store.writing(self._user, "adding uploads"):
            place = Place(files[0].collection, None, self._chunker_of(), self._pipeline(on_progress))
            yield from self._taking.taken(files, place)
        self._finish_graph(None)

    # ── follow

    def sync(
        self,
        folder: str | Path,
        *,
        collection: str | None = None,
        metadata: Metadata | Callable[[Path], Metadata] | None = None,
        chunker: str | None = None,
        chunker_options: Mapping[str, Any] | None = None,
        dry_run: bool = False,
        delete_all: bool = False,
        on_file: Callable[[Followed], None] | None = None,
        on_progress: OnProgress | None = None,
    ) -> Synced:
        """Make a collection follow a folder: new, changed, renamed and deleted files; nothing from elsewhere.

        A folder that is missing is an error, and one whose files are all gone is only emptied with `delete_all`.
        """
        name = checked_collection(collection or self.settings.collection)
        place = Place(name, metadata, self._chunker_of(chunker, chunker_options), self._pipeline(on_progress))
        one = FolderSync(
            self._store,
            self._user,
            self._taking,
            place,
            Path(folder),
            max_file_bytes=self.settings.max_file_bytes,
        )
        with nullcontext() if dry_run else self._store.writing(self._user, "following a folder"):
            done = synced(one, dry_run=dry_run, delete_all=delete_all, on_file=on_file or quiet)
        if not dry_run and any(done.counts[kind] for kind in ("added", "changed")):
            self._finish_graph(on_progress)
        return done

    def add_code(self, repository: str | Path, **options: Any) -> list[Followed]:
        """Take in the source of a repository; called again, follow what the commits since have changed.

        Options are those of `adding_code`.
        """
        return list(self.adding_code(repository, **options))

    def adding_code(
        self,
        repository: str | Path,
        *,
        collection: str | None = None,
        metadata: Metadata | Callable[[Path], Metadata] | None = None,
        chunker: str | None = None,
        chunker_options: Mapping[str, Any] | None = None,
        untracked: bool = False,
        delete_all: bool = False,
        on_progress: OnProgress | None = None,
    ) -> Iterator[Followed]:
        """As `add_code`, giving each file as soon as it is final.

        Files that git tracks; with `untracked` also those it neither tracks nor ignores. A folder without git is
        walked. A repository whose files are all gone is only emptied with `delete_all`.
        """
        from footnotes.ingest.code.sync import RepositorySync

        name = checked_collection(collection or self.settings.collection)
        place = Place(name, metadata, self._chunker_of(chunker, chunker_options), self._pipeline(on_progress))
        done = False
        with self._store.writing(self._user, "following a repository"):
            one = RepositorySync(
                self._store,
                self._user,
                self._taking,
                place,
                Path(repository),
                layers=self.settings.layers,
                untracked=untracked,
                max_file_bytes=self.settings.max_file_bytes,
            )
            for file in one.run(one.plan(delete_all=delete_all)):
                done = done or file.status in ("added", "changed")
                yield file
        if done:
            self._finish_graph(on_progress)

    def add_wiki(self, folder: str | Path, **options: Any) -> list[Followed]:
        """Take in pages that describe a repository; called again, follow what changed. Options as of `adding_wiki`."""
        return list(self.adding_wiki(folder, **options))

    def adding_wiki(
        self,
        folder: str | Path,
        *,
        repository: str | Path | None = None,
        analysis: str | Path | None = None,
        collection: str | None = None,
        metadata: Metadata | Callable[[Path], Metadata] | None = None,
        delete_all: bool = False,
        on_progress: OnProgress | None = None,
    ) -> Iterator[Followed]:
        """As `add_wiki`, giving each page as soon as it is final.

        What is known of the repository comes from its source in the folder `repository`, or from a prepared
        `analysis` in a file; without either, pages are cut by their sections all the same.
        """
        from footnotes.ingest.wiki.sync import WikiSync

        name = checked_collection(collection or self.settings.collection)
        vocabulary = self._vocabulary(repository, analysis)
        place = Place(name, metadata, self._chunker_of(), self._pipeline(on_progress))
        done = False
        with self._store.writing(self._user, "following a wiki"):
            one = WikiSync(
                self._store,
                self._user,
                self._taking,
                place,
                Path(folder),
                vocabulary=vocabulary,
                layers=self.settings.layers,
                max_file_bytes=self.settings.max_file_bytes,
            )
            for file in one.run(one.plan(delete_all=delete_all)):
                done = done or file.status in ("added", "changed")
                yield file
        if done:
            self._finish_graph(on_progress)

    def _vocabulary(self, repository: str | Path | None, analysis: str | Path | None) -> Vocabulary:
        """The names pages are compared with."""
        from footnotes.ingest.wiki.analysis import RepositoryAnalysis, analysed_repository, prepared_analysis
        from footnotes.ingest.wiki.pages import Vocabulary

        if repository is not None and analysis is not None:
            raise OptionError("a repository and an analysis of it say the same; name one")
        if analysis is not None:
            return Vocabulary.of(prepared_analysis(Path(analysis).expanduser()))
        if repository is not None:
            return Vocabulary.of(analysed_repository(Path(repository), self.settings.layers, self._limits()))
        return Vocabulary.of(RepositoryAnalysis())

    def watch(
        self, folder: str | Path, *, stop: threading.Event | None = None, **options: Any
    ) -> Iterator[Synced | FootnotesError]:
        """Follow a folder as it changes, with the options of `sync`, until `stop` is set.

        Gives what each pass did, or why one could not be made; the next is tried all the same.
        """
        root = Path(folder).expanduser()
        ended = stop or threading.Event()
        return watching(lambda: self.sync(root, **options), root, avoid=self.folder, stop=ended)

    def _gather(
        self,
        path: Path,
        collection: str,
        metadata: Metadata | Callable[[Path], Metadata] | None,
        found: list[NewSource],
    ) -> Iterator[Added]:
        folders: dict[Path, Path] = {}
        try:
            for item in walk(path, avoid=self.folder):
                if isinstance(item, Skipped):
                    yield Added(as_text(item.path), None, "skipped", 0, None, (item.reason,))
                else:
                    said = checked_metadata(metadata(item) if callable(metadata) else metadata or {})
                    source, name = as_text(resolved(item, folders)), as_text(item.name)
                    found.append(NewSource(item, source, name, collection, said))
        except SourceUnreadable as error:
            yield Added(as_text(path), None, "failed", 0, error.info())

    def _pipeline(self, on_progress: OnProgress | None) -> Pipeline:
        return Pipeline(
            self._store,
            self._user,
            embedder=self.embedder(),
            limits=self._limits(),
            max_file_bytes=self.settings.max_file_bytes,
            embed_batch=self.settings.embed_batch,
            on_progress=on_progress or quiet,
        )

    def _limits(self) -> Limits:
        chosen = self.settings
        return Limits(chosen.parse_memory_bytes, chosen.parse_seconds, chosen.parse_max_characters)

    def _finish_graph(self, on_progress: OnProgress | None) -> None:
        """Improve the dense index: now, where somebody watches and the process may end after; else behind."""
        if on_progress is None:
            self._store.grow_graph_behind(self._user)
            return
        if generation := self._store.generations.serving(self._user):
            self._store.grow_graph(
                self._user, generation, lambda done, total: on_progress(Progress("graph", done, total))
            )

    def look_again(self) -> None:
        """See what other processes wrote. From the first call on no search looks for itself, or waits for it."""
        self._store.look_again(self._user)

    def settle(self, *, on_progress: OnProgress | None = None) -> None:
        """Wait until what is built behind searches is built."""
        self._finish_graph(on_progress or quiet)

    # ── find

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        mode: str | None = None,
        where: Where | None = None,
        collection: str | None = None,
        per_document: int | None = None,
        fusion: str | None = None,
        alpha: float | None = None,
        rrf_k: int | None = None,
        weights: Sequence[float] | None = None,
        missing_rank: int | None = None,
        candidates: int | None = None,
        reranker: str | None = None,
        expand: Sequence[str] | None = None,
    ) -> SearchResult:
        """The best chunks for a question, with the rank and score each leg gave them.

        Words of the question such as `layer:domain` are filters: see docs/reference/filters.md. `alpha` belongs to the
        fusion `alpha`; `rrf_k`, `weights` (of the lexical and the dense leg) and `missing_rank` to `rrf`. `expand`
        searches for more than the question: `("synonyms",)` for other words of its words.
        """
        chosen = self.settings
        fused_by = fusion or chosen.fusion
        _check_fusion(
            fused_by, alpha={"alpha": alpha}, rrf={"rrf_k": rrf_k, "weights": weights, "missing_rank": missing_rank}
        )
        query, within = split_words(checked_query(query, chosen.max_query_chars))
        options = SearchOptions(
            mode=mode or chosen.mode,  # type: ignore[arg-type]
            limit=chosen.limit if limit is None else limit,
            per_document=chosen.per_document if per_document is None else per_document,
            where=_scoped(all_of(as_filter(where), within), collection),
            fusion=fused_by,  # type: ignore[arg-type]
            alpha=chosen.alpha if alpha is None else alpha,
            rrf_k=chosen.rrf_k if rrf_k is None else rrf_k,
            weights=tuple(chosen.weights if weights is None else weights),  # type: ignore[arg-type]
            missing_rank=chosen.missing_rank if missing_rank is None else missing_rank,
            candidates=chosen.candidates if candidates is None else candidates,
            max_query_chars=chosen.max_query_chars,
        )
        ways = [way for way in chosen.expand if way == "synonyms"] if expand is None else expand
        reranked_by = chosen.reranker if reranker is None else reranker
        if not reranked_by:
            return self._expanded_search(query, options, ways)
        wanted = max(options.limit, chosen.rerank_candidates)
        found = self._expanded_search(query, replace(options, limit=wanted, per_document=wanted), ways)
        return self._reranking.apply(reranked_by, found, per_document=options.per_document, limit=options.limit)

    def _expanded_search(self, query: str, options: SearchOptions, ways: Sequence[str]) -> SearchResult:
        """One search, or several merged where other words stand for those of the question."""
        say = None if self.settings.model == EXTRACTIVE else saying(self.settings, self.settings.model)
        variants = variants_of(query, ways, synonyms=self.settings.synonyms_file, say=say) if ways else []
        found = self._search(query, options)
        if not variants:
            return found
        further = [self._search(each.query, replace(options, mode=each.mode or options.mode)) for each in variants]
        hits = merged_hits([found.hits, *(each.hits for each in further)], options.limit)
        took = round(sum(each.took_ms for each in (found, *further)), 3)
        return replace(found, hits=tuple(hits), took_ms=took, expanded=tuple(each.added for each in variants))

    def _search(self, query: str, options: SearchOptions) -> SearchResult:
        embedded: dict[str, Callable[[str], Vector]] = {}
        while True:
            view = self._view()
            if view.fingerprint not in embedded:  # a search that begins anew does not ask the embedder again
                embedded[view.fingerprint] = cache(self._query_embedding(view.embedder, view.fingerprint))
            embed = embedded[view.fingerprint]
            try:
                with tracing.span("retrieve", mode=options.mode, limit=options.limit):
                    result = self._retriever.search(view, query, options, embed)
            except SearchUnavailable:
                if view.is_current():
                    raise
                continue
            if view.is_current():
                _log_search(result, options)
                return result

    def _reranker_parts(self) -> Parts:
        def token_vectors(texts: Sequence[str], *, role: Role) -> Any:
            return self.embedder().token_vectors(texts, role=role)  # type: ignore[attr-defined]

        has_tokens = self.settings.embedder.partition(":")[0] == "local"
        chat = self._asking.completing if self.settings.model != "extractive" else None
        return Parts(self.settings, token_vectors if has_tokens else None, chat)

    # ── ask

    def ask(
        self,
        question: str,
        *,
        where: Where | None = None,
        collection: str | None = None,
        mode: str | None = None,
        passages: int | None = None,
        history: Sequence[Turn | tuple[str, str]] = (),
        instructions: str = "",
        deep: bool = False,
        **settings: Any,
    ) -> Answer:
        """An answer from the documents, each sentence with its footnote; abstains when nothing supports one.

        `history` are the turns before, oldest first. `instructions` tell a model how to answer; the rule that every
        sentence rests on a passage stands whatever they say, and the extractive answer has no use for them. `deep`
        searches more than once. Settings of the answer, such as `model`, `strict` or `temperature`, may be given for
        this question alone.
        """
        events = self.ask_stream(
            question,
            where=where,
            collection=collection,
            mode=mode,
            passages=passages,
            history=history,
            instructions=instructions,
            deep=deep,
            **settings,
        )
        return last_answer(events)

    def ask_stream(
        self,
        question: str,
        *,
        where: Where | None = None,
        collection: str | None = None,
        mode: str | None = None,
        passages: int | None = None,
        history: Sequence[Turn | tuple[str, str]] = (),
        instructions: str = "",
        deep: bool = False,
        **settings: Any,
    ) -> Iterator[Event]:
        """As `ask`, in events as they happen. The last is `done`, or `error` with as much of the answer as came."""
        options = AskOptions(
            where=where,
            collection=collection,
            mode=mode,
            passages=passages,
            history=as_turns(history),
            instructions=instructions,
            deep=deep,
            settings=changed_settings(self.settings, settings),
        )
        return tracing.stream("answer", self._with_sources(self._asking.stream(question, options)), deep=deep)

    def _with_sources(self, events: Iterator[Event]) -> Iterator[Event]:
        """The events; what is said of an answer tells which files its footnotes point to."""
        try:
            for event in events:
                if event.answer is not None:
                    sources = sources_of(event.answer, self._checksum)
                    event = replace(event, answer=replace(event.answer, sources=sources))
                yield event
        finally:
            if callable(close := getattr(events, "close", None)):
                close()

    def _checksum(self, document_id: str) -> str:
        with suppress(NotFound):  # deleted meanwhile
            return self.document(document_id).file_hash
        return ""

    def _query_embedding(self, name: str, fingerprint: str) -> Callable[[str], Vector]:
        def embed(query: str) -> Vector:
            if not fingerprint:
                return np.zeros(1, dtype=np.float32)
            embedder = self.embedder(name)
            if embedder.fingerprint != fingerprint:
                raise DimensionMismatch(
                    f"the library's vectors were made with another version of {name}",
                    remedy="Run `footnotes reindex` to make them anew.",
                )
            return embed_one(embedder, query, role="query", attempts=QUERY_ATTEMPTS)

        return embed

    def embedder(self, name: str | None = None) -> Embedder:
        """The embedder of the settings, or the one named; loaded once."""
        wanted = name or self.settings.embedder
        with self._guard:
            if wanted not in self._embedders:
                self._embedders[wanted] = self._expected(make_embedder(replace(self.settings, embedder=wanted)))
            return self._embedders[wanted]

    def _expected(self, embedder: Embedder) -> Embedder:
        """The embedder, told how many dimensions the library's vectors of it have: it need not ask its model."""
        serving, expect = self._store.generations.serving(self._user), getattr(embedder, "expect_dimensions", None)
        if callable(expect) and serving is not None and serving.embedder == embedder.name:
            expect(serving.dimensions - by_dot_product(embedder))
        return embedder

    # ── look

    def documents(
        self, *, where: Where | None = None, collection: str | None = None, limit: int | None = None, offset: int = 0
    ) -> list[Document]:
        """The documents of the library, in the order they came."""
        chosen = _scoped(as_filter(where), collection)
        return self._store.documents.all(self._user, where=chosen, limit=limit, offset=offset)

    def document(self, document_id: str) -> Document:
        return self._store.documents.find(self._user, document_id).document

    def outdated(self) -> list[Document]:
        """Documents that were made by an older parser, or by another chunker or model than is set now."""
        pipeline, chunker_of = self._pipeline(None), self._chunker_of()
        return [
            document
            for document in self.documents()
            if document.status == "ready"
            and not is_imported(document)
            and document.ingestion_version
            != pipeline.ingestion_version(document.mime, chunker_of(document.collection, document.mime))
        ]

    def count_outdated(self) -> int:
        """How many documents `outdated` names; counted again only when the library has changed."""
        stamp = f"{self._view().stamp} {self._store.generations.choices(self._user)}"
        if self._outdated is None or self._outdated[0] != stamp:
            self._outdated = (stamp, len(self.outdated()))
        return self._outdated[1]

    def text(self, document_id: str, start: int = 0, end: int | None = None) -> str:
        """Canonical text of a document, or a span of it."""
        return self._store.documents.text(self._user, document_id, start, end)

    def page_start(self, document_id: str, page: int) -> int:
        """Where the text of a page, counted from 1, begins in the canonical text."""
        for part in self._store.documents.parts(self._user, document_id):
            for block in part.blocks:
                if block.page == page:
                    return block.start
        raise NotFound(f"document {document_id!r} has no text on page {page}")

    def blocks(self, document_id: str, start: int = 0, end: int | None = None) -> Iterator[Block]:
        """The blocks of a document that touch a span of its canonical text, or all of them."""
        for part in self._store.documents.parts(self._user, document_id):
            if part.start + len(part.text) < start:
                continue
            if end is not None and part.start > end:
                return
            for block in part.blocks:
                if block.end >= start and (end is None or block.start < end):
                    yield block

    def find(self, document_id: str, words: str, limit: int = 500) -> list[tuple[int, int, int | None]]:
        """Where words stand in a document, in any case and however they are broken into lines: start, end, page."""
        wanted = re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)
        found: list[tuple[int, int, int | None]] = []
        for part in self._store.documents.parts(self._user, document_id) if words.split() else ():
            starts = [block.start for block in part.blocks]
            for match in wanted.finditer(part.text):
                start, end = part.start + match.start(), part.start + match.end()
                block = bisect_right(starts, start) - 1
                found.append((start, end, part.blocks[block].page if block >= 0 else None))
                if len(found) >= limit:
                    return found
        return found

    def chunks(self, document_id: str) -> list[Chunk]:
        language = self.document(document_id).metadata.get("language")
        found = self._store.documents.chunks(self._user, document_id)
        return [replace(chunk, language=chunk.metadata.get("language", language)) for chunk in found]

    def near_duplicates(self) -> dict[str, NearDuplicate]:
        """Documents that say nearly the same as another of their collection: their ids, each with that other one."""
        return self._store.documents.near_duplicates(self._user)

    def original(self, document_id: str) -> Path:
        """The file a document was made from, where originals are kept. It is the library's: copy it, leave it alone."""
        return self._store.originals.find(self._user, self.document(document_id).id)

    def collections(self) -> list[dict[str, Any]]:
        """The collections with their choices, and how many documents each has."""
        rows = self._store.collections.all(self._user)
        return [{**row, "chunker_options": json.loads(row["chunker_options"] or "null")} for row in rows]

    @property
    def generation(self) -> int | None:
        """The number of the generation that serves."""
        serving = self._store.generations.serving(self._user)
        return serving.pk if serving else None

    def check_collection(self, name: str) -> None:
        """Raise where there is no such collection."""
        known = [row["name"] for row in self.collections()]
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise NotFound(f"there is no collection {name!r}{hint}", remedy="`footnotes collections` names them all.")

    def set_collection(
        self,
        name: str,
        *,
        chunker: str | None = None,
        chunker_options: Mapping[str, Any] | None = None,
        system_prompt: str | None = None,
    ) -> None:
        """Choose a collection's chunker and system prompt; documents added from now on follow it."""
        chosen = chunker
        if chunker is None and chunker_options is not None:  # options of the chunker it has
            chosen = self._store.generations.choices(self._user).get(name, [None])[0]
        if chosen is not None:
            self._chunkers.made(chosen, chunker_options)
        elif chunker_options is not None:
            raise OptionError("options of a chunker need its name", remedy="Name the chunker too.")
        self._store.collections.set(
            self._user,
            checked_collection(name),
            chunker=chunker,
            chunker_options=chunker_options,
            system_prompt=system_prompt,
        )

    def counts(self) -> dict[str, Any]:
        """How many documents, chunks, characters and bytes the library holds."""
        return self._store.documents.counts(self._user)

    def status(self) -> dict[str, Any]:
        """What the library holds, what serves it, and how large it is."""
        generation = self._store.generations.serving(self._user)
        return {
            "library": str(self.folder),
            "user": self._user,
            **self._store.documents.counts(self._user),
            "waiting": len(self._store.vectors.waiting(self._user)),
            "collections": self.collections(),
            "embedder": generation.embedder if generation else self.settings.embedder,
            "configured_embedder": self.settings.embedder,
            "dimensions": generation.dimensions if generation else None,
            "generation": generation.pk if generation else None,
            "generations": [
                {"id": g.pk, "state": g.state, "embedder": g.embedder} for g in self._store.generations.all(self._user)
            ],
            "store": self._store.kind,
            "address": self._store.address,
            "index": asdict(index) if (index := self._store.index_state(self._user)) is not None else None,
            "disk_bytes": self._store.size(self._user),
        }

    @property
    def index_failure(self) -> ErrorInfo | None:
        """Why a vector database could not be told of the last changes; it is told when it is back."""
        return self._store.index_failure

    # ── change

    def delete(
        self,
        *document_ids: str,
        source: str | Path | None = None,
        collection: str | None = None,
        checksum: str | None = None,
        compact: bool = False,
        scrub: bool = False,
    ) -> list[str]:
        """Remove documents by id, source, checksum or collection, which goes with them. Returns the ids that went.

        `compact` and `scrub` are those of `compact`.
        """
        with self._store.writing(self._user, "deleting documents"):
            ids = [*document_ids, *self._ids_of(source, collection, checksum)]
            self._memories.forget(text_hash(text) for text in self._texts(ids))
            shutil.rmtree(self.folder / FORMER_CONTEXTS, ignore_errors=True)
            self._store.documents.delete(self._user, ids)
            if collection is not None and source is None and checksum is None and not document_ids:
                self._store.collections.drop(self._user, collection)
            if compact:
                self._compact(scrub=scrub)
        return list(dict.fromkeys(ids))

    def _ids_of(self, source: str | Path | None, collection: str | None, checksum: str | None) -> list[str]:
        if checksum is not None:
            found = self.documents(where={"checksum": checksum}, collection=collection)
            if not found:
                raise NotFound(f"no document has the checksum {checksum[:80]!r}")
            return [document.id for document in found]
        if source is not None:
            names = [as_text(source), as_text(Path(source).expanduser().resolve())]
            places = [collection] if collection else [row["name"] for row in self.collections()]
            rows = [self._store.documents.find_by_source(self._user, place, name) for place in places for name in names]
            if not any(rows):
                raise NotFound(f"no document came from {as_text(source)}")
            return [row.document.id for row in rows if row is not None]
        if collection is not None:
            found = self.documents(collection=collection)
            if not found:
                raise NotFound(f"there is no collection {collection!r} with documents in it")
            return [document.id for document in found]
        return []

    def reindex(
        self,
        *,
        collection: str | None = None,
        chunker: str | None = None,
        chunker_options: Mapping[str, Any] | None = None,
        embedder: str | None = None,
        outdated: bool = False,
        documents: Sequence[str] | None = None,
        keep: bool = False,
        gate: Callable[[int], dict[str, Any]] | None = None,
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """Build the next generation from stored text beside the one that serves, then switch in one step.

        With `outdated`, only documents that were made by an older version or another chunker are made again, in the
        generation that serves, and all of them where another model is set; `documents` does so with those of some ids.
        Options of a chunker without its name are for the chunker that is chosen already.

        A `gate` is given the number of the new generation before the switch, may look at it with `trying`, and raises
        to refuse it.
        """
        options = dict(chunker_options) if chunker_options else None
        if collection is not None:
            self.check_collection(collection)
        if options and chunker is None:
            chunker = self._chosen_chunker(collection)
        if documents is not None:
            return self._remake([self.document(document_id) for document_id in documents], on_progress)
        if outdated and embedder is None and chunker is None and not self._is_model_changed():
            found = self.outdated()
            return self._remake([one for one in found if collection in (None, one.collection)], on_progress)
        choice = {"collection": collection, "chunker": chunker, "chunker_options": options}
        request = {**choice, "embedder": embedder, "keep": keep, "gated": gate is not None}
        return self._rebuild(request, gate, on_progress)

    def _chosen_chunker(self, collection: str | None) -> str:
        """The chunker of a collection, or of all of them where they chose the same."""
        choices = self._store.generations.choices(self._user)
        names = {choice[0] for name, choice in choices.items() if collection in (None, name)} or {None}
        if len(names) > 1:
            remedy = "Name the chunker too, or the collection that is meant."
            raise OptionError("collections have chosen different chunkers", remedy=remedy)
        return names.pop() or self.settings.chunker

    def _is_model_changed(self) -> bool:
        serving = self._store.generations.serving(self._user)
        return serving is not None and serving.fingerprint != self.embedder().fingerprint

    def _remake(self, found: Sequence[Document], on_progress: OnProgress | None) -> dict[str, Any]:
        """Make documents again: of the originals where they are kept, else of their stored text."""
        with self._store.writing(self._user, "reindexing"):
            pipeline, chunker_of = self._pipeline(on_progress), self._chunker_of()
            kept = [one for one in found if self._store.originals.has(self._user, one.id)]
            rows = [self._store.documents.find(self._user, one.id) for one in found if one not in kept]
            sources = [
                NewSource(
                    self.original(one.id), one.source, one.filename, one.collection, one.metadata, one.mime, renew=True
                )
                for one in kept
            ]
            done = [*pipeline.add(sources, chunker_of), *pipeline.recut(rows, chunker_of)]
        if failed := [added.error for added in done if added.error is not None]:
            raise ReindexRefused(f"{len(failed)} documents could not be made again: {failed[0].message}")
        self._finish_graph(on_progress)
        chunks = sum(added.chunks for added in done)
        return {"generation": self.generation, "replaced": None, "kept": False, "documents": len(done),
                "embedded": chunks}  # fmt: skip

    def _rebuild(
        self,
        request: Mapping[str, Any],
        gate: Callable[[int], dict[str, Any]] | None,
        on_progress: OnProgress | None,
        run: int = 0,
    ) -> dict[str, Any]:
        collection, chunker, options = request["collection"], request["chunker"], request["chunker_options"]
        with self._store.writing(self._user, "reindexing"), self._journal("reindex", request, run) as journal:
            choices = self._store.generations.choices(self._user)
            if chunker is not None:
                made = self._chunkers.made(chunker, options)
                written = json.dumps(dict(options or {}), sort_keys=True)
                choices |= {name: [made.name, written] for name in ([collection] if collection else choices)}
            self._store.generations.remember_choices(self._user)
            rebuild = self._reindex(request["embedder"], both(journal.progress, on_progress), choices)
            result = rebuild.run(keep=request["keep"], gate=gate, choices=choices)
        self._finish_graph(on_progress)
        return result

    @contextmanager
    def trying(self, generation: int) -> Iterator[None]:
        """Searches of this thread look at a generation that does not serve."""
        self._local.generation = generation
        try:
            yield
        finally:
            self._local.generation = None

    def _view(self) -> SearchView:
        tried = getattr(self._local, "generation", None)
        return self._store.view(self._user, tried)

    def rollback(self, *, on_progress: OnProgress | None = None) -> dict[str, Any]:
        """Serve the generation that was kept, after filling in what came since."""
        with self._store.writing(self._user, "rolling back"):
            choices = self._store.generations.kept_choices(self._user)
            rebuild = self._reindex(None, on_progress, choices)
            return rebuild.rollback(lambda name: self.embedder(name), choices=choices)

    def _reindex(self, embedder: str | None, on_progress: OnProgress | None, choices: Choices) -> Reindex:
        return Reindex(
            self._store,
            self._user,
            embedder=self.embedder(embedder),
            chunker_of=self._chunkers.of(choices),
            embed_batch=self.settings.embed_batch,
            on_progress=on_progress or quiet,
        )

    def verify(self, *, repair: bool = False) -> Verification:
        """Check pages, spans, vectors and both indexes against each other; with `repair`, mend what can be."""

        def hash_of(prefix: str, text: str) -> bytes:
            return input_hash(embedding_input(prefix, text))

        with self._store.writing(self._user, "verifying") if repair else nullcontext():
            found = self._store.verify(self._user, hash_of, repair=repair)
            add_originals(found, self._store.originals, self._user, repair=repair)
            return found

    def compact(self, *, scrub: bool = False) -> None:
        """Leave no byte of what was deleted in the folder.

        In PostgreSQL the space is given back while everybody works on; with `scrub` the tables are written again, so
        that no page keeps a deleted text, and each is locked for all tenants while that is done.
        """
        with self._store.writing(self._user, "compacting"):
            self._compact(scrub=scrub)

    def _compact(self, *, scrub: bool) -> None:
        if remembered := set(self._memories.scopes()) - {""}:
            kept = {text_hash(text) for text in self._texts(document.id for document in self.documents())}
            self._memories.forget(remembered - kept)
        shutil.rmtree(self.folder / FORMER_CONTEXTS, ignore_errors=True)
        self._store.compact(self._user, scrub=scrub)

    # ── move

    def backup(self, file: str | Path, *, keep: int | None = None) -> BackupSnapshot:
        """Add a snapshot of the whole library, all its tenants, to a backup file; `keep` drops older snapshots.

        Others may read and write meanwhile. What did not change since the last snapshot is not stored again.
        """
        return backup_library(self.settings, self.folder, Path(file).expanduser(), keep=keep)

    def export(self, file: str | Path, *, collection: str | None = None) -> dict[str, int]:
        """Write documents and chunks as JSON Lines: of the whole library, or of a collection."""
        return export_library(self._store, self._user, Path(file).expanduser(), where=_scoped(None, collection))

    def exporting(self, *, collection: str | None = None) -> Iterator[str]:
        """The lines `export` would write."""
        return export_lines(self._store, self._user, where=_scoped(None, collection))

    def import_(
        self, file: str | Path, *, collection: str | None = None, on_progress: OnProgress | None = None
    ) -> Imported:
        """Append what an export holds, to `collection` when one is named; never overwrites what is there."""
        with self._store.writing(self._user, "importing"):
            return import_library(
                self._store,
                self._user,
                Path(file).expanduser(),
                collection=None if collection is None else checked_collection(collection),
                embedder=self.embedder(),
                chunker_of=self._chunker_of(),
                embed_batch=self.settings.embed_batch,
                on_progress=on_progress or quiet,
            )

    def import_from(
        self,
        source: str,
        *,
        collection: str | None = None,
        text_field: str = "",
        vector: str = "",
        group_by: str = "",
        model: str = "",
        on_progress: OnProgress | None = None,
    ) -> TakenOver:
        """Take over a collection of another tool: `chroma://…`, `chroma:FOLDER#NAME`, `qdrant://…` or `json:FILE`.

        Appends, never overwrites. `text_field`, `vector` and `group_by` name fields where the source does not say
        enough; `model` is the one its vectors were made by, which is checked.
        """
        from footnotes.ingest.importing.addresses import make_reader
        from footnotes.ingest.importing.records import ImportOptions
        from footnotes.ingest.importing.take_over import take_over

        name = checked_collection(collection or self.settings.collection)
        options = ImportOptions(collection=name, text_field=text_field, vector=vector, group_by=group_by, model=model)
        embedder = self.embedder()
        reader = make_reader(source, options, self.settings, dimensions=embedder.dimensions)
        with self._store.writing(self._user, "taking over a collection"):
            done = take_over(
                self._store,
                self._user,
                reader,
                options,
                embedder=embedder,
                embed_batch=self.settings.embed_batch,
                on_progress=on_progress or quiet,
            )
        self._finish_graph(on_progress)
        return done

    # ── parts

    def _chunker_of(self, name: str | None = None, options: Mapping[str, Any] | None = None) -> ChunkerOf:
        return self._chunkers.of(self._store.generations.choices(self._user), name, options)

    def _with_contexts(self, chunker: Chunker) -> Chunker:
        """The chunker, asking for a context of every chunk where the settings name a model for it."""
        model = self.settings.contextual
        if not model:
            return chunker

        def memory_of(scope: str) -> Memory:
            return Memory(self._memories, scope)

        return ContextualChunker(chunker, say=saying(self.settings, model), model=model, memory_of=memory_of)

    def connect_model(self, name: str, make: Callable[[Settings], ChatModel]) -> None:
        """Let `model=name` of a question stand for a model that no settings name."""
        self._answerer.connect(name, make)

    @property
    def conversations(self) -> Conversations:
        """The conversations of this library's store; every method takes the tenant first."""
        return self._store.conversations

    @property
    def _memories(self) -> Memories:
        """What models said of texts: it tells of documents, and goes with them."""
        return self._store.memories(self._user)

    def _texts(self, ids: Iterable[str]) -> Iterator[str]:
        """The parts of documents, of those that have a text."""
        for document_id in ids:
            with suppress(NotFound):
                yield from (part.text for part in self._store.documents.parts(self._user, document_id))

    def _chunker_parts(self, model: str) -> dict[str, Any]:
        say = None if model == EXTRACTIVE else saying(self.settings, model, max_tokens=self.settings.max_tokens)
        return {"embed": self._embed_passages, "say": say, "memory": Memory(self._memories)}

    def _embed_passages(self, texts: Sequence[str]) -> Any:
        return embed_all(self.embedder(), texts, role="passage", batch=self.settings.embed_batch)


def _check_fusion(fusion: str, **belonging: Mapping[str, Any]) -> None:
    """Raise where an option is given that the chosen fusion would ignore."""
    for owner, options in belonging.items():
        for name, value in options.items():
            if value is not None and owner != fusion:
                raise OptionError(
                    f"{name} has no meaning in the fusion {fusion!r}", remedy=f"Choose the fusion {owner!r} with it."
                )


def _log_search(result: SearchResult, options: SearchOptions) -> None:
    """How a search went, for whoever looks for it; not what was asked or found."""
    if _LOG.isEnabledFor(logging.DEBUG):
        scores = [round(hit.score, 4) for hit in result.hits]
        legs = {name: {"status": leg.status, "ms": leg.ms} for name, leg in result.legs.items()}
        said = {"k": options.limit, "mode": options.mode, "scores": scores, "legs": legs, "ms": result.took_ms}
        _LOG.debug("search", extra=said)


def _expanded(folder: str | Path | None) -> Path | None:
    return None if folder is None else Path(folder).expanduser()


def _scoped(where: Filter | None, collection: str | None) -> Filter | None:
    if collection is None:
        return where
    inside = Condition("collection", "eq", collection)
    return inside if where is None else AllOf((inside, where))
