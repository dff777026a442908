"""What a person wants to know of a library: its contents, models, indexes and size."""

from __future__ import annotations

from dataclasses import asdict

from footnotes.store.collections import describe_collections
from footnotes.store.protocol import Store


def library_status(store: Store, user: str, embedder: str) -> dict[str, object]:
    """Return the status of a tenant's library, whose settings name this embedder."""
    serving, state = store.generations.serving(user), store.state(user)
    generations = store.generations.all(user)
    return {
        **store.documents.counts(user),
        "collections": describe_collections(store.collections, user),
        "embedder": serving.embedder if serving else embedder,
        "configured_embedder": embedder,
        "dimensions": serving.dimensions if serving else None,
        "generation": serving.pk if serving else None,
        "generations": [{"id": each.pk, "state": each.state, "embedder": each.embedder} for each in generations],
        "store": store.kind,
        "address": store.address,
        "index": None if state.index is None else asdict(state.index),
        "dense_index": None if state.dense_index is None else asdict(state.dense_index),
        "disk_bytes": state.bytes,
    }
