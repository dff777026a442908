"""Reads records into the spool. Records without a text, or that cannot be stored, are counted by reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from footnotes import plugins
from footnotes.embed import Embedder, Matrix
from footnotes.embed.checked import check_vectors, embed_all
from footnotes.errors import DimensionMismatch, ImportFormatError, InvalidVector, OptionError
from footnotes.ingest.importing.fields import NO_GROUPS, TEXT_FIELDS, clean_text, group_of, order_of, text_and_metadata
from footnotes.ingest.importing.records import ImportOptions, Reader, SourceRecord
from footnotes.ingest.importing.spool import NewRecord, Spool
from footnotes.ingest.names import MAX_METADATA, check_metadata
from footnotes.ingest.work import OnProgress, Progress
from footnotes.text.tokens import count_tokens
from footnotes.types import Metadata

REPORTED_EVERY = 100
_FIELDS_NAMED = 20
_TOO_MUCH = f"the metadata has more than {MAX_METADATA:,} characters"
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


class Reading:
    """Reads one source into a spool."""

    def __init__(self, reader: Reader, options: ImportOptions, spool: Spool, on_progress: OnProgress) -> None:
        self._reader = reader
        self._options = options
        self._spool = spool
        self._on_progress = on_progress
        self._fields: dict[str, None] = {}
        self._metadata_fields: dict[str, None] = {}
        self._grouped = 0
        self.total = 0
        self.left_out: Counter[str] = Counter()

    def run(self) -> None:
        expected = self._reader.count()
        for found in self._reader.records():
            if self.total % REPORTED_EVERY == 0:
                self._on_progress(Progress("importing", self.total, expected))
            self.total += 1
            self._read_record(found)
        self._check()
        self._spool.complete()

    def _read_record(self, found: SourceRecord) -> None:
        text, metadata = text_and_metadata(found, self._options.text_field)
        for names, fields in ((self._fields, found.payload), (self._metadata_fields, metadata)):
            if len(names) < _FIELDS_NAMED:
                names.update(dict.fromkeys(map(str, fields)))
        if text is None:
            self.left_out[self._no_text()] += 1
            return
        try:
            clean = _clean_metadata(metadata)
        except OptionError as error:
            is_long = "characters" in error.message  # all lengths count as one reason
            self.left_out[_TOO_MUCH if is_long else error.message] += 1
            return
        group = group_of(clean, self._options.group_by)
        self._grouped += group is not None
        self._spool.put(
            NewRecord(
                id=clean_text(found.id),
                text=text,
                metadata=json.dumps(clean, sort_keys=True),
                tokens=count_tokens(text),
                group=group,
                order=order_of(clean),
                vector=pack_vector(found.vector),
            )
        )

    def _no_text(self) -> str:
        if self._options.text_field:
            return f"there is no text in the field {self._options.text_field}"
        return f"there is no text: none of the fields {', '.join(TEXT_FIELDS)}"

    def _check(self) -> None:
        """Raise if an option fits no record at all."""
        if self.total and not self._spool.count:
            reason = next(iter(self.left_out))
            problem = f"none of the {self.total:,} records can be imported: {reason}"
            raise ImportFormatError(
                f"{problem}; available fields: {_list_names(self._fields)}",
                remedy="Name the field with the text: --text-field NAME.",
            )
        group_by = self._options.group_by
        if group_by not in ("", NO_GROUPS) and self._spool.count and not self._grouped:
            raise OptionError(
                f"no record has the field {group_by!r} to group by; available fields: "
                f"{_list_names(self._metadata_fields)}",
                remedy="Name another field after --group-by, or `-` to make every record a document.",
            )


def _clean_metadata(metadata: dict[str, object]) -> Metadata:
    """Make metadata fit for every store; invalid Unicode is replaced."""
    with suppress(TypeError, ValueError, RecursionError):  # the check below raises these
        metadata = json.loads(clean_text(json.dumps(metadata, ensure_ascii=False)))
    return check_metadata(metadata)


def _list_names(fields: dict[str, None]) -> str:
    return ", ".join(list(fields)[:_FIELDS_NAMED]) or "none"


# Checks whether the library's embedder made the vectors of a collection.
#
# A sample of the texts is embedded again and compared. With another model name the vectors are rebuilt; with the same
# name they are still checked.


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
