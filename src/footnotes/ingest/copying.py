"""Copies a library from one store to another: text, chunks, vectors, ids and generations, unchanged.

An interrupted copy can be continued. At the end every document is read back and compared.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from footnotes.errors import CopyMismatch, CopyTargetInUse, NotFound, OptionError, SourceUnreadable
from footnotes.ingest.work import OnProgress, Progress
from footnotes.settings import Settings
from footnotes.store import Store
from footnotes.store.copying import Side, digest
from footnotes.store.make import open_store


@dataclass(frozen=True, slots=True)
class Copied:
    """The result of a copy."""

    documents: int
    already_there: int
    chunks: int
    generations: int
    originals: int
    lost: int = 0
    """Originals that the source knows and cannot read: they are not in the copy."""


def copy_between(source: Settings, target: Settings, *, on_progress: OnProgress) -> Copied:
    """Copy the tenant of the settings from the store the one names to the store of the other."""
    if source.user != target.user:
        raise OptionError(f"a copy cannot rename a tenant: {source.user!r} is not {target.user!r}")
    folders = [Path(settings.library).expanduser() for settings in (source, target)]
    with (
        closing(open_store(source, folders[0], create=False)) as one,
        closing(open_store(target, folders[1], create=True)) as other,
    ):
        if one.address == other.address and one.kind == other.kind:
            raise OptionError("source and target are the same library")
        return copy_library(one, other, source.user, on_progress=on_progress)


def copy_library(source: Store, target: Store, user_id: str, *, on_progress: OnProgress) -> Copied:
    """Copy one tenant. Both libraries are locked for writing during the copy."""
    with source.writing(user_id, "copying from it"):
        return copy_state(source, target, user_id, on_progress=on_progress)


def copy_state(source: Store, target: Store, user_id: str, *, on_progress: OnProgress) -> Copied:
    """Copy one tenant from a source that does not change, or from one snapshot."""
    with target.writing(user_id, "copying to it"):
        one, other = source.copy_side(user_id), target.copy_side(user_id)
        ids = one.document_ids()
        if not ids and not one.generations():
            raise NotFound("the source has no documents")
        there = set(other.document_ids())
        if strange := there - set(ids):
            raise CopyTargetInUse(f"the target has {len(strange):,} documents that are not in the source")
        numbers = other.put_frame(one.generations(), one.collections())
        copied = 0
        for done, document_id in enumerate(ids):
            on_progress(Progress("indexing", done, len(ids)))
            if document_id not in there:
                other.put(one.document(document_id), one.parts(document_id), one.chunks(document_id), numbers)
                copied += 1
        other.finish()
        for conversation in one.conversations():
            other.put_conversation(conversation)
        kept = [_original(source, target, user_id, document_id) for document_id in ids]
        chunks = _compare(one, other, ids, numbers, on_progress)
    return Copied(copied, len(ids) - copied, chunks, len(numbers), kept.count("copied"), kept.count("lost"))


def is_empty(source: Store, user_id: str) -> bool:
    """Return whether a tenant has nothing to copy."""
    side = source.copy_side(user_id)
    return not side.document_ids() and not side.generations()


def _original(source: Store, target: Store, user_id: str, document_id: str) -> Literal["none", "copied", "lost"]:
    """Copy the stored original of a document, if there is one that can be read."""
    if not source.originals.has(user_id, document_id) or target.originals.has(user_id, document_id):
        return "none"
    row = target.documents.find(user_id, document_id)
    try:
        path = source.originals.find(user_id, document_id)
        done = target.originals.keep(user_id, row.pk, path, row.document.file_hash)
    except (NotFound, SourceUnreadable, FileNotFoundError):
        return "lost"
    return "copied" if done else "lost"


def note_lost(lost: int) -> str:
    """Say how many originals are missing from a copy, and what to do; empty for none."""
    if not lost:
        return ""
    many = "1 original cannot be read here and is" if lost == 1 else f"{lost:,} originals cannot be read here and are"
    return f"{many} not in the copy: name the folder of the servers with --library, or the setting originals"


def _compare(
    one: Side, other: Side, ids: list[str], numbers: dict[int, int], on_progress: Callable[[Progress], object]
) -> int:
    """Read every document back and compare it with its original; return the number of chunks."""
    if (found := other.document_ids()) != ids and sorted(found) != sorted(ids):
        raise CopyMismatch(f"{len(ids):,} documents were copied, but the target has {len(found):,}")
    chunks = 0
    for done, document_id in enumerate(ids):
        on_progress(Progress("reading", done, len(ids)))
        if digest(one, document_id, numbers) != digest(other, document_id):
            raise CopyMismatch(f"document {document_id} differs in the copy")
        chunks += one.document(document_id).document.chunks
    return chunks
