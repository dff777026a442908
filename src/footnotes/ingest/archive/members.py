"""Lists the members of an archive. Names are never used as paths, and stated sizes are never trusted."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from footnotes.errors import ArchiveLimit, DocumentError, EncryptedDocument, ParseError, SourceUnreadable
from footnotes.ingest.names import as_text
from footnotes.parse import Source
from footnotes.parse.archive import MOST_RATIO, SMALL_BYTES, check_directory

_ZIP = (".zip",)
_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_ENCRYPTED_FLAG = 0x1
_HEADER_BYTES = 2 << 20
"""The most bytes between two members of a tar: names and attributes, which are read into memory."""
_DRIVE = re.compile(r"[A-Za-z]:")
_DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    NotImplementedError,
    EOFError,
    OSError,
    zlib.error,
    lzma.LZMAError,
    ValueError,
    RuntimeError,
)


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Limits of an archive and of one member."""

    members: int
    bytes: int
    member_bytes: int

    def allowed(self, packed: int) -> int:
        """Return how many bytes an archive of a packed size may unpack to."""
        return min(self.bytes, max(SMALL_BYTES, packed * MOST_RATIO))


@dataclass(frozen=True, slots=True)
class Member:
    """A regular file in an archive: its name as written there, and a function that opens it.

    `claimed` is the size that the archive states, used only to stop early.
    """

    name: str
    claimed: int
    encrypted: bool
    open: Callable[[], IO[bytes] | None] | None
    left_out: str = ""

    @contextmanager
    def stream(self) -> Iterator[IO[bytes]]:
        assert self.open is not None
        with translate_damage(self.name):
            member = self.open()
            assert member is not None
            with member as stream:
                yield stream


def has_archive_name(name: str) -> bool:
    """Return whether a file name is the name of an archive of documents."""
    return name.lower().endswith((*_ZIP, *_TAR))


def is_archive(path: Path, filename: str) -> bool:
    """Return whether a file is an archive of documents, by its name and its first bytes.

    An Office file is a zip too, but not by its name.
    """
    if not has_archive_name(filename):
        return False
    try:
        with path.open("rb") as file:
            start = file.read(512)
    except OSError:
        return False
    return start.startswith((b"PK\x03\x04", b"PK\x05\x06")) if filename.lower().endswith(_ZIP) else _is_tar(start)


def list_members(path: Path, filename: str, limits: ArchiveLimits) -> Iterator[Member]:
    """List the regular files of an archive. Raises a `DocumentError` if the archive itself cannot be read."""
    found = _zip_members(path, filename, limits) if filename.lower().endswith(_ZIP) else _tar_members(path, filename)
    for number, member in enumerate(found):
        if number >= limits.members:
            raise ArchiveLimit(f"{filename} has more than {limits.members:,} files")
        yield member


def safe_name(name: str) -> str | None:
    """Return a member's name as part of a source; None if it points out of the archive or is not printable."""
    plain = as_text(name).replace("\\", "/")
    parts = plain.split("/")
    if plain.startswith("/") or _DRIVE.match(plain) or ".." in parts or not plain.isprintable():
        return None
    return "/".join(part for part in parts if part not in ("", ".")) or None


def is_hidden(name: str) -> bool:
    """Return whether a member, or a folder above it, is hidden or a fork of macOS."""
    return any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))


@contextmanager
def translate_damage(name: str) -> Iterator[None]:
    """Translate every error of reading an archive to one of our errors."""
    try:
        yield
    except DocumentError:
        raise
    except _DAMAGED as error:
        raise ParseError(f"{name} is damaged or has an unknown compression: {error}") from error


def _is_tar(start: bytes) -> bool:
    return start.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")) or start[257:262] == b"ustar"


def _zip_members(path: Path, filename: str, limits: ArchiveLimits) -> Iterator[Member]:
    check_directory(Source(path, filename, "application/zip"), most_entries=limits.members)
    with translate_damage(filename), zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if stat.S_ISLNK(entry.external_attr >> 16):
                yield Member(entry.filename, 0, False, None, "a link")
            elif not entry.is_dir():
                encrypted = bool(entry.flag_bits & _ENCRYPTED_FLAG)
                yield Member(entry.filename, entry.file_size, encrypted, partial(archive.open, entry))


def _tar_members(path: Path, filename: str) -> Iterator[Member]:
    with translate_damage(filename), _decompress(path) as raw:
        limited = _LimitedStream(raw, filename)
        with tarfile.open(fileobj=cast(Any, limited), mode="r|") as archive:
            for entry in archive:
                limited.allow(entry.size + _HEADER_BYTES)
                if entry.islnk() or entry.issym():
                    yield Member(entry.name, 0, False, None, f"a link to {as_text(entry.linkname)[:100]}")
                elif not entry.isreg() and not entry.isdir():
                    yield Member(entry.name, 0, False, None, "no file")
                elif entry.isreg():
                    yield Member(entry.name, entry.size, False, partial(archive.extractfile, entry))
                vars(archive)["members"] = []  # a stream never goes back: free the memory


def _decompress(path: Path) -> IO[bytes]:
    try:
        with path.open("rb") as file:
            start = file.read(6)
    except OSError as error:
        raise SourceUnreadable(f"{path.name} cannot be read ({error.strerror})") from error
    opened: Any = path.open
    for magic, module in ((b"\x1f\x8b", gzip), (b"BZh", bz2), (b"\xfd7zXZ\x00", lzma)):
        if start.startswith(magic):
            opened = lambda mode, module=module: module.open(path, mode)  # noqa: E731
    stream: IO[bytes] = opened("rb")
    return stream


class _LimitedStream:
    """A stream that limits the bytes between members: headers must not grow without end."""

    def __init__(self, stream: IO[bytes], filename: str) -> None:
        self._stream = stream
        self._filename = filename
        self._left = _HEADER_BYTES

    def allow(self, count: int) -> None:
        self._left = count

    def read(self, count: int) -> bytes:
        data = self._stream.read(count)
        self._left -= len(data)
        if self._left < 0:
            raise ArchiveLimit(f"{self._filename} has headers larger than {_HEADER_BYTES >> 20} MB")
        return data


def check_not_encrypted(member: Member) -> None:
    if member.encrypted:
        raise EncryptedDocument(f"{as_text(member.name)} is protected by a password")
