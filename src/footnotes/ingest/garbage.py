"""Sets how often Python collects garbage while many documents are ingested."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 50_000
"""A batch of drafts has this many objects. None of them is garbage before it is written, and a search takes as long as
parsing them."""


@contextmanager
def fewer_collections() -> Iterator[None]:
    """Collect garbage only after many new objects. Respects a caller who has already changed or disabled collection."""
    before = gc.get_threshold()
    if not 0 < before[0] < OBJECTS:
        yield
        return
    gc.set_threshold(OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
