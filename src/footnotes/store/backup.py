"""A backup file: one SQLite database that holds snapshots of a library as blocks, each block once.

The next backup into the same file stores only changed blocks, and every snapshot stays restorable. A backup is one
transaction: an interrupted one leaves the file as it was.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any

import apsw

from footnotes.errors import BackupDamaged, NotFound, StoreFull, StoreUnavailable
from footnotes.store import statements

APPLICATION_ID = 0x466E4261
BLOCK_BYTES = 16 * 1024
"""Two pages of a database: a new document changes few blocks of this size."""
DIGEST_BYTES = 32
LONGEST_PATH = 512


@dataclass(frozen=True, slots=True)
class BackupSnapshot:
    """One state of a library in a backup file."""

    id: int
    created_at: str
    library: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to back up. `fixed` files never change under their path, so the last snapshot's blocks are reused."""

    path: str
    content: Path
    fixed: bool = False
    passing: bool = False
    """Whether the file may be gone when its turn comes, because it is no longer needed."""


class SourceVanished(Exception):
    """A file was deleted during the backup, so its database must be copied again."""


class BackupFile:
    """The backup file at a path. One process writes it at a time."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        if not create and not path.is_file():
            raise NotFound(f"there is no backup at {path}", remedy="Check the name of the file.")
        self._path = path
        with _translated(path):
            if create:
                path.touch(mode=0o600)
                path.chmod(0o600)  # it contains documents and hashes of keys
            size = path.stat().st_size
            if (size and not _is_backup(path)) or (not size and not create):
                raise BackupDamaged(f"{path} is not a backup", remedy="Name a file that `footnotes backup` made.")
            flags = apsw.SQLITE_OPEN_READWRITE if create else apsw.SQLITE_OPEN_READONLY
            self._connection = apsw.Connection(str(path), flags=flags)
            self._connection.set_busy_timeout(5_000)
            if create:
                self._prepare(is_new=not size)

    def _prepare(self, *, is_new: bool) -> None:
        self._connection.execute("PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA synchronous = FULL")
        if is_new:
            self._connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            self._connection.execute(_sql()["schema"])
            self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def __enter__(self) -> BackupFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def snapshots(self) -> list[BackupSnapshot]:
        """Return all snapshots, oldest first."""
        with _translated(self._path):
            return [BackupSnapshot(*row) for row in self._connection.execute(_sql()["snapshots"])]

    def snapshot(self, number: int | None = None) -> BackupSnapshot:
        """Return the snapshot with a number, by default the newest."""
        found = [one for one in self.snapshots() if number in (None, one.id)]
        if not found:
            what = "no snapshot" if number is None else f"no snapshot {number}"
            raise NotFound(f"{self._path} has {what}", remedy="See `footnotes restore FILE --list`.")
        return found[-1]

    # ── writing

    def add(self, files: Iterable[SourceFile], *, library: str, keep: int | None = None) -> BackupSnapshot:
        """Add a snapshot in one transaction, read it back, and drop all but the newest `keep` snapshots."""
        with _translated(self._path), self._connection:
            moment = datetime.now(UTC).isoformat(timespec="seconds")
            row = self._connection.execute(_sql()["put_snapshot"], (moment, library)).fetchone()
            assert row is not None
            number = int(row[0])
            for file in files:
                self._put(number, file)
            if keep is not None:
                self._drop_older(keep)
        with _translated(self._path):
            self._connection.execute("PRAGMA incremental_vacuum")
        self.check(number)
        return self.snapshot(number)

    def _put(self, snapshot: int, file: SourceFile) -> None:
        if file.fixed:
            same = self._connection.execute(_sql()["same_file"], (snapshot, file.path)).fetchone()
            if same is not None and file.content.exists():
                self._connection.execute(_sql()["put_file"], (snapshot, file.path, *same))
                return
        try:
            content = file.content.open("rb")
        except FileNotFoundError as error:
            if file.passing:
                return
            raise SourceVanished(file.path) from error
        whole, size, blocks = hashlib.sha256(), 0, bytearray()
        with content:
            while block := content.read(BLOCK_BYTES):
                whole.update(block)
                size += len(block)
                blocks += self._put_block(block)
        row = (snapshot, file.path, size, whole.digest(), bytes(blocks))
        self._connection.execute(_sql()["put_file"], row)

    def _put_block(self, block: bytes) -> bytes:
        digest = hashlib.sha256(block).digest()
        if self._connection.execute(_sql()["has_block"], (digest,)).fetchone() is None:
            packed = zlib.compress(block, 1)
            smaller = len(packed) < len(block)
            self._connection.execute(_sql()["put_block"], (digest, smaller, packed if smaller else block))
        return digest

    def _drop_older(self, keep: int) -> None:
        self._connection.execute(_sql()["drop_older"], (keep,))
        used: set[bytes] = set()
        for (blocks,) in self._connection.execute(_sql()["block_lists"]):
            used.update(_digests(blocks))
        for (digest,) in self._connection.execute(_sql()["block_digests"]).fetchall():
            if digest not in used:
                self._connection.execute(_sql()["drop_block"], (digest,))

    # ── reading

    def check(self, number: int) -> None:
        """Read every block of a snapshot and compare it with its digest, and every file with its own."""
        for _, content in self._files(number):
            for _ in content:
                pass

    def extract(self, number: int, folder: Path) -> int:
        """Write the files of a snapshot below a folder, checked and durable. Return their number."""
        count = 0
        for path, content in self._files(number):
            target = folder / path
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                for block in content:
                    out.write(block)
                out.flush()
                os.fsync(out.fileno())
            count += 1
        return count

    def has(self, number: int, path: str) -> bool:
        """Return whether a snapshot contains a file."""
        with _translated(self._path):
            return any(row[0] == path for row in self._connection.execute(_sql()["files"], (number,)))

    def _files(self, number: int) -> Iterator[tuple[str, Iterator[bytes]]]:
        with _translated(self._path):
            rows: Any = self._connection.execute(_sql()["files"], (number,)).fetchall()
            for path, size, sha256, blocks in rows:
                if not _is_inside(path):
                    raise BackupDamaged(f"{self._path} names a file outside the library ({path!r})")
                yield path, self._content(path, size, sha256, blocks)

    def _content(self, path: str, size: int, sha256: bytes, blocks: bytes) -> Iterator[bytes]:
        whole, found = hashlib.sha256(), 0
        for digest in _digests(blocks):
            block = self._block(digest)
            whole.update(block)
            found += len(block)
            yield block
        if found != size or whole.digest() != sha256:
            raise BackupDamaged(f"{path} in {self._path} does not match its checksum")

    def _block(self, digest: bytes) -> bytes:
        row = self._connection.execute(_sql()["block"], (digest,)).fetchone()
        try:
            block = b"" if row is None else _unpack(row[1]) if row[0] else bytes(row[1])
        except zlib.error:
            block = b""
        if hashlib.sha256(block).digest() != digest:
            raise BackupDamaged(f"a block of {self._path} does not match its checksum")
        return block


def _digests(blocks: bytes) -> Iterator[bytes]:
    for start in range(0, len(blocks), DIGEST_BYTES):
        yield blocks[start : start + DIGEST_BYTES]


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    ordinary = path.isprintable() and "\\" not in path and len(path) <= LONGEST_PATH
    return bool(parts) and ordinary and not PurePosixPath(path).is_absolute() and ".." not in parts


def _is_backup(path: Path) -> bool:
    """Return whether a file starts like a backup: SQLite's header with our number in it."""
    with path.open("rb") as file:
        head = file.read(100)
    return head.startswith(b"SQLite format 3\x00") and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


def _unpack(content: bytes) -> bytes:
    """Decompress a block. Output longer than a block is cut, so it fails its digest."""
    return zlib.decompressobj().decompress(content, BLOCK_BYTES + 1)


def _sql() -> dict[str, str]:
    return {name: query.sql for name, query in statements.load_queries(__package__).items()}


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise BackupDamaged(f"{path} is damaged ({error})") from error
    except apsw.FullError as error:
        raise StoreFull(f"the disk is full; {path} is as it was before") from error
    except (apsw.Error, OSError) as error:
        raise StoreUnavailable(f"{path} cannot be written or read ({error})") from error
