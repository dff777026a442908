"""The files of a tantivy index: checked before tantivy maps them into memory, cleaned before it writes."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from footnotes.index import IndexDamaged, damage_told_apart, manifest

_FOOTER_MAGIC = 1337
_PARTS = ("idx", "pos", "term", "fast", "fieldnorm", "store")
_LISTS = ("meta.json", ".managed.json", manifest.NAME)


def segment_files(folder: Path) -> list[str]:
    """Return every segment file that meta.json names."""
    files: list[str] = []
    for segment in _segments(folder):
        name = str(segment["segment_id"]).replace("-", "")
        files.extend(f"{name}.{part}" for part in _PARTS)
        if deletes := segment.get("deletes"):
            files.append(f"{name}.{deletes['opstamp']}.del")
    return files


def check_segments(folder: Path, expected: Mapping[str, int], known: set[str]) -> None:
    """Raise `IndexDamaged` unless every file that meta.json names exists unchanged.

    `expected` are the checksums of the manifest. They lack files of a commit that was interrupted before the manifest
    was written; these are checked against the CRC-32 at their end, which tantivy does not check when it opens them.
    Files are written once and never reuse a name, so `known` good ones are not read again.
    """
    for file in segment_files(folder):
        if file in known:
            continue
        if file in expected:
            with damage_told_apart(f"{file} cannot be read"):
                found = manifest.crc_of(folder / file)
            if found != expected[file]:
                raise IndexDamaged(f"{file} does not match its checksum")
        else:
            _check_footer(folder / file)
        known.add(file)


def checksums(folder: Path, known: Mapping[str, int]) -> dict[str, int]:
    """Return the checksum of every file that meta.json names; `known` ones are not read again."""
    return {name: known[name] if name in known else manifest.crc_of(folder / name) for name in segment_files(folder)}


def sweep(folder: Path) -> None:
    """Remove files of an interrupted commit: tantivy never overwrites a file, so it would fail on them forever."""
    names = {*segment_files(folder), *_LISTS}
    for path in folder.iterdir():
        if path.name not in names and path.suffix != ".lock":
            path.unlink(missing_ok=True)


def segment_sizes(folder: Path) -> list[int]:
    """Return the number of chunks in each segment when it was written."""
    return [int(segment["max_doc"]) for segment in _segments(folder)]


def _segments(folder: Path) -> list[dict[str, Any]]:
    with damage_told_apart("meta.json cannot be read"):
        segments: list[dict[str, object]] = json.loads((folder / "meta.json").read_text(encoding="utf-8"))["segments"]
        return segments


def _check_footer(path: Path) -> None:
    with damage_told_apart(f"{path.name} cannot be read"):
        content = path.read_bytes()
        try:
            length, magic = struct.unpack("<II", content[-8:])
        except struct.error as error:
            raise IndexDamaged(f"{path.name} is cut off") from error
        footer = json.loads(content[-8 - length : -8])
        body = memoryview(content)[: -8 - length]
        if magic != _FOOTER_MAGIC or zlib.crc32(body) != footer["crc"]:
            raise IndexDamaged(f"{path.name} does not match its checksum")
