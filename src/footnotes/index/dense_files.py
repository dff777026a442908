"""The files of the dense index: segments of keys and fixed-point vectors, each written once and checksummed.

A component x is stored as round(32767 · x) in 16 bits: as exact as half precision for unit vectors, and ten times as
fast to convert to single precision.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footnotes.index import IndexDamaged, Keys, damage_told_apart, manifest

Rows = NDArray[np.int16]
SCALE = 32_767.0


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of rows in key order: `name.keys` and `name.vectors`."""

    name: str
    rows: int
    keys_crc: int
    vectors_crc: int


@dataclass(frozen=True, slots=True)
class Graph:
    """A saved graph over the first `rows` rows, including removed ones."""

    name: str
    last_key: int
    crc: int


@dataclass(frozen=True, slots=True)
class Contents:
    """The content of a dense index's manifest."""

    identity: str
    format: int
    seq: int
    dimensions: int
    segments: tuple[Segment, ...] = ()
    graph: Graph | None = None
    removed: tuple[tuple[int, int], ...] = ()


def fixed_point(stored: bytes) -> Rows:
    """Convert concatenated half-precision vectors from the store to rows of a segment."""
    rows: Rows = np.rint(np.frombuffer(stored, dtype=np.float16).astype(np.float32) * SCALE).astype(np.int16)
    return rows


def read_contents(folder: Path) -> Contents | None:
    raw = manifest.read(folder) if folder.is_dir() else None
    if raw is None:
        return None
    try:
        return Contents(
            identity=raw["identity"],
            format=raw["format"],
            seq=raw["seq"],
            dimensions=raw["dimensions"],
            segments=tuple(Segment(**item) for item in raw["segments"]),
            graph=Graph(**raw["graph"]) if raw["graph"] else None,
            removed=tuple((first, count) for first, count in raw["removed"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise IndexDamaged(f"the manifest is not one of a dense index: {error}") from error


def write_contents(folder: Path, contents: Contents) -> None:
    """Write `contents` as the state on disk, then delete files it no longer names."""
    manifest.write(folder, asdict(contents))
    names = {manifest.NAME}
    for segment in contents.segments:
        names |= {f"{segment.name}.keys", f"{segment.name}.vectors"}
    if contents.graph:
        names.add(contents.graph.name)
    for path in folder.iterdir():
        if path.name not in names:
            path.unlink(missing_ok=True)


def write_segment(folder: Path, keys: Keys, vectors: Sequence[Rows]) -> Segment:
    """Write rows as a new segment; `vectors` may be several arrays, to avoid a copy."""
    name = f"segment-{int(keys[0])}-{int(keys[-1])}-{len(keys)}"
    keys_path, vectors_path = folder / f"{name}.keys", folder / f"{name}.vectors"
    _write(keys_path, [keys])
    _write(vectors_path, vectors)
    return Segment(name, len(keys), manifest.crc_of(keys_path), manifest.crc_of(vectors_path))


def load_segment(folder: Path, segment: Segment, dimensions: int, *, check: bool) -> tuple[Keys, Rows]:
    """Check the checksums of a segment, and map its rows into memory."""
    keys_path, vectors_path = folder / f"{segment.name}.keys", folder / f"{segment.name}.vectors"
    with damage_told_apart(f"{segment.name} cannot be read"):
        if keys_path.stat().st_size != segment.rows * 8 or vectors_path.stat().st_size != segment.rows * dimensions * 2:
            raise IndexDamaged(f"{segment.name} has the wrong size")
        if check:
            check_file(keys_path, segment.keys_crc)
            check_file(vectors_path, segment.vectors_crc)
        keys = np.fromfile(keys_path, dtype=np.int64)
        mapped = np.memmap(vectors_path, dtype=np.int16, mode="r", shape=(segment.rows, dimensions))
    # Return a plain array, because indexing a memmap is several times slower.
    return keys, mapped.view(np.ndarray)


def check_file(path: Path, crc: int) -> None:
    with damage_told_apart(f"{path.name} cannot be read"):
        found = manifest.crc_of(path)
    if found != crc:
        raise IndexDamaged(f"{path.name} does not match its checksum")


def _write(path: Path, arrays: Sequence[NDArray[Any]]) -> None:
    with path.open("wb") as file:
        for array in arrays:
            file.write(np.ascontiguousarray(array).data)
        file.flush()
        os.fsync(file.fileno())
