"""Plans a sync of a folder: compares names, sizes, times and hashes; changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from footnotes.errors import DocumentError, MissingExtra, all_errors
from footnotes.ingest.archive.members import has_archive_name
from footnotes.store.naming import INSIDE
from footnotes.store.records import KnownSource, Signature
from footnotes.types import TAKEN_IN

SETTLING_NS = 2_000_000_000
"""A file written this shortly before it was read may be written again without a sign: clocks of disks are coarse."""
_MAY_CHANGE = {kind.code for kind in all_errors() if kind.retryable} | {MissingExtra.code, "source_unreadable"}
"""Failures that may be temporary although the file is unchanged."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A file that is there now."""

    path: Path
    signature: Signature
    stamp: str | None = None
    """The stamp of an unchanged entry of a source, instead of sizes and times."""


@dataclass(slots=True)
class Plan:
    """What to do. Sources are named as the library names them."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)
    gone: list[KnownSource] = field(default_factory=list)
    unchanged: list[KnownSource] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)
    failed_before: list[KnownSource] = field(default_factory=list)
    left_alone: list[KnownSource] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Looks:
    """The questions a plan asks of the world."""

    hash_of: Callable[[Path], str]
    is_current: Callable[[KnownSource], bool]
    is_gone: Callable[[str], bool]
    owner_of: Callable[[str], str | None] = lambda source: archive_of(source)


def make_plan(seen: Mapping[str, Seen], known: Mapping[str, KnownSource], looks: Looks, made_by: str) -> Plan:
    """Compare the files that are there with those that are known."""
    plan, hashes = Plan(), dict[str, str]()
    for source, file in seen.items():
        _place(source, file, known.get(source), plan, hashes, looks, made_by)
    for source, before in known.items():
        owner = looks.owner_of(source)
        if source not in seen and owner not in seen:
            (plan.gone if looks.is_gone(owner or source) else plan.left_alone).append(before)
    _find_moves(plan, seen, known, hashes, looks)
    return plan


def archive_of(source: str) -> str | None:
    """Return the archive that contains a source, if there is one."""
    archive, inside, _ = source.partition(INSIDE)
    return archive if inside and has_archive_name(archive) else None


def may_change(error_code: str) -> bool:
    """Return whether a failure may be temporary although the file is unchanged."""
    return error_code in _MAY_CHANGE


def _place(
    source: str, file: Seen, before: KnownSource | None, plan: Plan, hashes: dict[str, str], looks: Looks, made_by: str
) -> None:
    """Classify one existing file."""
    if before is None:
        plan.added.append(source)
    elif _same(before.signature, file.signature) if file.stamp is None else before.stamp == file.stamp:
        _plan_unchanged(source, before, plan, looks, made_by)
    elif before.document_id is None:
        plan.changed.append(source)
    else:
        try:
            hashes[source] = looks.hash_of(file.path)
        except DocumentError:
            plan.changed.append(source)
            return
        if hashes[source] != before.file_hash or before.status not in TAKEN_IN or not looks.is_current(before):
            plan.changed.append(source)
        else:
            plan.unchanged.append(before)
            plan.touched.append(source)


def _plan_unchanged(source: str, before: KnownSource, plan: Plan, looks: Looks, made_by: str) -> None:
    if before.error is not None:
        hopeless = before.made_by == made_by and not may_change(before.error.code)
        (plan.failed_before.append(before) if hopeless else plan.changed.append(source))
    elif before.document_id is None or (before.status in TAKEN_IN and looks.is_current(before)):
        plan.unchanged.append(before)
    else:
        plan.changed.append(source)


def _same(before: Signature | None, now: Signature) -> bool:
    """Return whether a file is surely unchanged. The inode's change time reveals reset modification times."""
    if before is None or (before.size, before.mtime_ns, before.ctime_ns) != (now.size, now.mtime_ns, now.ctime_ns):
        return False
    return max(before.mtime_ns, before.ctime_ns) < before.read_ns - SETTLING_NS


def _find_moves(
    plan: Plan, seen: Mapping[str, Seen], known: Mapping[str, KnownSource], hashes: dict[str, str], looks: Looks
) -> None:
    """Find moved content: it disappeared under one name and appeared under another. Two files may also swap names."""
    left = [before for before in plan.gone if archive_of(before.source) is None]
    left += [known[source] for source in plan.changed if source in hashes]
    vacated: dict[str, list[KnownSource]] = {}
    for before in left:
        if before.document_id is not None and before.file_hash and hashes.get(before.source) != before.file_hash:
            vacated.setdefault(before.file_hash, []).append(before)
    sizes = {before.bytes for group in vacated.values() for before in group}
    for source in [*plan.added, *plan.changed]:
        if seen[source].signature.size in sizes and not has_archive_name(source):
            content = hashes.get(source) or _hash_if_readable(seen[source].path, looks)
            if group := vacated.get(content):
                before = _nearest(source, group)
                group.remove(before)
                plan.moved[before.source] = source
    _settle_moves(plan)


def _settle_moves(plan: Plan) -> None:
    """Drop each move whose new name belongs to another file, unless that file's content moved too."""
    added = set(plan.added)
    while blocked := [old for old, new in plan.moved.items() if new not in added and new not in plan.moved]:
        for old in blocked:
            del plan.moved[old]
    arrived = set(plan.moved.values())
    plan.added = [source for source in plan.added if source not in arrived]
    # A name that was vacated and reused by something new holds a new document.
    plan.changed = [source for source in plan.changed if source not in arrived]
    plan.gone = [before for before in plan.gone if before.source not in plan.moved]


def _nearest(source: str, group: list[KnownSource]) -> KnownSource:
    """Return the most similar name among files with the same content: the same file name, then the same folder."""
    folder, _, name = source.rpartition("/")

    def likeness(before: KnownSource) -> tuple[bool, bool]:
        before_folder, _, before_name = before.source.rpartition("/")
        return before_name == name, before_folder == folder

    return max(group, key=likeness)


def _hash_if_readable(path: Path, looks: Looks) -> str:
    try:
        return looks.hash_of(path)
    except DocumentError:
        return ""
