"""Rebuilds documents: outdated ones, or all of them in the next generation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from footnotes.errors import OptionError, ReindexRefused
from footnotes.ingest.choosing import Choices
from footnotes.ingest.context import IngestContext
from footnotes.ingest.journal import Journal
from footnotes.ingest.reindex import Reindex
from footnotes.ingest.transfer import is_imported
from footnotes.ingest.work import NewSource, OnProgress, both, quiet
from footnotes.types import Document, JobKind

Gate = Callable[[int], dict[str, object]]
"""Given the number of the new generation before the switch; raises to refuse it."""


class ReindexOptions(TypedDict, total=False):
    """A request for a rebuild."""

    collection: str | None
    chunker: str | None
    chunker_options: Mapping[str, Any] | None
    """Without the name of a chunker, for the one that is chosen already."""
    embedder: str | None
    outdated: bool
    """Only documents that were made by an older version or another chunker, in the generation that serves; all of them
    where another model is set."""
    documents: Sequence[str] | None
    """Only these, by id, in the generation that serves."""
    keep: bool
    """Keep the generation that served, for a rollback."""
    gate: Gate | None
    on_progress: OnProgress | None


class Reindexing:
    """Makes documents again for one tenant of a library."""

    def __init__(self, context: IngestContext) -> None:
        self._context = context
        self._store, self._user = context.store, context.user
        self._counted: tuple[str, int] | None = None

    def reindex(self, options: ReindexOptions) -> dict[str, object]:
        """Build the next generation from stored text beside the current one, then switch in one step."""
        collection, chunker, embedder = options.get("collection"), options.get("chunker"), options.get("embedder")
        on_progress, gate = options.get("on_progress"), options.get("gate")
        chosen = dict(options.get("chunker_options") or {}) or None
        if chosen and chunker is None:
            chunker = self._chosen_chunker(collection)
        if (ids := options.get("documents")) is not None:
            return self._remake([self._document(document_id) for document_id in ids], on_progress)
        if options.get("outdated") and embedder is None and chunker is None and not self._is_model_changed():
            found = [one for one in self.outdated() if collection in (None, one.collection)]
            return self._remake(found, on_progress)
        choice = {"collection": collection, "chunker": chunker, "chunker_options": chosen}
        request = {**choice, "embedder": embedder, "keep": options.get("keep", False), "gated": gate is not None}
        return self.rebuild(request, gate, on_progress)

    def rebuild(
        self, request: Mapping[str, Any], gate: Gate | None, on_progress: OnProgress | None, run: int = 0
    ) -> dict[str, object]:
        """Build the next generation for a request; `run` continues an interrupted one."""
        collection, chunker, options = request["collection"], request["chunker"], request["chunker_options"]
        with self._context.writing("reindexing"), self.journal("reindex", request, run) as journal:
            choices = self._store.generations.choices(self._user)
            if chunker is not None:
                made = self._context.chunkers.made(chunker, options)
                written = json.dumps(dict(options or {}), sort_keys=True)
                choices |= {name: [made.name, written] for name in ([collection] if collection else choices)}
            self._store.generations.remember_choices(self._user)
            rebuild = self._builder(request["embedder"], both(journal.progress, on_progress), choices)
            result = rebuild.run(keep=request["keep"], gate=gate, choices=choices)
        self._context.finish_graph(on_progress)
        return result

    def rollback(self, on_progress: OnProgress | None) -> dict[str, object]:
        """Switch back to the kept generation, after adding newer documents to it."""
        with self._context.writing("rolling back"):
            choices = self._store.generations.kept_choices(self._user)
            return self._builder(None, on_progress, choices).rollback(self._context.embedders.get, choices=choices)

    def journal(self, kind: JobKind, request: Mapping[str, Any], run: int = 0) -> Journal:
        """The journal of a run, begun or gone on with."""
        what = ", ".join(map(str, request.get("paths") or [])) or str(request.get("collection") or "everything")
        return Journal(self._store, self._user, kind=kind, source=what, request=request, run=run)

    def outdated(self) -> list[Document]:
        """Documents that were made by an older parser, or by another chunker or model than is set now."""
        pipeline, chunker_of = self._context.pipeline(None), self._context.chunker_of()
        return [
            document
            for document in self._store.documents.all(self._user)
            if document.status == "ready"
            and not is_imported(document)
            and document.ingestion_version
            != pipeline.ingestion_version(document.mime, chunker_of(document.collection, document.mime))
        ]

    def count_outdated(self) -> int:
        """How many documents `outdated` names; counted again only when the library has changed."""
        stamp = f"{self._store.view(self._user).stamp} {self._store.generations.choices(self._user)}"
        if self._counted is None or self._counted[0] != stamp:
            self._counted = (stamp, len(self.outdated()))
        return self._counted[1]

    def _document(self, document_id: str) -> Document:
        return self._store.documents.find(self._user, document_id).document

    def _chosen_chunker(self, collection: str | None) -> str:
        """Return the chunker of a collection, or of all of them if they use the same."""
        choices = self._store.generations.choices(self._user)
        names = {choice[0] for name, choice in choices.items() if collection in (None, name)} or {None}
        if len(names) > 1:
            remedy = "Pass the chunker too, or the collection."
            raise OptionError("the collections have different chunkers", remedy=remedy)
        return names.pop() or self._context.settings.chunker

    def _is_model_changed(self) -> bool:
        serving = self._store.generations.serving(self._user)
        return serving is not None and serving.fingerprint != self._context.embedders.get().fingerprint

    def _remake(self, found: Sequence[Document], on_progress: OnProgress | None) -> dict[str, Any]:
        """Rebuild documents: from stored originals, else from their stored text."""
        originals = self._store.originals
        with self._context.writing("reindexing"):
            pipeline, chunker_of = self._context.pipeline(on_progress), self._context.chunker_of()
            kept = [one for one in found if originals.has(self._user, one.id)]
            rows = [self._store.documents.find(self._user, one.id) for one in found if one not in kept]
            sources = [
                NewSource(
                    originals.find(self._user, one.id),
                    one.source,
                    one.filename,
                    one.collection,
                    one.metadata,
                    one.mime,
                    renew=True,
                )
                for one in kept
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
        return Reindex(
            self._store,
            self._user,
            embedder=self._context.embedders.get(embedder),
            chunker_of=self._context.chunkers.of(choices),
            embed_batch=self._context.settings.embed_batch,
            on_progress=on_progress or quiet,
        )
