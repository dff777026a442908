"""Decodes bytes of unknown encoding into clean characters, in pieces.

Canonical text has no NUL and no lone surrogate: undecodable bytes and NUL become U+FFFD. Line ends become `\\n`. A
byte order mark at the beginning is dropped.
"""

from __future__ import annotations

import codecs
import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

REPLACEMENT = "\ufffd"
READ_BYTES = 256 * 1024

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MULTIBYTE = re.compile(rb"[\xc2-\xf4][\x80-\xbf]{1,3}")
_SURROGATE_BYTES = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
"""A lone surrogate as some programs write it: invalid UTF-8, but strong evidence that the rest is UTF-8."""
_UNDEFINED_1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")


@dataclass(frozen=True, slots=True)
class Encoding:
    """How to decode a file: the codec, the size of the mark to skip, and a warning."""

    codec: str
    skip: int = 0
    warnings: tuple[str, ...] = ()


_UTF8 = Encoding("utf-8")


def read_start(file: IO[bytes]) -> bytes:
    """Return the first `READ_BYTES` bytes of a file and one more, if there are as many.

    Asks for no more than there is: memory for more takes longer to reserve than a small file to read.
    """
    size = os.fstat(file.fileno()).st_size
    content = file.read(min(size, READ_BYTES) + 1)
    if size < len(content) <= READ_BYTES:  # it grows, or is no regular file
        content += file.read(READ_BYTES + 1 - len(content))
    return content


def detect_encoding(file: Path | bytes) -> Encoding:
    """Detect the encoding of a text file from its mark, its shape, or a whole pass that proves it to be UTF-8."""
    sample = file[:READ_BYTES] if isinstance(file, bytes) else next(_byte_pieces(file, 0), b"")
    if sample.isascii() and len(sample) < READ_BYTES and b"\x00" not in sample:
        return _UTF8
    for mark, codec in _MARKS:
        if sample.startswith(mark):
            return Encoding(codec, len(mark))
    if codec := unmarked_utf16(sample):
        return Encoding(codec)
    whole = len(sample) < READ_BYTES
    broken, characters = _utf8_census(iter((sample,)) if whole else _byte_pieces(file, 0))
    if not broken:
        return _UTF8
    if characters >= broken:
        subject = "1 character was" if broken == 1 else f"{broken} characters were"
        return Encoding("utf-8", warnings=(f"{subject} not valid UTF-8 and could not be read",))
    return _single_byte(sample)


def unmarked_utf16(sample: bytes) -> str:
    """Return the UTF-16 codec of a sample without a mark, or nothing.

    Text in any alphabet is full of spaces, digits and line ends, whose high byte is zero; in UTF-16 all those
    zeros are on one side.
    """
    pairs = len(sample) // 2
    if pairs < 2 or b"\x00" not in sample:
        return ""
    even, odd = sample[0 : 2 * pairs : 2].count(0), sample[1 : 2 * pairs : 2].count(0)
    least = max(min(4, pairs * 0.5), pairs * 0.1)  # a single NUL in a short text proves nothing
    if odd >= least and even * 20 <= odd:
        return "utf-16-le"
    if even >= least and odd * 20 <= even:
        return "utf-16-be"
    return ""


def _utf8_census(pieces: Iterator[bytes]) -> tuple[int, int]:
    """Count the sequences of a file that are not UTF-8, and its characters beyond ASCII."""
    broken = characters = 0
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for data in pieces:
        if data.isascii() and not decoder.getstate()[0]:
            continue
        text = decoder.decode(data)
        broken += text.count(REPLACEMENT) - data.count(b"\xef\xbf\xbd")
        broken -= 2 * len(_SURROGATE_BYTES.findall(data))  # three bytes that cannot be read are one character
        characters += len(_MULTIBYTE.findall(data))
    broken += decoder.decode(b"", final=True).count(REPLACEMENT)
    return max(broken, 0), characters


def _single_byte(sample: bytes) -> Encoding:
    codec, name = ("latin-1", "Latin-1") if _UNDEFINED_1252.search(sample) else ("cp1252", "Windows-1252")
    return Encoding(codec, warnings=(f"the file is not UTF-8 and was read as {name}",))


def characters(file: Path | bytes, encoding: Encoding) -> Iterator[str]:
    """Yield the text of a file in pieces, cleaned as canonical text requires."""
    if isinstance(file, bytes) and len(file) < READ_BYTES:
        text = file[encoding.skip :].decode(encoding.codec, "replace")
        yield clean(text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text)
        return
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding.codec)("replace"), translate=True)
    for data in _byte_pieces(file, encoding.skip):
        yield clean(decoder.decode(data))
    yield clean(decoder.decode(b"", final=True))


def clean(text: str) -> str:
    """Replace NUL and lone surrogates by U+FFFD, which preserves lengths."""
    if "\x00" in text:
        text = text.replace("\x00", REPLACEMENT)
    if not text.isascii() and _SURROGATE.search(text):
        text = _SURROGATE.sub(REPLACEMENT, text)
    return text


_SURROGATE = re.compile("[\ud800-\udfff]")


def _byte_pieces(file: Path | bytes, skip: int) -> Iterator[bytes]:
    with io.BytesIO(file) if isinstance(file, bytes) else file.open("rb") as stream:
        stream.seek(skip)
        while data := stream.read(READ_BYTES):
            yield data
