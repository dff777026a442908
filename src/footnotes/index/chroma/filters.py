"""Filters as Chroma understands them, and what is searched where it does not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from footnotes.index import Allowed, Found, Keys, Vector
from footnotes.index.chroma.calls import IDS_AT_ONCE, Where
from footnotes.index.chroma.metadata import OWN

DOCUMENT, SEQ, FACETS = f"{OWN}document", f"{OWN}seq", f"{OWN}facets"
MOST_TERMS = 40
"""Each term of a filter is a query of its own to SQLite under Chroma (about 1 ms for 20,000 chunks)."""


def sayable(facet: str) -> str:
    """A facet without what is no Unicode text; what is found by it is checked anyway."""
    return facet.encode("utf-8", "replace").decode()


def any_of(facets: Sequence[str]) -> Where:
    """Records that have one of the facets. They are kept as a list: half as slow as a truth value for each."""
    clauses: list[Where] = [{FACETS: {"$contains": sayable(facet)}} for facet in facets]
    return clauses[0] if len(clauses) == 1 else {"$or": clauses}


def lets_nothing_through(allowed: Allowed | None) -> bool:
    return allowed is not None and allowed.listed and not len(allowed.keys)


def all_of(clauses: Sequence[Where]) -> Where:
    return clauses[0] if len(clauses) == 1 else {"$and": list(clauses)}


def where_of(allowed: Allowed) -> Where | None:
    """A filter in facets; None where it cannot be said so, or not briefly."""
    wheres = wheres_of(allowed.facets)
    return wheres[0] if len(wheres) == 1 and sum(map(len, allowed.facets)) <= MOST_TERMS else None


def wheres_of(groups: Sequence[Sequence[str]]) -> list[Where]:
    """A filter in facets as several that are brief and mean the same together; none where nothing passes."""
    if not groups or not all(groups):
        return []
    *narrow, widest = sorted(groups, key=len)
    parts = [widest[start : start + MOST_TERMS] for start in range(0, len(widest), MOST_TERMS)]
    return [all_of([any_of(group) for group in (*narrow, part)]) for part in parts]


def batches(keys: Keys, size: int = IDS_AT_ONCE) -> list[Keys]:
    return [keys[start : start + size] for start in range(0, len(keys), size)]


def is_among(keys: Sequence[int], allowed: Keys) -> list[bool]:
    """Which of some keys are allowed; `allowed` is sorted."""
    if not len(allowed):
        return [False] * len(keys)
    wanted = np.asarray(keys, dtype=np.int64)
    places = np.minimum(np.searchsorted(allowed, wanted), len(allowed) - 1)
    return [bool(found) for found in allowed[places] == wanted]


def best(keys: Sequence[int], scores: Sequence[float], limit: int, allowed: Keys | None = None) -> Found:
    """The best of what was found, and only what is allowed. Equal scores go by key."""
    fine = [True] * len(keys) if allowed is None else is_among(keys, allowed)
    ordered = sorted((-score, key) for key, score, good in zip(keys, scores, fine, strict=True) if good)[:limit]
    return Found([key for _, key in ordered], [-score for score, _ in ordered])


def cosines(rows: Vector, vector: Vector) -> Vector:
    """The exact cosine of each row with a vector."""
    lengths = np.linalg.norm(rows, axis=1) * float(np.linalg.norm(vector))
    return np.asarray(rows @ vector / np.maximum(lengths, 1e-12), dtype=np.float32)
