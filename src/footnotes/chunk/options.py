"""Options of chunkers: whole numbers within bounds, or a clear error."""

from __future__ import annotations

from collections.abc import Mapping

from footnotes.errors import OptionError

Bounds = Mapping[str, tuple[int, int]]

LEAST_TOKENS, MOST_TOKENS = 16, 100_000


def check_options(chunker: str, bounds: Bounds, given: Mapping[str, object]) -> dict[str, int]:
    """The options as whole numbers, every one inside its bounds (both ends allowed)."""
    checked = {}
    for name, value in given.items():
        low, high = bounds[name]
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise OptionError(f"{name} of the chunker {chunker} must be a whole number from {low} to {high}")
        checked[name] = value
    return checked


def check_overlap(chunker: str, size: int, overlap: int) -> None:
    """An overlap of half a chunk or more would repeat everything more than twice."""
    if overlap * 2 > size:
        raise OptionError(f"overlap of the chunker {chunker} must be at most half the size, {size // 2}")
