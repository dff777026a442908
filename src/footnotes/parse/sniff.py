"""Detects the type of a file: from its bytes, then from its name, and by a model if both are inconclusive."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from footnotes.errors import EmptyDocument, EncryptedDocument, SourceUnreadable, UnsupportedType
from footnotes.parse import types_by_name as types
from footnotes.parse.catalog import signatures, types_by_suffix
from footnotes.parse.decode import READ_BYTES, detect_encoding, unmarked_utf16
from footnotes.parse.types_by_name import PLAIN

_ZIP, _OLE = "application/zip", "application/x-ole-storage"
_CONTAINERS = (
    (b"PK\x03\x04", _ZIP),
    (b"PK\x05\x06", _ZIP),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _OLE),
)
"""Files whose first bytes only name the container format."""
_UNREAD = (
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
"""Files that no built-in parser reads. They are named in the error, or read by a parser of another package."""
_IN_ZIP = (
    (b"word/document", types.DOCX),
    (b"ppt/presentation.xml", types.PPTX),
    (b"xl/workbook.xml", types.XLSX),
    (b"xl/workbook.bin", types.XLSB),
)
_STATED_IN_ZIP = (types.EPUB, types.ODT, types.ODP, types.ODS)
_TOLD_FROM_BYTES = frozenset([*_STATED_IN_ZIP, *(mime for _, mime in _IN_ZIP), types.XLS, types.PDF, types.RTF])
"""Types that a name alone never proves."""
_HTML = re.compile(r"\s*(?:<!--.{0,2000}?-->\s*)*(?:<!doctype\s+html|<html|<head|<body)", re.IGNORECASE | re.DOTALL)
_XML = re.compile(r"\s*<\?xml\s")
_MAIL = re.compile(r"(?:[!-9;-~]{1,76}:[^\n]{0,2000}\n(?:[ \t][^\n]{0,2000}\n){0,50}){2}")
_MAIL_FIELDS = re.compile(r"(?im)^(?:from|message-id|received|mime-version|return-path|delivered-to):")
_PDF_HEADER_WITHIN = 1024
_MARKUP_WITHIN = 4096
_DIRECTORY_BYTES = 1 << 20
_TEXT_CONTROLS = frozenset(b"\t\n\x0b\x0c\r\x1b\x08")
_CONTROLS = bytes(code for code in range(32) if code not in _TEXT_CONTROLS) + b"\x7f"
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LEAST_SURE = 0.8


@dataclass(frozen=True, slots=True)
class Sniffed:
    """Detect the content type of a file; return it with warnings."""

    mime: str
    warnings: tuple[str, ...] = ()


def sniff(path: Path, filename: str, content: bytes | None = None) -> Sniffed:
    """Detect the content type of a file, from all its bytes if given.

    If the name promises another type, add a warning.
    """
    sample = _sample(path, filename, content)
    suffix = PurePath(filename).suffix.lower()
    promised = types_by_suffix().get(suffix)
    mime = _binary_type(path, filename, sample, promised)
    if mime is None:
        if _is_text(path, sample):
            mime = _text_type(path, sample, promised)
        elif promised is not None and promised not in _TOLD_FROM_BYTES and not _holds_characters(promised):
            mime = promised
        else:
            raise UnsupportedType(f"{filename} has an unknown binary format")
    if promised and promised != mime:
        return Sniffed(mime, (f"the name ends in {suffix}, but the content is {mime}",))
    return Sniffed(mime)


def is_text_in_memory(filename: str, content: bytes) -> bool:
    """Return whether bytes are plain text or Markdown by their name, which can be parsed without a file."""
    if types_by_suffix().get(PurePath(filename).suffix.lower()) not in (PLAIN, types.MARKDOWN):
        return False
    known = (*_beginnings(), *_MARKS, b"\x00")
    return len(content) <= READ_BYTES and not content.startswith(known) and _reads_plainly(content)


def _reads_plainly(content: bytes) -> bool:
    is_clean = len(content) == len(content.translate(None, _CONTROLS))
    return is_clean and (b"<" not in content[:_MARKUP_WITHIN] or _plain_type(content) is None)


def _sample(path: Path, filename: str, content: bytes | None) -> bytes:
    try:
        sample = _read_start(path) if content is None else content[:READ_BYTES]
    except OSError as error:
        raise SourceUnreadable(f"{filename} cannot be read: {error.strerror or error}") from error
    if _without_mark(sample).strip(b" \t\r\n\x0b\x0c\x00") == b"" and len(sample) < READ_BYTES:
        raise EmptyDocument(f"{filename} is empty")
    return sample


def _read_start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(READ_BYTES)


def _without_mark(sample: bytes) -> bytes:
    if not sample.startswith(_MARKS):
        return sample
    return sample[next(len(mark) for mark in _MARKS if sample.startswith(mark)) :]


# ── binary


def _binary_type(path: Path, filename: str, sample: bytes, promised: str | None) -> str | None:
    if not sample.startswith(_beginnings()) and promised != types.PDF:  # nearly no text does
        return None
    declared = [mime for signature, mime in signatures() if sample.startswith(signature)]
    if declared:
        return promised if promised in declared else declared[0]
    found = next((mime for signature, mime in (*_CONTAINERS, *_UNREAD) if sample.startswith(signature)), None)
    if found == _ZIP:
        found = _type_in_zip(path, sample)
    elif found == _OLE:
        found = _type_in_ole(path, filename)
    if found in (_ZIP, _OLE) and promised is not None and promised not in _TOLD_FROM_BYTES:
        return promised
    # Some programs write a line or a mail header before the PDF itself.
    if found is None and promised == types.PDF and b"%PDF-" in sample[:_PDF_HEADER_WITHIN]:
        return promised
    return found


@cache
def _beginnings() -> tuple[bytes, ...]:
    """Return the first bytes needed to detect any signature."""
    return tuple(beginning for beginning, _ in (*signatures(), *_CONTAINERS, *_UNREAD))


def _type_in_zip(path: Path, sample: bytes) -> str:
    """Detect the type of an archive by the names in its directory, without extracting it."""
    if sample[30:38] == b"mimetype":
        declared_mime = next((mime for mime in _STATED_IN_ZIP if sample[38:].startswith(mime.encode())), None)
        if declared_mime is not None:
            return declared_mime
    directory = _tail(path)
    return next((mime for name, mime in _IN_ZIP if name in directory or name in sample), _ZIP)


def _type_in_ole(path: Path, filename: str) -> str:
    """Detect the container of old Office files, and of new ones that have a password."""
    with path.open("rb") as file:
        content = file.read(8 << 20)
    if "EncryptedPackage".encode("utf-16-le") in content:
        raise EncryptedDocument(f"{filename} is protected by a password")
    if "Workbook".encode("utf-16-le") in content or "Book".encode("utf-16-le") in content:
        return types.XLS
    return _OLE


def _tail(path: Path) -> bytes:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _DIRECTORY_BYTES))
        return file.read()


# ── text


def _is_text(path: Path, sample: bytes) -> bool:
    """Return whether a sample looks like text: few control characters, fewer still if it is not UTF-8."""
    if sample.startswith(_MARKS) or unmarked_utf16(sample):
        return True
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if controls * 100 <= len(sample):
        return True
    return controls * 8 <= len(sample) and detect_encoding(path).codec == "utf-8"


def _text_type(path: Path, sample: bytes, promised: str | None) -> str:
    """Detect the kind of text: by clear evidence, else by its name, else by a model."""
    if promised is not None and b"<" not in sample[:_MARKUP_WITHIN] and _is_told_by_name(promised):
        return promised
    plainly = _plain_type(sample)
    if promised is not None and _is_told_by_name(promised):
        return plainly if plainly == types.HTML and promised in (PLAIN, types.CSV, types.TSV) else promised
    if plainly is not None:
        return plainly
    return PLAIN if promised else _guessed_type(path)


def _holds_characters(mime: str) -> bool:
    return mime.startswith("text/") or mime in (types.XML, types.JSON, types.JSON_LINES, types.NOTEBOOK, types.MAIL)


@cache
def _is_told_by_name(mime: str) -> bool:
    """Return whether only the name distinguishes a text of this type from others."""
    return mime not in _TOLD_FROM_BYTES and all(mime != declared for _, declared in signatures())


def _plain_type(sample: bytes) -> str | None:
    codec = unmarked_utf16(sample) or ("utf-16" if sample[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    text = sample[: 8192 if "16" in codec else 4096].decode(codec, "replace").replace("\r\n", "\n")
    if _HTML.match(text):
        return types.HTML
    if _XML.match(text):
        return types.HTML if "<html" in text else types.XML
    head = text.partition("\n\n")[0] + "\n"
    return types.MAIL if _MAIL.match(head) and len(_MAIL_FIELDS.findall(head)) > 1 else None


_GUESSES = {
    "html": types.HTML,
    "xml": types.XML,
    "csv": types.CSV,
    "tsv": types.TSV,
    "json": types.JSON,
    "jsonl": types.JSON_LINES,
    "ipynb": types.NOTEBOOK,
    "markdown": types.MARKDOWN,
    "rst": types.RST,
    "eml": types.MAIL,
    "cs": types.code_mime("csharp"),
    "shell": types.code_mime("bash"),
    **{language: types.code_mime(language) for language in types.LANGUAGES if language not in ("csharp", "bash")},
}
"""Magika's labels that have a parser; all others are plain text."""


def _guessed_type(path: Path) -> str:
    model = _magika()
    if model is None:
        return PLAIN
    found = model.identify_path(path)
    sure = found.ok and found.score >= _LEAST_SURE
    return _GUESSES.get(found.output.label, PLAIN) if sure else PLAIN


@cache
def _magika() -> Any:
    """Load Google's model of content types. Only for unknown names: it takes about 15 ms per file."""
    try:
        from magika import Magika
    except ImportError:
        return None
    return Magika()
