"""Limits on the cost of parsing one document."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Address space and processor time of the parser process, and the maximum characters of a document."""

    memory_bytes: int = 512 * 1024**2
    seconds: int = 300
    characters: int = 1_000_000_000
