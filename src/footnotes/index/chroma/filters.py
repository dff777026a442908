"""Filters in Chroma's language, with fallbacks where it cannot express them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from footnotes.index import Allowed, Found, Keys, Vector
from footnotes.index.chroma.calls import IDS_AT_ONCE, Where
from footnotes.index.chroma.metadata import OWN

DOCUMENT, SEQ, FACETS = f"{OWN}document", f"{OWN}seq", f"{OWN}facets"
MOST_TERMS = 40
"""The most terms in a filter: SQLite in Chroma runs a query for each (about 1 ms for 20,000 chunks)."""


def sayable(facet: str) -> str:
    """Replace invalid Unicode in a facet; results are checked anyway."""
    return facet.encode("utf-8", "replace").decode()


def any_of(facets: Sequence[str]) -> Where:
    """Match records with any of the facets. They are stored as a list, twice as fast as a boolean for each."""
    clauses: list[Where] = [{FACETS: {"$contains": sayable(facet)}} for facet in facets]
    return clauses[0] if len(clauses) == 1 else {"$or": clauses}


def all_of(clauses: Sequence[Where]) -> Where:
    return clauses[0] if len(clauses) == 1 else {"$and": list(clauses)}


def where_of(allowed: Allowed) -> Where | None:
    """Return a filter as facets; None if facets cannot express it, or only with too many terms."""
    wheres = wheres_of(allowed.facets)
    return wheres[0] if len(wheres) == 1 and sum(map(len, allowed.facets)) <= MOST_TERMS else None


def wheres_of(groups: Sequence[Sequence[str]]) -> list[Where]:
    """Split a filter on facets into short ones that together match the same records; none if nothing matches."""
    if not groups or not all(groups):
        return []
    *narrow, widest = sorted(groups, key=len)
    parts = [widest[start : start + MOST_TERMS] for start in range(0, len(widest), MOST_TERMS)]
    return [all_of([any_of(group) for group in (*narrow, part)]) for part in parts]


def batches(keys: Keys, size: int = IDS_AT_ONCE) -> list[Keys]:
    return [keys[start : start + size] for start in range(0, len(keys), size)]


def is_among(keys: Sequence[int], allowed: Keys) -> list[bool]:
    """Return for each key whether it is allowed; `allowed` is sorted."""
    if not len(allowed):
        return [False] * len(keys)
    candidates = np.asarray(keys, dtype=np.int64)
    places = np.minimum(np.searchsorted(allowed, candidates), len(allowed) - 1)
    return [bool(found) for found in allowed[places] == candidates]


def best(keys: Sequence[int], scores: Sequence[float], limit: int, allowed: Keys | None = None) -> Found:
    """Return the best of the allowed results. Ties are ordered by key."""
    fine = [True] * len(keys) if allowed is None else is_among(keys, allowed)
    ordered = sorted((-score, key) for key, score, good in zip(keys, scores, fine, strict=True) if good)[:limit]
    return Found([key for _, key in ordered], [-score for score, _ in ordered])


def cosines(rows: Vector, vector: Vector) -> Vector:
    """Return the exact cosine of each row with a vector."""
    lengths = np.linalg.norm(rows, axis=1) * float(np.linalg.norm(vector))
    return np.asarray(rows @ vector / np.maximum(lengths, 1e-12), dtype=np.float32)
