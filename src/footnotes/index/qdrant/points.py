"""Chunks as points of a Qdrant, and filters over them. Nothing here asks the network.

A point's id is half the library's id and the chunk's key, so that libraries may share a collection and keys come back
without reading anything. Its payload says whose it is (`tenant`, `generation`), what it is part of (`document`), what
filters test (`facets`), the change it came with (`seq`) and, for others who look, `metadata`.
"""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from footnotes.index import Entry, Weights
from footnotes.index.remote import Scope

if TYPE_CHECKING:
    from qdrant_client import models

DENSE, LEXICAL = "dense", "lexical"
SHELF = "shelf"
"""The payload of an index's mark: another name than those of chunks, so that nothing that looks for them finds it."""
_KEY = (1 << 64) - 1
DEEPEST = 40
"""So far values may be inside values; metadata of libraries that were made by older versions may go further."""


class ForeignResponse(Exception):
    """An answer that no Qdrant gives that was filled by us."""


def point_id(scope: Scope, key: int) -> str:
    """As `uuid.UUID` would write it, and quicker: filters name thousands."""
    half, low = scope.library[:16].lower(), f"{key & _KEY:016x}"
    return f"{half[:8]}-{half[8:12]}-{half[12:]}-{low[:4]}-{low[4:]}"


def key_of(identifier: object) -> int:
    """The chunk's key in a point's id."""
    try:
        low = uuid.UUID(str(identifier)).int & _KEY
    except ValueError as error:
        raise ForeignResponse("an id that is none of ours") from error
    return low - (1 << 64) if low >> 63 else low


def mark_id(scope: Scope) -> str:
    """The id of the point that says what an index has seen."""
    name = f"{scope.tenant}/{scope.generation}"
    return str(uuid.UUID(bytes=hashlib.sha256(name.encode()).digest()[:16]))


def point_of(scope: Scope, entry: Entry, seq: int) -> models.PointStruct:
    """One chunk."""
    from qdrant_client import models

    vectors: dict[str, Any] = {}
    if entry.vector:
        vectors[DENSE] = np.frombuffer(entry.vector, dtype=np.float16).astype(np.float32).tolist()
    if entry.weights:
        vectors[LEXICAL] = sparse_of(entry.weights)
    payload = {
        "tenant": scope.tenant,
        "generation": scope.generation,
        "document": entry.document,
        "facets": [sayable(facet) for facet in entry.facets],
        "seq": seq,
        "metadata": sayable(dict(entry.metadata)),
    }
    return models.PointStruct(id=point_id(scope, entry.key), vector=vectors, payload=payload)


def sparse_of(weights: Weights) -> models.SparseVector:
    from qdrant_client import models

    return models.SparseVector(indices=list(weights), values=[float(value) for value in weights.values()])


def sayable(value: Any, levels: int = DEEPEST) -> Any:
    """The value as JSON can say it: files may have names that are no text, and numbers may be none.

    What is nested too deep is left out: neither the client nor the server could read the rest with it.
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping | list | tuple) and levels < 1:
        return "…"
    if isinstance(value, Mapping):
        return {sayable(str(key)): sayable(one, levels - 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [sayable(one, levels - 1) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return str(value)
    return value


# ── filters


def within(scope: Scope, *more: models.Condition) -> models.Filter:
    """Only this tenant's chunks of this generation, whatever else is asked for."""
    from qdrant_client import models

    return models.Filter(must=[equals("tenant", scope.tenant), equals("generation", scope.generation), *more])


def equals(field: str, value: int | str) -> models.Condition:
    from qdrant_client import models

    return models.FieldCondition(key=field, match=models.MatchValue(value=value))


def any_facet(facets: Sequence[str]) -> models.Condition:
    from qdrant_client import models

    return models.FieldCondition(key="facets", match=models.MatchAny(any=[sayable(facet) for facet in facets]))


def any_document(documents: Iterable[int]) -> models.Condition:
    from qdrant_client import models

    return models.FieldCondition(key="document", match=models.MatchAny(any=sorted(documents)))


def any_key(scope: Scope, keys: Iterable[int]) -> models.Condition:
    from qdrant_client import models

    return models.HasIdCondition(has_id=[point_id(scope, int(key)) for key in keys])


def is_empty(field: str) -> models.Condition:
    from qdrant_client import models

    return models.IsEmptyCondition(is_empty=models.PayloadField(key=field))


def not_after(seq: int) -> models.Condition:
    """What came with this change or one before."""
    from qdrant_client import models

    return models.FieldCondition(key="seq", range=models.Range(lte=seq))
