"""What parsing one document may cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Address space and processor time of the parser process, and characters a document may give."""

    memory_bytes: int = 2 * 1024**3
    seconds: int = 300
    characters: int = 1_000_000_000
