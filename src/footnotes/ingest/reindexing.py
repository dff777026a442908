"""Rebuilds documents: outdated ones, or all of them in the next generation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from footnotes.errors import FootnotesError, OptionError, ReindexRefused
from footnotes.ingest.context import Choices, IngestContext
from footnotes.ingest.derive import without_parser
from footnotes.ingest.journal import Journal
from footnotes.ingest.reindex import Reindex
from footnotes.ingest.transfer import is_imported
from footnotes.ingest.work import NewSource, OnProgress, both, hash_file
from footnotes.store.collections import check_collection
from footnotes.types import Document, JobKind

Gate = Callable[[int], dict[str, object]]
"""Receives the number of the new generation before the switch; raises to refuse it."""


class ReindexRequest(TypedDict, total=False):
    """A request for a rebuild, here or to a server."""

    collection: str | None
    chunker: str | None
    chunker_options: Mapping[str, object] | None
    """Without the name of a chunker: for the chosen one."""
    embedder: str | None
    outdated: bool
    """Only outdated documents of the current generation: made by an older version or another chunker; all of them
    if another model is set."""
    keep: bool
    """Keep the previous generation, for a rollback."""


class ReindexOptions(ReindexRequest, total=False):
    """A request for a rebuild here."""

    from_files: bool
    """Parse again also from the files documents were added from, if unchanged. Not for callers over a network: they
    name the source of a document themselves."""
    documents: Sequence[str] | None
    """Only these, by id, in the current generation."""
    gate: Gate | None
    on_progress: OnProgress | None


class Reindexing:
    """Rebuilds documents for one tenant of a library."""

    def __init__(self, context: IngestContext) -> None:
        self._context = context
        self._store, self._user = context.store, context.user
        self._counted: tuple[str, int] | None = None

    def reindex(self, options: ReindexOptions) -> dict[str, object]:
        """Build the next generation from stored text beside the current one, then switch in one step."""
        collection, chunker, embedder = options.get("collection"), options.get("chunker"), options.get("embedder")
        on_progress, gate = options.get("on_progress"), options.get("gate")
        if collection is not None:
            check_collection(self._store.collections, self._user, collection)
        chunker_options = dict(options.get("chunker_options") or {}) or None
        if chunker_options and chunker is None:
            chunker = self._find_chunker(collection)
        if (ids := options.get("documents")) is not None:
            return self._remake([self._document(document_id) for document_id in ids], options)
        if options.get("outdated") and embedder is None and chunker is None and not self._is_model_changed():
            found = [one for one in self.outdated() if collection in (None, one.collection)]
            version_of = self._versions()
            return self._remake([one for one in found if self._can_improve(one, version_of(one), options)], options)
        choice = {"collection": collection, "chunker": chunker, "chunker_options": chunker_options}
        request = {**choice, "embedder": embedder, "keep": options.get("keep", False), "gated": gate is not None}
        return self.rebuild(request, gate, on_progress)

    def rebuild(
        self, request: Mapping[str, Any], gate: Gate | None, on_progress: OnProgress | None, run: int = 0
    ) -> dict[str, object]:
        """Build the next generation for a request; `run` continues an interrupted one."""
        collection, chunker, options = request["collection"], request["chunker"], request["chunker_options"]
        with self._context.writing("reindexing"), self.journal("reindex", request, run) as journal:
            choices = self._context.choices()
            if chunker is not None:
                built = self._context.chunkers.build(chunker, options)
                options_json = json.dumps(dict(options or {}), sort_keys=True)
                choices |= {name: [built.name, options_json] for name in ([collection] if collection else choices)}
            rebuild = self._builder(request["embedder"], both(journal.progress, on_progress), choices)
            result = rebuild.run(keep=request["keep"], gate=gate, choices=choices)
        self._context.finish_graph(on_progress)
        return result

    def rollback(self, on_progress: OnProgress | None) -> dict[str, object]:
        """Switch back to the kept generation, after adding newer documents to it."""
        with self._context.writing("rolling back"):
            kept = [one for one in self._store.generations.all(self._user) if one.state == "kept"]
            # An older library has no record of the chunkers of its kept generation: then the current ones stay.
            recorded = kept[-1].plan.get("choices") if kept else None
            choices = self._context.choices() | (recorded or {})
            return self._builder(None, on_progress, choices).rollback(self._context.embedders.get, choices=choices)

    def journal(self, kind: JobKind, request: Mapping[str, Any], run: int = 0) -> Journal:
        """Start or continue the journal of a run."""
        what = ", ".join(map(str, request.get("paths") or [])) or str(request.get("collection") or "everything")
        return Journal(self._store, self._user, kind=kind, source=what, request=request, run=run)

    def outdated(self) -> list[Document]:
        """List documents made by an older parser, or by another chunker or model than is set now."""
        version_of = self._versions()
        return [
            document
            for document in self._store.documents.all(self._user)
            if document.status == "ready"
            and not is_imported(document)
            and document.ingestion_version != version_of(document)
        ]

    def _versions(self) -> Callable[[Document], str]:
        """Return a function that gives the version a document would have if it were added now."""
        pipeline, chunker_of = self._context.pipeline(None), self._context.chunker_of()
        return lambda one: pipeline.ingestion_version(one.mime, chunker_of(one.collection, one.mime))

    def count_outdated(self) -> int:
        """Count the documents of `outdated`; counts again only if the library has changed."""
        stamp = f"{self._store.view(self._user).stamp} {self._context.choices()}"
        if self._counted is None or self._counted[0] != stamp:
            self._counted = (stamp, len(self.outdated()))
        return self._counted[1]

    def _document(self, document_id: str) -> Document:
        return self._store.documents.find(self._user, document_id).document

    def _find_chunker(self, collection: str | None) -> str:
        """Return the chunker of a collection, or of all of them if they use the same."""
        choices = self._context.choices()
        names = {choice[0] for name, choice in choices.items() if collection in (None, name)} or {None}
        if len(names) > 1:
            remedy = "Pass the chunker too, or the collection."
            raise OptionError("the collections have different chunkers", remedy=remedy)
        return names.pop() or self._context.settings.chunker

    def _is_model_changed(self) -> bool:
        serving = self._store.generations.serving(self._user)
        return serving is not None and serving.fingerprint != self._context.embedders.get().fingerprint

    def _find_file(self, document: Document, options: ReindexOptions) -> Path | None:
        """Return the stored original of a document, else on request the unchanged file it was added from."""
        if self._store.originals.has(self._user, document.id):
            return self._store.originals.find(self._user, document.id)
        if not options.get("from_files"):
            return None
        path = Path(document.source)
        try:
            is_file = path.is_absolute() and path.is_file()
            is_same = is_file and hash_file(path, document.bytes)[0] == document.file_hash
        except (OSError, ValueError, FootnotesError):
            return None
        return path if is_same else None

    def _can_improve(self, document: Document, version: str, options: ReindexOptions) -> bool:
        """Return whether rebuilding changes a document: without its file, an older parser's text stays as it is."""
        is_cut_alike = without_parser(document.ingestion_version) == without_parser(version)
        return not is_cut_alike or self._find_file(document, options) is not None

    def _remake(self, found: Sequence[Document], options: ReindexOptions) -> dict[str, object]:
        """Rebuild documents: from their files, else from their stored text."""
        on_progress = options.get("on_progress")
        files = {one.id: path for one in found if (path := self._find_file(one, options)) is not None}
        with self._context.writing("reindexing"):
            pipeline, chunker_of = self._context.pipeline(on_progress), self._context.chunker_of()
            rows = [self._store.documents.find(self._user, one.id) for one in found if one.id not in files]
            sources = [
                NewSource(files[one.id], one.source, one.filename, one.collection, one.metadata, one.mime, renew=True)
                for one in found
                if one.id in files
            ]
            done = [*pipeline.add(sources, chunker_of), *pipeline.recut(rows, chunker_of)]
        if failed := [added.error for added in done if added.error is not None]:
            raise ReindexRefused(f"could not rebuild {len(failed)} documents: {failed[0].message}")
        self._context.finish_graph(on_progress)
        serving = self._store.generations.serving(self._user)
        return {
            "generation": serving.pk if serving else None,
            "replaced": None,
            "kept": False,
            "documents": len(done),
            "embedded": sum(added.chunks for added in done),
        }

    def _builder(self, embedder: str | None, on_progress: OnProgress | None, choices: Choices) -> Reindex:
        return Reindex(self._context.embedding(on_progress, embedder), self._context.chunkers.of(choices))
