"""Converts chunks to points of Qdrant, and filters to Qdrant's. No network access.

A point's id is half the library's id and the chunk's key, so libraries may share a collection, and keys come back
without reading payloads. The payload holds the owner (`tenant`, `generation`), the document (`document`), the values
that filters test (`facets`), the change that wrote it (`seq`) and, for external readers, `metadata`.
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
"""The payload field of an index's mark. Chunks do not have this field, so searches for chunks never find a mark."""
_KEY = (1 << 64) - 1
DEEPEST = 40
"""The maximum nesting of values; metadata of libraries from older versions may be deeper."""


class ForeignResponse(Exception):
    """A response that Qdrant never gives for data that we wrote."""


def point_id(scope: Scope, key: int) -> str:
    """Format an id like `uuid.UUID`, but faster: filters contain thousands."""
    half, low = scope.library[:16].lower(), f"{key & _KEY:016x}"
    return f"{half[:8]}-{half[8:12]}-{half[12:]}-{low[:4]}-{low[4:]}"


def key_of(identifier: object) -> int:
    """Return the chunk's key in a point's id."""
    try:
        low = uuid.UUID(str(identifier)).int & _KEY
    except ValueError as error:
        raise ForeignResponse("an id that is none of ours") from error
    return low - (1 << 64) if low >> 63 else low


def mark_id(scope: Scope) -> str:
    """Return the id of the point with an index's mark."""
    name = f"{scope.tenant}/{scope.generation}"
    return str(uuid.UUID(bytes=hashlib.sha256(name.encode()).digest()[:16]))


def point_of(scope: Scope, entry: Entry, seq: int) -> models.PointStruct:
    """Convert one chunk."""
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


def sayable(value: object, levels: int = DEEPEST) -> Any:
    """Make a value valid JSON: file names may be invalid Unicode, and numbers may be NaN or infinite.

    Values nested too deeply are dropped: with them, client and server could not read the rest.
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
    """Restrict conditions to this tenant's chunks of this generation."""
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
    """Match points written by this change or an earlier one."""
    from qdrant_client import models

    return models.FieldCondition(key="seq", range=models.Range(lte=seq))
