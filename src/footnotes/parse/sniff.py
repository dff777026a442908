"""What a file is: from its bytes first, then from its name."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path, PurePath

from footnotes.errors import EmptyDocument, SourceUnreadable, UnsupportedType
from footnotes.parse.decode import READ_BYTES, detect_encoding, unmarked_utf16

PLAIN = "text/plain"

NAMED = {
    ".txt": PLAIN,
    ".text": PLAIN,
    ".log": PLAIN,
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".mdown": "text/markdown",
    ".mkd": "text/markdown",
    ".pdf": "application/pdf",
}
"""What a name promises. The kinds that are text are told apart by name alone."""

_SIGNATURES = (
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\x7fELF", "application/x-executable"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"\x00asm", "application/wasm"),
)
_PDF_HEADER_WITHIN = 1024
_TEXT_CONTROLS = frozenset(b"\t\n\x0b\x0c\r\x1b\x08")
_CONTROLS = bytes(code for code in range(32) if code not in _TEXT_CONTROLS) + b"\x7f"
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Sniffed:
    """The content type of a file, and what was odd about it."""

    mime: str
    warnings: tuple[str, ...] = ()


def sniff(path: Path, filename: str) -> Sniffed:
    """The content type of a file. A name that promises something else is recorded as a warning."""
    sample = _sample(path, filename)
    suffix = PurePath(filename).suffix.lower()
    promised = NAMED.get(suffix)
    mime = _binary_type(sample, promised)
    if mime is None:
        if not _is_text(path, sample):
            raise UnsupportedType(f"{filename} is in a binary format that is not known")
        mime = promised if promised and is_textual(promised) else PLAIN
    if promised and promised != mime:
        return Sniffed(mime, (f"the name ends in {suffix}, but the content is {mime}",))
    return Sniffed(mime)


def is_textual(mime: str) -> bool:
    """Whether files of a type are read as characters."""
    return mime.startswith("text/")


def _sample(path: Path, filename: str) -> bytes:
    try:
        with path.open("rb") as file:
            sample = file.read(READ_BYTES)
    except OSError as error:
        raise SourceUnreadable(f"{filename} cannot be read: {error.strerror or error}") from error
    if _without_mark(sample).strip(b" \t\r\n\x0b\x0c\x00") == b"" and len(sample) < READ_BYTES:
        raise EmptyDocument(f"{filename} is empty")
    return sample


def _without_mark(sample: bytes) -> bytes:
    for mark in _MARKS:
        if sample.startswith(mark):
            return sample[len(mark) :]
    return sample


def _binary_type(sample: bytes, promised: str | None) -> str | None:
    for signature, mime in _SIGNATURES:
        if sample.startswith(signature):
            return mime
    # Some programs write a line or a mail header before the PDF itself.
    if promised == "application/pdf" and b"%PDF-" in sample[:_PDF_HEADER_WITHIN]:
        return promised
    return None


def _is_text(path: Path, sample: bytes) -> bool:
    """Whether a sample reads as text: few control characters, fewer still when it is not UTF-8."""
    if sample.startswith(_MARKS) or unmarked_utf16(sample):
        return True
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if controls * 100 <= len(sample):
        return True
    return controls * 8 <= len(sample) and detect_encoding(path).codec == "utf-8"
