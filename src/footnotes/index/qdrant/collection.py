"""A collection in Qdrant: created with the options, marked as ours, and checked before every first use.

There is one per embedding model, for all tenants and libraries: Qdrant recommends this for many tenants.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from footnotes.errors import IndexForeign, IndexMismatch, IndexMissing
from footnotes.index.qdrant.calls import Calls
from footnotes.index.qdrant.points import DENSE, LEXICAL, SHELF, is_empty
from footnotes.index.qdrant.settings import Options
from footnotes.index.remote import Scope

if TYPE_CHECKING:
    from qdrant_client import models

MARK: Mapping[str, object] = {"footnotes": {"format": 1}}
"""The mark of our collections. Servers before 1.16 cannot store it; then the points tell whose they are."""


class Collections:
    """The collections of one connection; each is created and checked once."""

    def __init__(self, calls: Calls, options: Options) -> None:
        self._calls = calls
        self._options = options
        self._checked: set[str] = set()

    def name(self, scope: Scope) -> str:
        return f"{self._calls.endpoint.prefix}-{scope.model}"

    def ready(self, scope: Scope) -> None:
        """Ensure that the collection exists, is ours and has all indexes. Several processes may do this at once."""
        name = self.name(scope)
        if name in self._checked:
            return
        info = self._info(name)
        if info is None:
            info = self._create(name, scope)
        self._check_shape(name, info, scope)
        self._check_mark(name, info)
        self._add_indexes(name, info)
        if self._has(name, [is_empty("tenant"), is_empty(SHELF)]):
            raise self._calls.failed(IndexForeign, f"has points in the collection {name} that are not of Footnotes")
        self._checked.add(name)

    def forget(self, scope: Scope) -> None:
        """Check again next time: the collection may be gone or replaced."""
        self._checked.discard(self.name(scope))

    def _info(self, name: str) -> models.CollectionInfo | None:
        try:
            return self._calls.write(lambda client: client.get_collection(name))
        except IndexMissing:
            return None

    # ── creation

    def _create(self, name: str, scope: Scope) -> models.CollectionInfo:
        # It exists if another process was quicker or a response was lost; then it is checked like any other.
        with suppress(IndexForeign):
            self._calls.write(lambda client: client.create_collection(name, **_shape(self._options, scope.dimensions)))
        info = self._info(name)
        if info is None:
            raise self._calls.failed(IndexMissing, f"lost the collection {name} as soon as it was made")
        return info

    def _add_indexes(self, name: str, info: models.CollectionInfo) -> None:
        """Index the fields that filters test. This is free in an empty collection, and safe to repeat."""
        for field, schema in _indexed().items():
            if field not in info.payload_schema:
                self._calls.write(
                    lambda client, field=field, schema=schema: client.create_payload_index(  # type: ignore[misc]
                        name, field, schema, wait=True
                    )
                )

    # ── checks

    def _check_shape(self, name: str, info: models.CollectionInfo, scope: Scope) -> None:
        vectors, sparse = info.config.params.vectors, info.config.params.sparse_vectors or {}
        if not isinstance(vectors, dict) or set(vectors) != {DENSE} or LEXICAL not in sparse:
            raise self._calls.failed(IndexForeign, f"has a collection {name} with other vectors than Footnotes keeps")
        size, distance = vectors[DENSE].size, vectors[DENSE].distance
        if size != scope.dimensions or distance != "Cosine":
            raise self._calls.failed(
                IndexMismatch,
                f"has a collection {name} for vectors of {size} numbers compared by {distance.lower()}, "
                f"where {scope.dimensions} compared by cosine are needed",
            )
        if sparse[LEXICAL].modifier not in (None, "none"):
            raise self._calls.failed(IndexMismatch, f"weighs words in the collection {name} by itself")

    def _check_mark(self, name: str, info: models.CollectionInfo) -> None:
        """Accept a collection with our mark, or with our points if the server has no marks; mark an empty one."""
        if "footnotes" in (getattr(info.config, "metadata", None) or {}):
            return
        if not self._has(name, []):
            self._calls.write(lambda client: client.update_collection(name, metadata=dict(MARK)))
        elif not self._has(name, [is_empty("tenant")], but=[is_empty(SHELF)]):
            raise self._calls.failed(IndexForeign, f"has a collection {name} that Footnotes did not fill")

    def _has(self, name: str, must: list[Any], *, but: list[Any] | None = None) -> bool:
        """Return whether such a point exists."""
        from qdrant_client import models

        condition = models.Filter(must=must, must_not=but or [])
        found = self._calls.write(
            lambda client: client.scroll(name, condition, limit=1, with_payload=False, with_vectors=False)
        )
        return bool(found[0])


def _shape(options: Options, dimensions: int) -> dict[str, Any]:
    """Return the parameters of a new collection."""
    from qdrant_client import models

    # No modifier: Qdrant would count how rare a word is over the whole collection, that is over the documents of all
    # tenants. That is wrong for each tenant and tells each about the others. The store weighs words by the tenant's
    # own documents.
    sparse = models.SparseVectorParams(index=models.SparseIndexParams(on_disk=options.on_disk))
    dense = models.VectorParams(size=dimensions, distance=models.Distance.COSINE, on_disk=options.on_disk)
    return {
        "vectors_config": {DENSE: dense},
        "sparse_vectors_config": {LEXICAL: sparse},
        # No search crosses tenants, so a graph across them (m) seems unnecessary. Building is still faster with it:
        # where it already connects a tenant, no edges for that tenant (payload_m) are added.
        "hnsw_config": models.HnswConfigDiff(
            m=0 if options.tenant_graphs else options.m,
            payload_m=options.m,
            ef_construct=options.ef_construct,
            on_disk=options.on_disk,
        ),
        "quantization_config": _quantization(options.quantization),
        "on_disk_payload": options.payload_on_disk,
        "shard_number": options.shards or None,
        "replication_factor": options.replicas or None,
        "write_consistency_factor": options.write_consistency or None,
        "metadata": dict(MARK),
    }


def _quantization(name: str) -> models.ScalarQuantization | models.BinaryQuantization | None:
    from qdrant_client import models

    if name == "int8":
        return models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
        )
    if name == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


def _indexed() -> dict[str, object]:
    """Return every field that filters use: servers may be configured to reject filters on other fields."""
    from qdrant_client import models

    keyword, integer = models.KeywordIndexType.KEYWORD, models.IntegerIndexType.INTEGER
    return {
        "tenant": models.KeywordIndexParams(type=keyword, is_tenant=True),
        "generation": models.IntegerIndexParams(type=integer, lookup=True, range=False),
        "document": models.IntegerIndexParams(type=integer, lookup=True, range=False),
        "facets": models.KeywordIndexParams(type=keyword),
        "seq": models.IntegerIndexParams(type=integer, lookup=False, range=True),
        SHELF: models.KeywordIndexParams(type=keyword),
    }
