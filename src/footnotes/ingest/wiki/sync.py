"""Updates a collection from a folder of pages that describe a repository."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePath

from footnotes.ingest.ingestor import Ingestor, IngestTarget
from footnotes.ingest.names import as_text, check_metadata
from footnotes.ingest.plan import Plan
from footnotes.ingest.sync import FolderSync
from footnotes.ingest.walk import Skipped
from footnotes.ingest.wiki.pages import Vocabulary, page_metadata
from footnotes.ingest.work import NewSource
from footnotes.parse.catalog import types_by_suffix
from footnotes.parse.types_by_name import MARKDOWN, WIKI
from footnotes.store import Store
from footnotes.types import Metadata

_LONGEST = 4_000_000


class WikiSync(FolderSync):
    """One pass over one folder of pages. A page is chunked again also if only its metadata has changed."""

    def __init__(
        self,
        store: Store,
        user_id: str,
        ingestor: Ingestor,
        target: IngestTarget,
        folder: Path,
        *,
        vocabulary: Vocabulary,
        layers: Mapping[str, str],
        max_file_bytes: int,
    ) -> None:
        super().__init__(store, user_id, ingestor, target, folder, max_file_bytes=max_file_bytes)
        self._store, self._user = store, user_id
        self._vocabulary, self._layers = vocabulary, layers
        self._metadata_by_source: dict[str, Metadata] = {}

    def _look(self) -> None:
        super()._look()
        for source in list(self._seen):
            if types_by_suffix().get(PurePath(source).suffix.lower()) != MARKDOWN:
                self._leave_out(source, "no Markdown")
            elif not self._text(source).strip():
                self._leave_out(source, "no text in it")

    def _leave_out(self, source: str, reason: str) -> None:
        self._skipped.append(Skipped(self._seen.pop(source).path, reason))

    def plan(self, *, delete_all: bool = False) -> Plan:
        """Plan the pass; pages whose metadata changed count as changed."""
        plan = super().plan(delete_all=delete_all)
        plan.left_alone = []
        stale = [known for known in plan.unchanged if not self._is_described(known.source)]
        plan.unchanged = [known for known in plan.unchanged if known not in stale]
        plan.changed += [known.source for known in stale]
        # Every chunk of a page holds its path.
        plan.changed += [new for new in plan.moved.values() if new not in plan.changed]
        return plan

    def _is_described(self, source: str) -> bool:
        row = self._store.documents.find_by_source(self._user, self._target.collection, source)
        if row is None or source not in self._seen:
            return True
        metadata = self._metadata(source)
        return row.document.mime == WIKI and all(row.document.metadata.get(key) == metadata[key] for key in metadata)

    def _new_source(self, source: str) -> NewSource:
        return replace(super()._new_source(source), metadata=self._metadata(source), mime=WIKI, renew=True)

    def _text(self, source: str) -> str:
        with suppress(OSError), self._seen[source].path.open(encoding="utf-8-sig", errors="replace") as file:
            return file.read(_LONGEST)
        return "?"  # it cannot be read now: the pipeline reports why

    def _metadata(self, source: str) -> Metadata:
        if source not in self._metadata_by_source:
            path, text = self._seen[source].path, self._text(source)
            relative = as_text(path.relative_to(self.root).as_posix())
            described = page_metadata(relative, text, self._vocabulary, self._layers)
            self._metadata_by_source[source] = check_metadata({**self._target.metadata_of(path), **described})
        return self._metadata_by_source[source]
