"""Adds texts from memory, many at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from footnotes.errors import OptionError
from footnotes.ingest.names import as_text, check_metadata, safe_filename
from footnotes.ingest.work import NewSource
from footnotes.parse.sniff import is_text_in_memory
from footnotes.store.files import write_bytes
from footnotes.types import Added, Metadata

_NAME_BYTES = 8


def text_sources(
    texts: Sequence[str],
    folder: Path,
    collection: str,
    *,
    filenames: Sequence[str] | None,
    sources: Sequence[str] | None,
    metadata: Metadata | Sequence[Metadata] | None,
) -> list[NewSource]:
    """Prepare texts as sources. Those that no parser reads from memory get a file in the folder."""
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise OptionError("texts must be a list of strings", remedy="Use `add_text` for the bytes of a file.")
    for what, values in (("filenames", filenames), ("sources", sources)):
        if values is not None and (isinstance(values, str) or len(values) != len(texts)):
            raise OptionError(f"{what} must be a list as long as texts, which has {len(texts):,}")
    metadata_of_texts = _metadata_of_each(metadata, len(texts))
    contents = [text.encode("utf-8", "replace") for text in texts]
    names = [safe_filename(name) for name in filenames] if filenames else list(map(name_of_text, contents))
    source_names = [as_text(source) for source in sources] if sources else [f"text:{name}" for name in names]
    if (sources or filenames) and len(set(source_names)) < len(source_names):
        twice = next(name for number, name in enumerate(source_names) if name in source_names[:number])
        raise OptionError(f"the source {twice[:80]!r} occurs twice", remedy="Pass a different source for every text.")
    built = (
        NewSource(
            folder / f"text-{number}",
            source_names[number],
            names[number],
            collection,
            metadata_of_texts[number],
            content=content,
        )
        for number, content in enumerate(contents)
    )
    return [
        origin if is_text_in_memory(origin.filename, origin.content or b"") else on_disk(origin) for origin in built
    ]


def on_disk(origin: NewSource) -> NewSource:
    """Return a source whose bytes are in its file."""
    if origin.content is None:
        return origin
    write_bytes(origin.path, origin.content)
    return replace(origin, content=None)


def in_order(added: Iterable[Added], sources: Sequence[str]) -> list[Added]:
    """Return the results of sources, in order."""
    by_source = {each.path: each for each in added}
    return [by_source[source] for source in sources]


def name_of_text(content: bytes) -> str:
    """Name a text without a file name by a hash of its content."""
    return f"{hashlib.blake2b(content, digest_size=_NAME_BYTES).hexdigest()}.txt"


def _metadata_of_each(metadata: Metadata | Sequence[Metadata] | None, count: int) -> list[Metadata]:
    if metadata is None or isinstance(metadata, Mapping):
        return [check_metadata(metadata or {})] * count
    if len(metadata) != count:
        raise OptionError(f"metadata must be one mapping, or a list of {count:,} of them")
    return [check_metadata(each) for each in metadata]
