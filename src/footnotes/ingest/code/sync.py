"""Updates a collection from a repository's source code: ingests only what changed since the last commit."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from footnotes.analyse.layers import layer_of
from footnotes.errors import NotFound
from footnotes.ingest.code.files import SourceFile, manifest_entry_points, source_files
from footnotes.ingest.code.git import Change, Git, is_committed
from footnotes.ingest.code.leave_out import reason_by_content
from footnotes.ingest.ingestor import Ingestor, IngestTarget, program_version
from footnotes.ingest.names import as_text
from footnotes.ingest.plan import Plan, Seen
from footnotes.ingest.sync import FolderSync
from footnotes.ingest.walk import Skipped
from footnotes.ingest.work import NewSource
from footnotes.parse.types_by_name import PLAIN
from footnotes.store.records import Origin, Signature
from footnotes.types import Added, Followed, JsonValue, Metadata

DIRTY = "-dirty"
_AS_TEXT = frozenset(["json", "toml", "xml", "ini", "go.mod", "makefile", "dockerfile", "cmake", "groovy"])
"""Languages whose files are stored unchanged, which preserves line numbers."""
_VERSION = 1


class RepositorySync(FolderSync):
    """One pass over the source of one repository, or of a folder in it."""

    def __init__(self, ingestor: Ingestor, target: IngestTarget, folder: Path, *, untracked: bool) -> None:
        super().__init__(ingestor, target, folder)
        self._layers, self._untracked = ingestor.settings.layers, untracked
        self._git = Git.open(self.root)
        self._name = self._git.name() if self._git else self.root.name
        self._files: dict[str, SourceFile] = {}
        self._changes: list[Change] = []
        self._renamed: dict[str, str] = {}
        self._refresh_all = False
        self._moved_here: set[str] = set()

    # ── looking

    def _look(self) -> None:
        for item in source_files(self.root, self._git, untracked=self._untracked, avoid=self._avoid):
            if isinstance(item, Skipped):
                self._skipped.append(item)
                continue
            with suppress(OSError):  # deleted in the meantime: the next pass handles that
                now, status = time.time_ns(), item.path.stat()
                signature = Signature(status.st_size, status.st_mtime_ns, status.st_ctime_ns, now)
                source = as_text(item.path)
                self._seen[source], self._files[source] = Seen(item.path, signature), item
        commit, described = self._origins.version(as_text(self.root))
        self._refresh_all = described is not None and described != self._fingerprint()
        self._changes = (self._git.changes(commit) if self._git and commit else None) or []

    def plan(self, *, delete_all: bool = False) -> Plan:
        """Plan the pass. Only files that are new or have changed are read."""
        plan = super().plan(delete_all=True)
        plan.left_alone = []
        self._follow_renames(plan)
        for source in (*plan.added, *plan.changed):
            if (reason := reason_by_content(self._seen[source].path)) is not None:
                self._skipped.append(Skipped(self._seen[source].path, reason))
                self._leave_out(source, plan)
        if not delete_all:
            self._refuse_to_empty(plan)
        self._moved_here = set(plan.moved.values())
        plan.changed += [new for new in plan.moved.values() if new not in plan.changed]
        return plan

    def _leave_out(self, source: str, plan: Plan) -> None:
        (plan.added if source in plan.added else plan.changed).remove(source)
        if (known := self._known.get(source)) is not None and known.document_id is not None:
            plan.gone.append(known)

    def _follow_renames(self, plan: Plan) -> None:
        """Let files that git reports as renamed keep their document, also if their content changed."""
        gone, added = {known.source: known for known in plan.gone}, set(plan.added)
        for change in self._changes:
            old, new = self._source(change.before or ""), self._source(change.path)
            if change.before and old in gone and new in added:
                self._renamed[old] = new
                plan.gone.remove(gone[old])
                plan.added.remove(new)
                plan.changed.append(new)
                self._known[new] = replace(gone[old], source=new)

    def _source(self, path: str) -> str:
        return as_text(self._git.top / path) if self._git else path

    @cached_property
    def _delete_missing(self) -> set[str]:
        """Files that were removed from git, which may still exist."""
        return {self._source(change.path) for change in self._changes if change.status == "D"} - set(self._seen)

    def _is_gone(self, source: str) -> bool:
        if source in self._delete_missing or source in self._seen:
            return True
        return super()._is_gone(source)

    # ── doing

    def run(self, plan: Plan) -> Iterator[Followed]:
        """Carry out a plan. The commit is recorded at the end: after an interrupted pass, hashes decide."""
        self._record(None)
        before = self._documents_of((*plan.changed, *plan.moved, *(known.source for known in plan.gone)))
        if self._renamed:  # their signatures are noted when they are ingested: their content changed too
            names = {new: as_text(self._files[new].path.name) for new in self._renamed.values()}
            self._origins.move({old: (new, names[new]) for old, new in self._renamed.items()})
        yield from super().run(plan)
        self._mend(before)
        self._refresh(plan)
        self._record(self._git.commit if self._git else None)

    def preview(self, plan: Plan) -> Iterator[Followed]:
        yield from (replace(file, **self._rename_fields(file.path)) for file in super().preview(plan))

    def _build_followed(self, added: Added) -> Followed:
        followed = super()._build_followed(added)
        return replace(followed, **self._rename_fields(added.path)) if followed.status == "changed" else followed

    def _rename_fields(self, source: str) -> dict[str, Any]:
        """Return the fields of `Followed` for a file that was renamed and changed at once."""
        before = next((old for old, new in self._renamed.items() if new == source), None)
        return {"status": "renamed", "before": before} if before else {}

    def _new_source(self, source: str) -> NewSource:
        file = self._files[source]
        mime = PLAIN if file.language in _AS_TEXT else ""
        name = as_text(file.path.name)
        # Chunks contain the path of their file: those of a moved file are rebuilt.
        renew = source in self._moved_here
        return NewSource(file.path, source, name, self._target.collection, self._metadata(file), mime, renew=renew)

    def _metadata(self, file: SourceFile) -> Metadata:
        """Return the metadata of a file without its parser's."""
        metadata: dict[str, JsonValue] = {
            **self._target.metadata_of(file.path),
            "repository": self._name,
            "path": file.relative,
            "type": "file",
            "language": file.language,
            "layer": layer_of(file.relative, self._layers),
        }
        if self._git and self._git.commit:
            clean = is_committed(file.path, self._blobs.get(file.name))
            metadata["commit"] = self._git.commit + ("" if clean else DIRTY)
        if entries := manifest_entry_points(file.path):
            metadata["entry_points"] = [*entries]
        return metadata

    @cached_property
    def _blobs(self) -> dict[str, str]:
        return self._git.commit_blobs() if self._git else {}

    def _documents_of(self, sources: Iterable[str]) -> set[str]:
        known = (self._known.get(source) for source in sources)
        return {each.document_id for each in known if each is not None and each.document_id}

    def _mend(self, documents: Iterable[str]) -> None:
        """Update the path of documents that lost one of their files, or whose file moved."""
        for document in documents:
            with suppress(NotFound):
                row = self._store.documents.find(self._user, document)
                sources = [each for each in self._store.documents.sources(self._user, document) if each in self._files]
                paths = {self._files[source].relative for source in sources}
                if sources and row.document.metadata.get("path") not in paths:
                    self._touch(sources[0])

    def _refresh(self, plan: Plan) -> None:
        """Update the metadata of files that were committed unchanged, or are described differently now."""
        changed = {self._source(change.path) for change in self._changes}
        for known in plan.unchanged:
            if known.source in self._files and (self._refresh_all or known.source in changed):
                self._touch(known.source)

    def _touch(self, source: str) -> None:
        if (row := self._document(source)) is not None:
            self._store.documents.touch(self._user, row, source=source, metadata=self._metadata(self._files[source]))

    def _record(self, commit: str | None) -> None:
        described = self._fingerprint() if commit else None
        origin = Origin(as_text(self.root), time.time_ns(), etag=commit, modified=described)
        self._origins.note([origin], program_version())

    def _fingerprint(self) -> str:
        """Return the fingerprint of the layers and metadata: a change updates the metadata of all files."""
        metadata: object = None if callable(self._target.metadata) else self._target.metadata
        described = json.dumps([_VERSION, self._name, list(self._layers.items()), metadata], default=str)
        return hashlib.blake2b(described.encode("utf-8", "replace"), digest_size=16).hexdigest()
