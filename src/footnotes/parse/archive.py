"""Enforces limits of zip archives on the unpacked bytes: declared sizes lie."""

from __future__ import annotations

import copy
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

from footnotes.errors import ArchiveLimit, EncryptedDocument, ParseError
from footnotes.parse import Source

MOST_ENTRIES = 10_000
MOST_BYTES = 1 << 30
MOST_RATIO = 200
SMALL_BYTES = 16 << 20
"""Below this size no ratio is suspicious: a page of spaces packs very well."""
_DIRECTORY_BYTES = 8 << 20
_END_RECORD = b"PK\x05\x06"
_ENCRYPTED_FLAG = 0x1
_READ_BYTES = 1 << 16


@contextmanager
def open_archive(source: Source) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive after checking every entry against the limits."""
    check_directory(source)
    try:
        with zipfile.ZipFile(source.path) as archive:
            check_entries(archive, source)
            yield archive
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError) as error:
        raise ParseError(f"{source.filename} is a damaged archive: {error}") from error


def check_directory(source: Source, *, most_entries: int = MOST_ENTRIES) -> None:
    """Reject a directory with too many entries before it is read into memory."""
    with source.path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - (1 << 16) - 22))
        tail = file.read()
    at = tail.rfind(_END_RECORD)
    if at < 0 or len(tail) < at + 22:
        raise ParseError(f"{source.filename} is a damaged archive: it has no directory")
    entries = int.from_bytes(tail[at + 10 : at + 12], "little")
    directory = int.from_bytes(tail[at + 12 : at + 16], "little")
    if entries > most_entries or max(_DIRECTORY_BYTES, most_entries * 800) < directory < 0xFFFFFFFF:
        raise ArchiveLimit(f"{source.filename} has more than {most_entries:,} entries")


def check_entries(archive: zipfile.ZipFile, source: Source) -> None:
    """Decompress everything once, discard it, and count the bytes."""
    entries = archive.infolist()
    if len(entries) > MOST_ENTRIES:
        raise ArchiveLimit(f"{source.filename} has more than {MOST_ENTRIES:,} entries")
    if any(entry.flag_bits & _ENCRYPTED_FLAG for entry in entries):
        raise EncryptedDocument(f"{source.filename} is protected by a password")
    packed = max(1, source.path.stat().st_size)
    allowed = min(MOST_BYTES, max(SMALL_BYTES, packed * MOST_RATIO))
    unpacked = 0
    for entry in entries:
        unpacked += _true_size(archive, entry, allowed - unpacked)
        if unpacked > allowed:
            raise ArchiveLimit(f"{source.filename} unpacks to more than {allowed >> 20} MB")


def _true_size(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: int) -> int:
    """Count the real bytes of an entry, up to the limit."""
    probe = copy.copy(entry)
    probe.file_size = room + 1  # read on past the declared size
    probe.CRC = None  # type: ignore[assignment]  # the sum is of the declared content
    size = 0
    with archive.open(probe) as stream:
        while size <= room and (data := stream.read(_READ_BYTES)):
            size += len(data)
    return size
