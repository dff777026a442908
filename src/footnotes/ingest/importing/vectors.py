"""Checks whether the library's embedder made the vectors of a collection.

A sample of the texts is embedded again and compared. With another model name the vectors are rebuilt; with the same
name they are still checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from footnotes import plugins
from footnotes.embed import Embedder, Matrix
from footnotes.embed.checked import check_vectors, embed_all
from footnotes.errors import DimensionMismatch, InvalidVector
from footnotes.ingest.importing.spool import Spool

SAMPLE = 32
LEAST_COSINE = 0.99
"""The same weights in half precision or with int8 weights stay above it (0.9995 measured); other models do not."""
UNUSABLE = "they hold NaN or infinity, or nothing but zeros"
OTHER_SIZE = "they have other dimensions than the rest"
TOO_LONG = "their texts are longer than the model's input, so the vectors represent only the beginning"
_FLOAT = np.dtype("<f4")
_SAME_MODEL = {  # as its makers call it, and as our settings do
    "all-minilm-l6-v2": "minilm-l6",
    "bge-small-en-v1.5": "bge-small",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether given vectors are used, and why. `sampled` are the vectors made for the comparison."""

    accepted: bool
    reason: str = ""
    note: str = ""
    sampled: tuple[tuple[str, ...], Matrix] | None = None


def pack_vector(values: Sequence[object] | None) -> bytes | None:
    """Pack a vector as float32 bytes; None if it is not a list of numbers."""
    if values is None or isinstance(values, (str, bytes)):
        return None
    try:
        with np.errstate(over="ignore"):
            vector = np.asarray(values, dtype=_FLOAT)
    except (TypeError, ValueError, OverflowError):
        return None
    return vector.tobytes() if vector.ndim == 1 and len(vector) else None


def judge_vectors(spool: Spool, embedder: Embedder, *, model: str, batch: int) -> Verdict:
    """Compare a sample of the given vectors with those of the embedder."""
    sizes = spool.vector_sizes()
    if not sizes:
        return Verdict(False)
    if model and not is_same_model(model, embedder.name):
        return Verdict(False, f"their model is {model}, but the library's embedder is {embedder.name}")
    vector_bytes = embedder.dimensions * _FLOAT.itemsize
    if vector_bytes not in sizes:
        found = ", ".join(f"{size // _FLOAT.itemsize:,}" for size in sorted(sizes))
        return Verdict(False, f"they have {found} dimensions; those of {embedder.name} have {embedder.dimensions:,}")
    sample = spool.sample(SAMPLE, vector_bytes=vector_bytes, most_tokens=embedder.max_tokens)
    usable = [(text, row) for text, packed in sample if (row := unit_vector(packed, embedder)) is not None]
    return _compare(usable, embedder, batch) if usable else Verdict(False, UNUSABLE if sample else TOO_LONG)


def _compare(sample: Sequence[tuple[str, Matrix]], embedder: Embedder, batch: int) -> Verdict:
    texts = tuple(text for text, _ in sample)
    own_vectors = embed_all(embedder, texts, role="passage", batch=batch)
    least = float((own_vectors * np.stack([row for _, row in sample])).sum(axis=1).min())
    if not least >= LEAST_COSINE:
        reason = f"{embedder.name} makes other vectors: in a sample of {len(texts)} the lowest cosine is {least:.3f}"
        return Verdict(False, reason, sampled=(texts, own_vectors))
    compared = f"a sample of {len(texts)} was embedded again with {embedder.name}"
    return Verdict(True, note=f"{compared}; the least alike have a cosine of {min(least, 1.0):.4f}")


def has_size_of(packed: bytes, embedder: Embedder) -> bool:
    return len(packed) == embedder.dimensions * _FLOAT.itemsize


def unit_vector(packed: bytes, embedder: Embedder) -> Matrix | None:
    """Normalise a given vector; None if it cannot be compared."""
    vector = np.frombuffer(packed, dtype=_FLOAT).astype(np.float32)
    try:
        row: Matrix = check_vectors(vector[np.newaxis], embedder, "passage", 1)[0]
    except (InvalidVector, DimensionMismatch):
        return None
    return row


def is_same_model(name: str, embedder: str) -> bool:
    """Return whether two names mean the same model, with or without provider or owner."""
    return not _forms(name).isdisjoint(_forms(embedder))


def _forms(name: str) -> set[str]:
    plain = name.strip().lower()
    provider, model = plugins.split_name(plain)
    without = model if provider in plugins.names("embedders") and model else plain
    last = without.rpartition("/")[2]
    return {without, last, _SAME_MODEL.get(last, last)}
