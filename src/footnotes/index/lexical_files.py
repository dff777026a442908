"""Checks the files of a tantivy index before tantivy maps them into memory."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

from footnotes.index import IndexDamaged

_FOOTER_MAGIC = 1337
_PARTS = ("idx", "pos", "term", "fast", "fieldnorm", "store")


def check_segments(folder: Path, known: set[str]) -> None:
    """Raise `IndexDamaged` unless every file that meta.json names is there and matches its own checksum.

    tantivy ends each file with its CRC-32 but does not compare it when it opens the file. Files are written once and
    named for good: those that are `known`, and found to be right now, need not be read again.
    """
    for segment in _segments(folder):
        name = str(segment["segment_id"]).replace("-", "")
        files = [f"{name}.{part}" for part in _PARTS]
        if deletes := segment.get("deletes"):
            files.append(f"{name}.{deletes['opstamp']}.del")
        for file in files:
            if file not in known:
                _check_footer(folder / file)
                known.add(file)


def segment_sizes(folder: Path) -> list[int]:
    """How many chunks each segment was written with."""
    return [int(segment["max_doc"]) for segment in _segments(folder)]


def _segments(folder: Path) -> list[dict[str, Any]]:
    try:
        segments: list[dict[str, Any]] = json.loads((folder / "meta.json").read_text(encoding="utf-8"))["segments"]
        return segments
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise IndexDamaged(f"meta.json cannot be read: {error}") from error


def _check_footer(path: Path) -> None:
    try:
        content = path.read_bytes()
        length, magic = struct.unpack("<II", content[-8:])
        footer = json.loads(content[-8 - length : -8])
        body = memoryview(content)[: -8 - length]
    except (OSError, struct.error, ValueError) as error:
        raise IndexDamaged(f"{path.name} cannot be read: {error}") from error
    if magic != _FOOTER_MAGIC or zlib.crc32(body) != footer["crc"]:
        raise IndexDamaged(f"{path.name} does not match its checksum")
