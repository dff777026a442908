"""Writes the content of entries to files with a size limit, and makes stamps."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from footnotes.errors import DocumentTooLarge

BLOCK = 1 << 20


def write_blocks(blocks: Iterable[bytes], target: Path, limit: int) -> Path:
    """Write blocks to a file; raise if they have more than `limit` bytes."""
    size = 0
    with target.open("wb") as file:
        for block in blocks:
            size += len(block)
            if size > limit:
                raise DocumentTooLarge(f"{target.name} is larger than {limit:,} bytes")
            file.write(block)
    return target


def write_text(text: str, target: Path) -> Path:
    target.write_bytes(text.encode("utf-8", "replace"))
    return target


def digest(*parts: object) -> str:
    """Return the hash of some values, for stamps and keys."""
    text = "\x1f".join(part if isinstance(part, str) else repr(part) for part in parts)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
