"""The manifest of an index folder: its identity, its position, and the checksums to load it safely."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

from footnotes.index import IndexDamaged, damage_told_apart

NAME = "manifest.json"
_BLOCK = 1 << 20


def crc_of(path: Path) -> int:
    """Return the CRC-32 of a file's bytes."""
    crc = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            crc = zlib.crc32(block, crc)
    return crc


def write(folder: Path, content: dict[str, object]) -> None:
    """Replace the manifest in one step; it contains its own checksum."""
    body = json.dumps(content, sort_keys=True)
    temporary = folder / (NAME + ".new")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(f"{zlib.crc32(body.encode())}\n{body}\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / NAME)


def read(folder: Path) -> dict[str, Any] | None:
    """Return the manifest; None if there is none yet."""
    with damage_told_apart("the manifest cannot be read"):
        try:
            crc, _, body = (folder / NAME).read_text(encoding="utf-8").partition("\n")
        except FileNotFoundError:
            return None
        body = body.rstrip("\n")
        if int(crc) != zlib.crc32(body.encode()):
            raise IndexDamaged("the manifest's checksum is wrong")
        content: dict[str, object] = json.loads(body)
        return content
