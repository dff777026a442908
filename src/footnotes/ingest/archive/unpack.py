"""Unpacks the members of an archive in batches, so archives of any size need little space."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from footnotes.errors import ArchiveLimit, ArchiveMember, DocumentError, DocumentTooLarge
from footnotes.ingest.archive.members import (
    ArchiveLimits,
    Member,
    check_not_encrypted,
    is_archive,
    is_hidden,
    list_members,
    safe_name,
)
from footnotes.ingest.names import as_text
from footnotes.ingest.work import NewSource
from footnotes.store.naming import INSIDE
from footnotes.types import Added

BATCH_FILES, BATCH_BYTES = 500, 256 << 20
_BLOCK = 1 << 16


@dataclass(slots=True)
class Batch:
    """Files to ingest, and the results of those that cannot be. The files last until the next batch."""

    sources: list[NewSource] = field(default_factory=list)
    results: list[Added] = field(default_factory=list)
    bytes: int = 0

    def is_full(self) -> bool:
        return len(self.sources) >= BATCH_FILES or self.bytes >= BATCH_BYTES


@dataclass(slots=True)
class _Budget:
    """The bytes that an archive may still unpack to. Once they are spent, nothing else is read."""

    filename: str
    allowed: int
    left: int

    def spend(self, count: int) -> None:
        self.left -= count
        self.check()

    def check(self) -> None:
        if self.left < 0:
            raise ArchiveLimit(f"{self.filename} unpacks to more than {self.allowed:,} bytes")


def batches(archive: NewSource, limits: ArchiveLimits, incoming: Path | None = None) -> Iterator[Batch]:
    """Unpack the members of an archive in batches, below `incoming`.

    An error of the archive itself is the result of the archive.
    """
    reader = _Reader(archive, limits)
    stream = list_members(archive.path, archive.filename, limits)
    more = True
    while more:
        with tempfile.TemporaryDirectory(dir=incoming) as folder:
            batch = Batch()
            more = _fill(batch, stream, reader, Path(folder))
            yield batch


def _fill(batch: Batch, stream: Iterator[Member], reader: _Reader, folder: Path) -> bool:
    """Unpack until the batch is full; return whether there may be more."""
    while not batch.is_full():
        try:
            member = next(stream, None)
        except DocumentError as error:
            batch.results.append(Added(reader.archive.source, None, "failed", 0, error.info()))
            return False
        if member is None:
            return False
        reader.unpack_member(member, batch, folder / str(len(batch.sources)))
    return True


class _Reader:
    """Unpacks members of one archive, within its limits."""

    def __init__(self, archive: NewSource, limits: ArchiveLimits) -> None:
        self.archive = archive
        self._limits = limits
        allowed = limits.allowed(archive.path.stat().st_size)
        self._budget = _Budget(archive.filename, allowed, allowed)
        self._seen: set[str] = set()

    def unpack_member(self, member: Member, batch: Batch, target: Path) -> None:
        name = safe_name(member.name)
        source = f"{self.archive.source}{INSIDE}{name or as_text(member.name)}"
        if reason := member.left_out or ("hidden" if name is not None and is_hidden(name) else ""):
            batch.results.append(Added(source, None, "skipped", 0, None, (reason,)))
            return
        try:
            self._check(member, name)
            batch.bytes += self._unpack(member, target)
            assert name is not None
            filename = name.rpartition("/")[2]
            if is_archive(target, filename):
                raise ArchiveMember(f"{name} is an archive inside an archive")
        except DocumentError as error:
            batch.results.append(Added(source, None, "failed", 0, error.info()))
            target.unlink(missing_ok=True)
            return
        member_source = replace(self.archive, path=target, source=source, filename=filename, mime="", renew=False)
        batch.sources.append(member_source)

    def _check(self, member: Member, name: str | None) -> None:
        if name is None:
            raise ArchiveMember(f"the name {as_text(member.name)[:100]!r} points out of the archive")
        if name in self._seen:
            raise ArchiveMember(f"{name} is in the archive more than once; the first one was added")
        self._seen.add(name)
        self._budget.check()
        check_not_encrypted(member)

    def _unpack(self, member: Member, target: Path) -> int:
        """Write a member to a file, and stop at the limits; return its size."""
        size = 0
        with member.stream() as stream, target.open("wb") as file:
            while block := stream.read(_BLOCK):
                size += len(block)
                self._budget.spend(len(block))
                if size > self._limits.member_bytes:
                    # The rest of this member must be unpacked to reach the next one of a tar.
                    self._budget.spend(max(0, member.claimed - size))
                    raise DocumentTooLarge(f"{as_text(member.name)} is larger than {self._limits.member_bytes:,} bytes")
                file.write(block)
        return size
