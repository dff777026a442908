"""What an archive holds, one member at a time. Names are never used as paths, and sizes are never believed."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
"""What may lie between two members of a tar: names and attributes, which are read into memory whole."""
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
    """How much an archive, and one member of it, may give."""

    members: int
    bytes: int
    member_bytes: int

    def allowed(self, packed: int) -> int:
        """What an archive of a size may unpack to."""
        return min(self.bytes, max(SMALL_BYTES, packed * MOST_RATIO))


@dataclass(frozen=True, slots=True)
class Member:
    """A regular file in an archive: its name as it is written there, and a way to its bytes.

    `claimed` is the size it says it has, which is good for nothing but giving up early.
    """

    name: str
    claimed: int
    encrypted: bool
    open: Any
    left_out: str = ""

    @contextmanager
    def stream(self) -> Iterator[IO[bytes]]:
        with translated_damage(self.name), self.open() as stream:
            yield stream


def named_archive(name: str) -> bool:
    """Whether a name is that of an archive of documents."""
    return name.lower().endswith((*_ZIP, *_TAR))


def is_archive(path: Path, filename: str) -> bool:
    """Whether a file is an archive of documents: its name says so, and its bytes do not say otherwise.

    An Office file is a zip too, but not by its name.
    """
    if not named_archive(filename):
        return False
    try:
        with path.open("rb") as file:
            start = file.read(512)
    except OSError:
        return False
    return start.startswith((b"PK\x03\x04", b"PK\x05\x06")) if filename.lower().endswith(_ZIP) else _is_tar(start)


def members(path: Path, filename: str, limits: ArchiveLimits) -> Iterator[Member]:
    """The regular files of an archive. Raises a `DocumentError` where the archive itself cannot be read."""
    found = _of_zip(path, filename, limits) if filename.lower().endswith(_ZIP) else _of_tar(path, filename)
    for number, member in enumerate(found):
        if number >= limits.members:
            raise ArchiveLimit(f"{filename} holds more than {limits.members:,} files")
        yield member


def safe_name(name: str) -> str | None:
    """A member's name as part of a source; nothing where it points out of the archive or cannot be shown."""
    plain = as_text(name).replace("\\", "/")
    parts = plain.split("/")
    if plain.startswith("/") or _DRIVE.match(plain) or ".." in parts or not plain.isprintable():
        return None
    return "/".join(part for part in parts if part not in ("", ".")) or None


@contextmanager
def translated_damage(name: str) -> Iterator[None]:
    """Whatever goes wrong while an archive is read leaves as an error of the tree."""
    try:
        yield
    except DocumentError:
        raise
    except _DAMAGED as error:
        raise ParseError(f"{name} is damaged or packed in a way that is not known: {error}") from error


def _is_tar(start: bytes) -> bool:
    return start.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")) or start[257:262] == b"ustar"


def _of_zip(path: Path, filename: str, limits: ArchiveLimits) -> Iterator[Member]:
    check_directory(Source(path, filename, "application/zip"), most_entries=limits.members)
    with translated_damage(filename), zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if stat.S_ISLNK(entry.external_attr >> 16):
                yield Member(entry.filename, 0, False, None, "a link")
            elif not entry.is_dir():
                encrypted = bool(entry.flag_bits & _ENCRYPTED_FLAG)
                yield Member(entry.filename, entry.file_size, encrypted, lambda entry=entry: archive.open(entry))


def _of_tar(path: Path, filename: str) -> Iterator[Member]:
    with translated_damage(filename), _decompressed(path) as raw:
        counted = _Counted(raw, filename)
        with tarfile.open(fileobj=cast(Any, counted), mode="r|") as archive:
            for entry in archive:
                counted.allow(entry.size + _HEADER_BYTES)
                if entry.islnk() or entry.issym():
                    yield Member(entry.name, 0, False, None, f"a link to {as_text(entry.linkname)[:100]}")
                elif not entry.isreg() and not entry.isdir():
                    yield Member(entry.name, 0, False, None, "no file")
                elif entry.isreg():
                    yield Member(entry.name, entry.size, False, lambda entry=entry: archive.extractfile(entry))
                vars(archive)["members"] = []  # a stream never goes back, so nothing need be remembered


def _decompressed(path: Path) -> IO[bytes]:
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


class _Counted:
    """A stream that gives no more than was allowed since the last member: headers may not grow without end."""

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


def refused_if_encrypted(member: Member) -> None:
    if member.encrypted:
        raise EncryptedDocument(f"{as_text(member.name)} is protected by a password")
