"""Searches one index and returns only what passes the filter, whether or not Qdrant can express the filter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from footnotes.index import Allowed, Found, Keys, Vector, Weights
from footnotes.index.qdrant.calls import Calls
from footnotes.index.qdrant.points import (
    DENSE,
    LEXICAL,
    ForeignResponse,
    any_facet,
    any_key,
    key_of,
    sparse_of,
    within,
)
from footnotes.index.qdrant.settings import Options
from footnotes.index.remote import Scope

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

Asked: TypeAlias = "Callable[[int, list[Any], bool], Found]"
"""A search, given the limit, the conditions, and whether to compare every matching point exactly."""

NAMED_MOST = 20_000
"""A filter of up to this many chunks is sent as their ids; 800 kB."""
EXACT_MOST = 10_000
"""Up to this many chunks are all compared: the graph spans a tenant, and may miss some of a small subset."""
WIDER = (4, 32)
"""Multiples of the limit to request when results outside the filter are dropped afterwards."""
WIDEST = 10_000
SCROLLED = 1_000


class Search:
    """Searches one collection, always within one scope."""

    def __init__(self, calls: Calls, collection: str, scope: Scope, options: Options) -> None:
        self._calls = calls
        self._collection = collection
        self._scope = scope
        self._options = options

    def nearest(self, vector: Vector, limit: int, allowed: Allowed | None) -> Found:
        """Search by cosine."""
        query = np.asarray(vector, dtype=np.float32).tolist()
        return self._best(lambda width, more, exact: self._query(query, DENSE, width, more, exact), limit, allowed)

    def words(self, weights: Weights, limit: int, allowed: Allowed | None) -> Found:
        """Search by the inner product of weights, which is always exact."""
        if not weights:
            return Found()
        query = sparse_of(weights)
        return self._best(
            lambda width, more, exact: _above_zero(self._query(query, LEXICAL, width, more, exact)), limit, allowed
        )

    def scores(self, weights: Weights, keys: Sequence[int]) -> dict[int, float]:
        """Return the inner products of given chunks, without zeros."""
        if not weights or not keys:
            return {}
        query = sparse_of(weights)
        found = self._each(lambda width, more, exact: self._query(query, LEXICAL, width, more, exact), len(keys), keys)
        return {key: score for key, score in zip(found.keys, found.scores, strict=True) if score}

    def having(self, facets: Sequence[str], limit: int, allowed: Allowed | None) -> list[int]:
        """Return chunks with any of the facets, in key order."""
        if not facets or limit < 1 or (allowed is not None and allowed.is_empty):
            return []
        condition = within(self._scope, any_facet(facets), *self._conditions(allowed))
        filtering = allowed if allowed is not None and allowed.listed else None
        found: list[int] = []
        offset: object = None
        while len(found) < limit:
            keys, offset = self._scroll(condition, offset, limit if filtering is None else max(limit, SCROLLED))
            found.extend(keys if filtering is None else _among(Found(keys, [0.0] * len(keys)), filtering.keys).keys)
            if offset is None:
                break
        return found[:limit]

    # ── filters

    def _best(self, ask: Asked, limit: int, allowed: Allowed | None) -> Found:
        if limit < 1 or (allowed is not None and allowed.is_empty):
            return Found()
        if allowed is None or not allowed.listed:
            return ask(limit, self._conditions(allowed), False)
        conditions, exact = self._conditions(allowed), len(allowed.keys) <= EXACT_MOST
        for width in (limit, *(times * limit for times in WIDER)) if conditions else (times * limit for times in WIDER):
            found = ask(min(width, WIDEST), conditions, exact)
            allowed_hits = _among(found, allowed.keys)
            if len(allowed_hits.keys) >= limit or len(found.keys) < min(width, WIDEST):
                return Found(allowed_hits.keys[:limit], allowed_hits.scores[:limit])
        return self._each(ask, limit, allowed.keys.tolist())

    def _conditions(self, allowed: Allowed | None) -> list[Any]:
        """Return the filter as conditions on facets or ids; empty if there are no facets and too many ids."""
        if allowed is None:
            return []
        if allowed.facets:
            return [any_facet(group) for group in allowed.facets]
        return [any_key(self._scope, allowed.keys.tolist())] if len(allowed.keys) <= NAMED_MOST else []

    def _each(self, ask: Asked, limit: int, keys: Sequence[int]) -> Found:
        """Return the best of given chunks, comparing all of them in blocks."""
        best: list[tuple[float, int]] = []
        for start in range(0, len(keys), NAMED_MOST):
            some = keys[start : start + NAMED_MOST]
            found = ask(min(limit, len(some)), [any_key(self._scope, some)], True)
            best = sorted([*best, *((-score, key) for key, score in zip(found.keys, found.scores, strict=True))])
            best = best[:limit]
        return Found([key for _, key in best], [-score for score, _ in best])

    # ── calls

    def _query(self, query: Any, using: str, limit: int, more: list[Any], exact: bool) -> Found:
        condition, params = within(self._scope, *more), self._params(using, exact)

        def ask(client: QdrantClient) -> Found:
            answer = client.query_points(
                self._collection,
                query=query,
                using=using,
                query_filter=condition,
                search_params=params,
                limit=limit,
                with_payload=False,
                with_vectors=False,
            )
            return _rank(answer.points[:limit])  # a server may return more than requested

        return self._calls.read(ask)

    def _params(self, using: str, exact: bool) -> models.SearchParams | None:
        from qdrant_client import models

        if using == LEXICAL:
            return None
        quantization = models.QuantizationSearchParams(rescore=True, oversampling=2.0)
        return models.SearchParams(
            exact=exact,
            hnsw_ef=self._options.search_ef,
            quantization=quantization if self._options.quantization else None,
        )

    def _scroll(self, condition: models.Filter, offset: Any, limit: int) -> tuple[list[int], Any]:
        def ask(client: QdrantClient) -> tuple[list[int], object]:
            found, after = client.scroll(
                self._collection, condition, limit=limit, offset=offset, with_payload=False, with_vectors=False
            )
            if after is not None and after == offset:
                raise ForeignResponse("a page without end")
            return [key_of(record.id) for record in found], after

        return self._calls.read(ask)


def _rank(points: Sequence[Any]) -> Found:
    if not all(math.isfinite(point.score) for point in points):
        raise ForeignResponse("a score that is no number")
    ranked = sorted((-point.score, key_of(point.id)) for point in points)
    return Found([key for _, key in ranked], [-score for score, _ in ranked])


def _among(found: Found, keys: Keys) -> Found:
    """Drop results outside of sorted keys, in case the database applied the filter differently."""
    found_keys = np.asarray(found.keys, dtype=np.int64)
    at = np.searchsorted(keys, found_keys)
    inside = (at < len(keys)) & (keys[np.minimum(at, len(keys) - 1)] == found_keys)
    pairs = [(key, score) for key, score, good in zip(found.keys, found.scores, inside, strict=True) if good]
    return Found([key for key, _ in pairs], [score for _, score in pairs])


def _above_zero(found: Found) -> Found:
    some = sum(score > 0 for score in found.scores)
    return Found(found.keys[:some], found.scores[:some])
