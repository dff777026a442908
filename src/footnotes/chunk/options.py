"""Checks options of chunkers: whole numbers within bounds."""

from __future__ import annotations

from collections.abc import Mapping

from footnotes.errors import OptionError

Bounds = Mapping[str, tuple[int, int]]

LEAST_TOKENS, MOST_TOKENS = 16, 100_000


def check_options(chunker: str, bounds: Bounds, options: Mapping[str, object]) -> dict[str, int]:
    """Return the options as whole numbers. Raises if one is outside its bounds (both ends allowed)."""
    numbers = {}
    for name, value in options.items():
        low, high = bounds[name]
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise OptionError(f"{name} of the chunker {chunker} must be a whole number from {low} to {high}")
        numbers[name] = value
    return numbers


def check_overlap(chunker: str, size: int, overlap: int) -> None:
    """Raise if the overlap is half a chunk or more: everything would appear more than twice."""
    if overlap * 2 > size:
        raise OptionError(f"overlap of the chunker {chunker} must be at most half the size, {size // 2}")
