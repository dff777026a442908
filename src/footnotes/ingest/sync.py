"""Updates a collection from a folder: new, changed, renamed and deleted files, and no other documents."""

from __future__ import annotations

import os
import stat
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import get_args

from footnotes.errors import SourceUnreadable, SyncRefused
from footnotes.ingest.archive import is_archive
from footnotes.ingest.ingestor import Ingestor, IngestTarget, program_version
from footnotes.ingest.names import as_text
from footnotes.ingest.plan import Looks, Plan, Seen, archive_of, make_plan, may_change
from footnotes.ingest.walk import Skipped, walk
from footnotes.ingest.work import NewSource, hash_file
from footnotes.store.naming import INSIDE
from footnotes.store.records import DocumentRow, KnownSource, Origin, Signature
from footnotes.types import Added, Followed, Synced, SyncStatus

MANY = 10
NOTED_AT_ONCE = 500


class SyncPass(ABC):
    """The state and reports of one pass over a folder, a repository, or a source by address."""

    root: Path | str

    def __init__(self, ingestor: Ingestor, target: IngestTarget, root: Path | str) -> None:
        self._ingestor = ingestor
        self._store, self._user = ingestor.store, ingestor.user
        self._target = target
        self._origins = self._store.sources(self._user, target.collection)
        self.root = root
        self._prefix = as_text(root).rstrip(os.sep) + os.sep
        self._seen: dict[str, Seen] = {}
        self._skipped: list[Skipped] = []
        self._known: dict[str, KnownSource] = {}

    @abstractmethod
    def plan(self, *, delete_all: bool = False) -> Plan:
        """Build the plan. Refuses to delete everything, unless confirmed."""

    @abstractmethod
    def run(self, plan: Plan) -> Iterator[Followed]:
        """Carry a plan out."""

    def preview(self, plan: Plan) -> Iterator[Followed]:
        """Return the results that a plan would have, for a dry run."""
        for old, new in plan.moved.items():
            yield self._build_moved(old, new)
        for source in plan.added:
            yield Followed(source, None, "added")
        for source in plan.changed:
            known = self._known.get(source)
            yield Followed(source, known.document_id if known else None, "changed")
        yield from self._report_unchanged(plan)
        yield from (_build_deleted(known) for known in plan.gone if known.document_id)

    def _document(self, source: str) -> DocumentRow | None:
        """Return the document of a source, if it has one."""
        return self._store.documents.find_by(self._user, self._target.collection, "source", [source]).get(source)

    def _is_current(self, known: KnownSource) -> bool:
        return self._target.is_current(known.mime or "", known.ingestion_version or "")

    def _refuse_to_empty(self, plan: Plan) -> None:
        """Refuse to delete everything: far more often a disk is not mounted than a user wants that."""
        documents = [known for known in self._known.values() if known.document_id]
        gone = [known for known in plan.gone if known.document_id]
        if gone and len(gone) == len(documents) and (not self._seen or len(gone) >= MANY):
            raise SyncRefused(f"all {len(gone):,} documents from {self.root} are gone there, and would be deleted")

    def _forget(self, gone: Sequence[KnownSource]) -> Iterator[Followed]:
        if gone:
            self._origins.forget([known.source for known in gone])
            yield from (_build_deleted(known) for known in gone if known.document_id)

    def _note(self, seen: Iterator[Origin] | list[Origin]) -> None:
        self._origins.note(seen, program_version())

    # ── saying

    def _report_unchanged(self, plan: Plan) -> Iterator[Followed]:
        """Yield files without changes: unchanged, failed before, skipped."""
        for known in plan.unchanged:
            if known.document_id:
                yield Followed(known.source, known.document_id, "unchanged", known.chunks)
            else:
                yield from self._members(known.source)
        for known in plan.failed_before:
            reason = ("failed before, and has not changed since",)
            yield Followed(known.source, known.document_id, "failed", 0, None, known.error, reason)
        for item in self._skipped:
            yield Followed(as_text(item.path), None, "skipped", warnings=(item.reason,))
        for known in plan.left_alone:
            if known.document_id:
                reason = ("skipped in the folder or unreadable now; its document stays",)
                yield Followed(known.source, known.document_id, "skipped", known.chunks, warnings=reason)

    def _members(self, archive: str) -> Iterator[Followed]:
        prefix = archive + INSIDE
        for source, known in self._known.items():
            if source.startswith(prefix):
                yield Followed(source, known.document_id, "unchanged", known.chunks)

    def _build_moved(self, old: str, new: str) -> Followed:
        known = self._known[old]
        return Followed(new, known.document_id, "renamed", known.chunks, old)

    def _build_followed(self, added: Added) -> Followed:
        """Return the result of a file in the terms of a sync."""
        known = self._known.get(added.path)
        if added.status in ("failed", "skipped"):
            status = added.status
            return Followed(added.path, added.document_id, status, added.chunks, None, added.error, added.warnings)
        same = known is not None and known.document_id == added.document_id and added.status == "deduplicated"
        done = "unchanged" if same else "added" if known is None or known.document_id is None else "changed"
        return Followed(added.path, added.document_id, done, added.chunks, None, None, added.warnings)  # type: ignore[arg-type]


class FolderSync(SyncPass):
    """One pass over one folder. The caller holds the library for writing, unless it only needs the plan."""

    root: Path

    def __init__(self, ingestor: Ingestor, target: IngestTarget, folder: Path) -> None:
        super().__init__(ingestor, target, check_root(folder))
        self._avoid = self._store.folder

    def plan(self, *, delete_all: bool = False) -> Plan:
        """Compare the folder with the recorded state. Refuses to delete everything, unless confirmed."""
        self._look()
        self._known = self._origins.below(self._prefix)
        looks = Looks(self._hash, self._is_current, self._is_gone)
        plan = make_plan(self._seen, self._known, looks, program_version())
        if not delete_all:
            self._refuse_to_empty(plan)
        return plan

    def run(self, plan: Plan) -> Iterator[Followed]:
        """Carry out a plan. New files are ingested before missing ones are deleted, so no vector of an existing text is
        made twice, and a crash leaves too much rather than too little."""
        self._note(self._origin(source) for source in plan.touched)
        if plan.moved:
            self._origins.move({old: (new, as_text(self._seen[new].path.name)) for old, new in plan.moved.items()})
            self._note(self._origin(new) for new in plan.moved.values())
            yield from (self._build_moved(old, new) for old, new in plan.moved.items())
        moved = set(plan.moved.values())
        yield from (file for file in self._take(plan) if file.error is not None or file.path not in moved)
        if plan.changed:
            self._origins.mend_names(set(plan.changed))
        yield from self._report_unchanged(plan)
        yield from self._forget(
            [known for known in plan.gone if self._is_gone(archive_of(known.source) or known.source)]
        )

    # ── looking

    def _look(self) -> None:
        for item in walk(self.root, avoid=self._avoid):
            if isinstance(item, Skipped):
                self._skipped.append(item)
                continue
            with suppress(OSError):  # it disappeared in the meantime: the next pass handles that
                now, status = time.time_ns(), item.lstat()
                path = item
                if stat.S_ISLNK(status.st_mode):
                    path, status = item.resolve(), item.stat()
                signature = Signature(status.st_size, status.st_mtime_ns, status.st_ctime_ns, now)
                self._seen.setdefault(as_text(path), Seen(path, signature))

    def _hash(self, path: Path) -> str:
        return hash_file(path, self._ingestor.settings.max_file_bytes)[0]

    def _is_gone(self, source: str) -> bool:
        """Return whether a file is surely gone. A skipped file, or one that cannot be checked, is not."""
        if not self.root.is_dir() or any(_is_within(source, as_text(item.path)) for item in self._skipped):
            return False
        try:
            os.lstat(source)
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (OSError, ValueError):
            return False
        return False

    # ── doing

    def _take(self, plan: Plan) -> Iterator[Followed]:
        """Ingest new and changed files; record the state of each once it is stored."""
        sources = [self._new_source(source) for source in (*plan.changed, *plan.added)]
        archives = [source for source in sources if is_archive(source.path, source.filename)]
        packed = {archive.source for archive in archives}
        plain = [source for source in sources if source.source not in packed]
        seen: list[Origin] = []
        try:
            for added in self._ingestor.ingest_files(plain, self._target):
                seen += self._build_origins(added)
                if len(seen) >= NOTED_AT_ONCE:
                    self._note(seen)
                    seen = []
                yield self._build_followed(added)
        finally:
            self._note(seen)
        for archive in archives:
            yield from self._unpack(archive)

    def _unpack(self, archive: NewSource) -> Iterator[Followed]:
        """Ingest the members of a new or changed archive. Delete those that it no longer has, if it could be read."""
        there, broken = set[str](), None
        for added in self._ingestor.unpacked(archive, self._target):
            there.add(added.path)
            broken = added.error if added.path == archive.source else broken
            yield self._build_followed(added)
        prefix = archive.source + INSIDE
        before = [known for source, known in self._known.items() if source.startswith(prefix) and source not in there]
        if broken is None:
            yield from self._forget(before)
        if broken is None or not may_change(broken.code):
            seen = self._seen[archive.source].signature
            self._note([Origin(archive.source, seen.read_ns, seen, error=broken)])

    def _new_source(self, source: str) -> NewSource:
        path = self._seen[source].path
        name = as_text(path.name)
        return NewSource(path, source, name, self._target.collection, self._target.metadata_of(path))

    def _build_origins(self, added: Added) -> list[Origin]:
        """Record the state of an ingested file, or of one that fails until it changes."""
        if added.error is not None and may_change(added.error.code):
            return []
        return [self._origin(added.path, added)] if added.path in self._seen else []

    def _origin(self, source: str, added: Added | None = None) -> Origin:
        seen = self._seen[source].signature
        return Origin(source, seen.read_ns, seen, error=added.error if added else None)


def synced(one: SyncPass, *, dry_run: bool, delete_all: bool, on_file: Callable[[Followed], None]) -> Synced:
    """Make one pass from beginning to end, and count. With `dry_run` nothing is changed."""
    start = time.monotonic()
    counts: dict[SyncStatus, int] = dict.fromkeys(get_args(SyncStatus), 0)
    files: list[Followed] = []
    plan = one.plan(delete_all=delete_all)
    for followed in one.preview(plan) if dry_run else one.run(plan):
        counts[followed.status] += 1
        if followed.status != "unchanged":
            files.append(followed)
            on_file(followed)
    milliseconds = round((time.monotonic() - start) * 1000, 1)
    return Synced(as_text(one.root), tuple(files), counts, dry_run, milliseconds)


def check_root(folder: Path) -> Path:
    """Resolve the folder to sync. A missing folder is an error and deletes nothing."""
    try:
        root = folder.expanduser().resolve(strict=True)
        if root.is_dir():
            os.scandir(root).close()
            return root
    except OSError as error:
        remedy = "Check that it is mounted and may be read; nothing was deleted."
        raise SourceUnreadable(f"the folder {folder} cannot be read ({error.strerror})", remedy=remedy) from error
    raise SourceUnreadable(f"{folder} is not a folder", remedy="Pass a folder; add a single file with `footnotes add`.")


def _is_within(source: str, folder: str) -> bool:
    return source == folder or source.startswith(folder.rstrip(os.sep) + os.sep)


def _build_deleted(known: KnownSource) -> Followed:
    return Followed(known.source, known.document_id, "deleted", known.chunks)
