"""Updates a collection from a source, with the same guarantees as a folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from footnotes.errors import DocumentError, SourceAway, SourceUnreadable
from footnotes.ingest.archive import is_archive
from footnotes.ingest.ingestor import Ingestor, IngestTarget, program_version
from footnotes.ingest.names import as_text, check_metadata, safe_filename
from footnotes.ingest.plan import Looks, Plan, Seen, make_plan, may_change
from footnotes.ingest.sources import Address, Content, Entry, LeftOut, Source
from footnotes.ingest.sources.open import translate_errors
from footnotes.ingest.sync import SyncPass
from footnotes.ingest.walk import Skipped
from footnotes.ingest.web import own_folder
from footnotes.ingest.work import NewSource, OnProgress, Progress, hash_file, quiet
from footnotes.store.naming import INSIDE
from footnotes.store.records import KnownSource, Origin, Signature
from footnotes.types import Added, ErrorInfo, Followed

BATCH_ENTRIES, BATCH_BYTES = 32, 64 * 1024 * 1024
MOST_FAILURES = 3
"""The source is unavailable if this many entries in a row cannot be read."""
Writing = Callable[[], AbstractContextManager[None]]


@dataclass(slots=True)
class _ReadEntry:
    """An entry with its files, or the error of reading it."""

    source: str
    entry: Entry
    began: int
    files: list[NewSource] = field(default_factory=list)
    error: ErrorInfo | None = None
    is_gone: bool = False


class SourceSync(SyncPass):
    """One pass over one source. It locks the library only while documents are written, never while they are read."""

    def __init__(
        self,
        ingestor: Ingestor,
        target: IngestTarget,
        opened: tuple[Source, Address],
        *,
        writing: Writing,
        on_progress: OnProgress | None = None,
    ) -> None:
        self._source, self._address = opened
        super().__init__(ingestor, target, self._source.name)
        self._prefix = as_text(self._source.root).rstrip("/") + "/"
        self._writing = writing
        self._on_progress = on_progress or quiet
        self._entries: dict[str, Entry] = {}
        self._version: str | None = None
        self._is_whole = True

    # ── looking

    def plan(self, *, delete_all: bool = False) -> Plan:
        with translate_errors(self._address):
            self._version = self._source.version()
        self._known = self._known_sources()
        if (unchanged := self._unchanged_plan()) is not None:
            return unchanged
        self._look()
        looks = Looks(_refuse_to_read, self._is_current, self._is_gone, self._find_owner)
        plan = make_plan(self._seen, self._known, looks, program_version())
        if self._source.stamps_are_hashes:
            self._find_renames(plan)
        if not self._source.complete:
            plan.gone, plan.left_alone = [], []
        if not delete_all:
            self._refuse_to_empty(plan)
        return plan

    def _known_sources(self) -> dict[str, KnownSource]:
        """Return the documents of this source with their parts, without those of other sources with the same root."""
        below, name = self._origins.below(self._prefix), as_text(self.root)
        own = {source for source, known in below.items() if known.follower == name}
        return {source: known for source, known in below.items() if source in own or source.partition(INSIDE)[0] in own}

    def _unchanged_plan(self) -> Plan | None:
        """Return the plan if the source's version is unchanged and all its documents are current: nothing is listed."""
        version, count = self._origins.version(self._version_row)
        if not self._version or version != self._version or count != str(len(self._known)):
            return None
        plan = Plan()
        for known in self._known.values():
            is_fine = known.document_id is None or self._is_current(known)
            if known.error is not None and (may_change(known.error.code) or known.made_by != program_version()):
                is_fine = False
            if not is_fine:
                return None
            if known.error is not None:
                plan.failed_before.append(known)
            elif INSIDE not in known.source:
                plan.unchanged.append(known)
        return plan

    def _look(self) -> None:
        start = len(self._prefix)
        self._source.known = {name[start:]: each.stamp for name, each in self._known.items() if each.stamp}
        with translate_errors(self._address):
            for item in self._source.entries():
                source = as_text(self._prefix + item.key)
                if isinstance(item, LeftOut):
                    self._skipped.append(Skipped(cast(Path, source), item.reason))
                    continue
                self._entries[source] = item
                size = -1 if item.size is None else item.size
                self._seen[source] = Seen(Path(item.key), Signature(size, 0, 0, 0), item.stamp)

    def _find_owner(self, source: str) -> str | None:
        """Return the entry of a part: of an attachment, or of a member of an archive."""
        owner, inside, _ = source.partition(INSIDE)
        return owner if inside and source not in self._seen else None

    def _is_gone(self, source: str) -> bool:
        """Return whether a source is gone: the listing was complete, so it is unless it was skipped."""
        left_out = (as_text(item.path) for item in self._skipped)
        return not any(source == each or source.startswith((f"{each}/", f"{each}{INSIDE}")) for each in left_out)

    def _find_renames(self, plan: Plan) -> None:
        """Move entries whose stamp is that of an entry that is gone: they were renamed."""
        left = {known.stamp: known for known in plan.gone if known.document_id and known.stamp}
        for source in list(plan.added):
            if (known := left.pop(self._entries[source].stamp, None)) is not None:
                plan.moved[known.source] = source
                plan.added.remove(source)
                plan.gone.remove(known)

    # ── doing

    def run(self, plan: Plan) -> Iterator[Followed]:
        """Carry out a plan, a batch at a time. Each batch is recorded, so the next pass continues an interrupted one.

        Missing documents are deleted last: a crash leaves too much rather than too little.
        """
        sources = [*plan.changed, *plan.added]
        if self._version and (sources or plan.moved or plan.gone):
            with self._writing():
                self._record(None)
        yield from self._move(plan.moved)
        vacated = {known.file_hash: known for known in plan.gone if known.document_id and INSIDE not in known.source}
        moves: dict[str, str] = {}
        for batch in self._batches(sources):
            yield from self._ingest_batch(batch, vacated, set(plan.added), moves)
        with self._writing():
            if plan.changed:
                self._origins.mend_names(set(plan.changed))
            gone = [known for known in plan.gone if known.source not in moves]
            deleted = list(self._forget(gone))
        yield from self._report_unchanged(plan)
        yield from deleted
        if self._is_whole and self._version:
            with self._writing():
                self._record(self._version)

    def _batches(self, sources: Sequence[str]) -> Iterator[list[_ReadEntry]]:
        """Read entries into files, some at a time. The files last until the next batch."""
        failures, position = 0, 0
        while position < len(sources):
            with own_folder() as folder:
                batch, size = list[_ReadEntry](), 0
                with translate_errors(self._address):
                    self._source.prepare([self._entries[each] for each in sources[position : position + BATCH_ENTRIES]])
                while position < len(sources) and len(batch) < BATCH_ENTRIES and size < BATCH_BYTES:
                    self._on_progress(Progress("reading", position, len(sources), sources[position]))
                    read = self._read(sources[position], folder / str(position))
                    away = read.error is not None and read.error.code == SourceAway.code
                    failures = failures + 1 if away else 0
                    if failures >= MOST_FAILURES and read.error is not None:
                        raise SourceAway(read.error.message)
                    size += sum(file.path.stat().st_size for file in read.files)
                    batch.append(read)
                    position += 1
                yield batch

    def _read(self, source: str, folder: Path) -> _ReadEntry:
        """Read one entry. A failure is the entry's own, until there are several in a row."""
        read = _ReadEntry(source, self._entries[source], time.time_ns())
        folder.mkdir()
        try:
            with translate_errors(self._address):
                try:
                    read.files = [self._file(read, content) for content in self._source.read(read.entry, folder)]
                except FileNotFoundError:
                    read.is_gone = True
        except DocumentError as error:
            read.error = error.info()
        return read

    def _file(self, read: _ReadEntry, content: Content) -> NewSource:
        source = read.source + (INSIDE + as_text(content.part) if content.part else "")
        metadata = {**read.entry.metadata, **content.metadata, **self._target.metadata_of(Path(read.entry.key))}
        filename = safe_filename(content.filename)
        collection = self._target.collection
        return NewSource(content.path, source, filename, collection, check_metadata(metadata), content.mime)

    def _ingest_batch(
        self, batch: list[_ReadEntry], vacated: dict[str | None, KnownSource], added: set[str], moves: dict[str, str]
    ) -> Iterator[Followed]:
        for read in batch:
            if read.is_gone:
                self._is_whole = False
                yield Followed(read.source, None, "skipped", warnings=("it disappeared while it was read",))
            elif read.error is not None:
                yield self._failure(read)
        fine = [read for read in batch if read.error is None and not read.is_gone]
        for read in fine:
            moved = self._find_moved(read, vacated) if read.source in added else None
            if moved is not None:
                moves[moved.source] = read.source
                yield from self._move({moved.source: read.source})
        moved_here = set(moves.values())
        with self._writing():
            yield from (file for file in self._ingest(fine) if file.error or file.path not in moved_here)
            self._note([self._build_origin(read, read.error) for read in batch if read.error and self._is_final(read)])

    def _find_moved(self, read: _ReadEntry, vacated: dict[str | None, KnownSource]) -> KnownSource | None:
        """Return the gone source that had the same bytes as this entry."""
        if not vacated or len(read.files) != 1:
            return None
        try:
            content, _ = hash_file(read.files[0].path, self._ingestor.settings.max_file_bytes)
        except DocumentError:
            return None
        return vacated.pop(content, None)

    def _move(self, moves: dict[str, str]) -> Iterator[Followed]:
        if not moves:
            return
        with self._writing():
            self._origins.move({old: (new, safe_filename(self._entries[new].key)) for old, new in moves.items()})
            self._origins.forget(list(moves))
            now, name = time.time_ns(), as_text(self.root)
            stamps = {new: self._entries[new].stamp for new in moves.values()}
            self._note([Origin(new, now, etag=stamp, modified=name) for new, stamp in stamps.items()])
            for new in moves.values():
                self._touch(new)
        yield from (self._build_moved(old, new) for old, new in moves.items())

    def _touch(self, source: str) -> None:
        """Update the metadata of a moved entry: it may name its path."""
        row = self._document(source)
        if row is not None and (metadata := self._entries[source].metadata):
            self._store.documents.touch(self._user, row, source=source, metadata=check_metadata(metadata))

    def _ingest(self, reads: Sequence[_ReadEntry]) -> Iterator[Followed]:
        """Ingest the files of entries; record the stamp of each entry once all its files are stored."""
        files = [file for read in reads for file in read.files]
        packed = {file.source for file in files if is_archive(file.path, file.filename)}
        results: dict[str, list[Added]] = {read.source: [] for read in reads}
        owner = {file.source: read.source for read in reads for file in read.files}
        for added in self._ingestor.ingest_files([file for file in files if file.source not in packed], self._target):
            results[owner[added.path]].append(added)
            yield self._build_followed(added)
        for file in (file for file in files if file.source in packed):
            for added in self._ingestor.unpacked(file, self._target):
                results[owner[file.source]].append(added)
                yield self._build_followed(added)
        for read in reads:
            yield from self._finish_entry(read, results[read.source])

    def _finish_entry(self, read: _ReadEntry, results: Sequence[Added]) -> Iterator[Followed]:
        """Record the stamp of an entry, and delete parts that it no longer has."""
        errors = [added for added in results if added.error is not None]
        if any(may_change(added.error.code) for added in errors if added.error):
            self._is_whole = False
            return
        there = {added.path for added in results}
        before = [known for source, known in self._known.items() if source.startswith(read.source + INSIDE)]
        yield from self._forget([known for known in before if known.source not in there])
        own = next((added.error for added in errors if added.path == read.source), None)
        parts = [Origin(each.path, read.began, error=each.error) for each in errors if each.path != read.source]
        self._note([self._build_origin(read, own), *parts])

    def _failure(self, read: _ReadEntry) -> Followed:
        known = self._known.get(read.source)
        self._is_whole = self._is_whole and self._is_final(read)
        return Followed(read.source, known.document_id if known else None, "failed", 0, None, read.error)

    @staticmethod
    def _is_final(read: _ReadEntry) -> bool:
        return read.error is not None and not may_change(read.error.code)

    def _build_origin(self, read: _ReadEntry, error: ErrorInfo | None) -> Origin:
        return Origin(read.source, read.began, etag=read.entry.stamp, modified=as_text(self.root), error=error)

    def _record(self, version: str | None) -> None:
        """Record the version of the source and its number of documents, once all of it is stored."""
        count = str(len(self._known_sources())) if version else None
        self._note([Origin(self._version_row, time.time_ns(), etag=version, modified=count)])

    @property
    def _version_row(self) -> str:
        return f"{as_text(self.root)}#version"

    # ── reporting

    def _report_unchanged(self, plan: Plan) -> Iterator[Followed]:
        yield from super()._report_unchanged(plan)
        for known in plan.unchanged:
            if known.document_id:
                yield from self._members(known.source)


def _refuse_to_read(path: Path) -> str:
    """Raise: a plan is made from stamps, without reading any file."""
    raise SourceUnreadable("it is not read yet")
