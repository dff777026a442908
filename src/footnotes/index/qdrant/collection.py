"""A collection of a Qdrant: made as the options say, marked as ours, and checked before anything is put into it.

There is one for each embedding model, for all tenants and libraries: the way Qdrant asks for when tenants are many.
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

MARK: Mapping[str, Any] = {"footnotes": {"format": 1}}
"""What the collection itself says of its owner; servers before 1.16 cannot keep it, and its points tell instead."""


class Collections:
    """The collections of one connection; each is made and checked once."""

    def __init__(self, calls: Calls, options: Options) -> None:
        self._calls = calls
        self._options = options
        self._checked: set[str] = set()

    def name(self, scope: Scope) -> str:
        return f"{self._calls.endpoint.prefix}-{scope.model}"

    def ready(self, scope: Scope) -> None:
        """There it is, and ours, with all its indexes. Several processes may do this at once."""
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
        """It may be gone or another's by now: look again."""
        self._checked.discard(self.name(scope))

    def _info(self, name: str) -> models.CollectionInfo | None:
        try:
            return self._calls.write(lambda client: client.get_collection(name))
        except IndexMissing:
            return None

    # ── made

    def _create(self, name: str, scope: Scope) -> models.CollectionInfo:
        # There already: another process was quicker, or an answer was lost. Whose it is is checked like any other's.
        with suppress(IndexForeign):
            self._calls.write(lambda client: client.create_collection(name, **_shape(self._options, scope.dimensions)))
        info = self._info(name)
        if info is None:
            raise self._calls.failed(IndexMissing, f"lost the collection {name} as soon as it was made")
        return info

    def _add_indexes(self, name: str, info: models.CollectionInfo) -> None:
        """The fields that filters test. Made in an empty collection they cost nothing; doing it twice is harmless."""
        for field, schema in _indexed().items():
            if field not in info.payload_schema:
                self._calls.write(
                    lambda client, field=field, schema=schema: client.create_payload_index(  # type: ignore[misc]
                        name, field, schema, wait=True
                    )
                )

    # ── checked

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
        """Marked, or filled by us on a server that keeps no marks, or empty and of our shape: then it is taken."""
        if "footnotes" in (getattr(info.config, "metadata", None) or {}):
            return
        if not self._has(name, []):
            self._calls.write(lambda client: client.update_collection(name, metadata=dict(MARK)))
        elif not self._has(name, [is_empty("tenant")], but=[is_empty(SHELF)]):
            raise self._calls.failed(IndexForeign, f"has a collection {name} that Footnotes did not fill")

    def _has(self, name: str, must: list[Any], *, but: list[Any] | None = None) -> bool:
        """Whether there is any such point."""
        from qdrant_client import models

        wanted = models.Filter(must=must, must_not=but or [])
        found = self._calls.write(
            lambda client: client.scroll(name, wanted, limit=1, with_payload=False, with_vectors=False)
        )
        return bool(found[0])


def _shape(options: Options, dimensions: int) -> dict[str, Any]:
    """What a new collection is made with."""
    from qdrant_client import models

    # No modifier: Qdrant would count how rare a word is over the whole collection, that is in the documents of all
    # tenants, which is wrong for each of them and tells each about the others. The store weighs words by what the
    # tenant has itself.
    sparse = models.SparseVectorParams(index=models.SparseIndexParams(on_disk=options.on_disk))
    dense = models.VectorParams(size=dimensions, distance=models.Distance.COSINE, on_disk=options.on_disk)
    return {
        "vectors_config": {DENSE: dense},
        "sparse_vectors_config": {LEXICAL: sparse},
        # No search crosses tenants, and a graph across them (m) could be spared. It is quicker made with it all the
        # same: where it holds a tenant together already, no edges for that tenant (payload_m) are added.
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


def _indexed() -> dict[str, Any]:
    """Every field a filter names: a server may be set up to refuse filters over others."""
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
