"""The two indexes of every tenant and generation: checked when opened, updated, and rebuilt when damaged."""

from __future__ import annotations

import errno
import hashlib
import logging
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from footnotes.errors import StoreFull, StoreUnavailable
from footnotes.index import Change, IndexDamaged, IndexUnreadable, Keys, manifest
from footnotes.index.dense import DenseIndex, DenseReader
from footnotes.index.lexical import LexicalIndex
from footnotes.index.lexical_reader import LexicalReader
from footnotes.store import lexemes
from footnotes.store.lock import FileLock
from footnotes.store.records import Generation, Problem
from footnotes.store.remote_keeper import RemoteKeeper
from footnotes.store.sqlite import feed
from footnotes.store.sqlite.connection import Database
from footnotes.store.sqlite.remote_legs import RemoteDense, RemoteLexical

I = TypeVar("I", LexicalIndex, DenseIndex)  # noqa: E741
LexicalLeg: TypeAlias = LexicalReader | RemoteLexical
DenseLeg: TypeAlias = DenseReader | RemoteDense
_LOG = logging.getLogger("footnotes.store")
_LOCK_SECONDS = 600.0
_UNTRUSTWORTHY = (IndexDamaged, FileNotFoundError, ValueError, KeyError, TypeError)
"""Errors from reading possibly damaged files; each leads to a rebuild."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(slots=True)
class Slot(Generic[I]):
    """One index: how to open and feed it, and the index itself once it is open."""

    open: Callable[[], I]
    entries: feed.EntriesOf
    folder: Path
    index: I | None = None
    rebuilt: list[str] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)
    distrust: str = ""
    """Why the files are not trusted although their checksums match."""


@dataclass(frozen=True, slots=True)
class IndexPositions:
    """The positions of the indexes: those in the folder, which searches wait for, and all of them."""

    own: int
    all: int


class _Stopped(Exception):
    """The library is being closed."""


class Indexes:
    """All indexes of a library. The database has all data; an index is only a copy.

    They are in one folder, unless a vector database serves a leg: see `footnotes.store.remote_keeper`.
    """

    def __init__(self, folder: Path, database: Database, library_id: str, remote: RemoteKeeper | None = None) -> None:
        self._folder = folder
        self._database = database
        self._library_id = library_id
        self.remote = remote
        self._lexical: dict[int, Slot[LexicalIndex]] = {}
        self._dense: dict[int, Slot[DenseIndex]] = {}
        self._looked_at: set[int] = set()
        self._growing = threading.Lock()
        self._grower: threading.Thread | None = None
        self._stopping = threading.Event()
        self._guard = threading.Lock()
        if not database.read_only:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._locks = {"lexical": FileLock(folder / "lexical.lock"), "dense": FileLock(folder / "dense.lock")}

    def lexical(self, generation: Generation, seq: int) -> LexicalLeg:
        """Return the lexical index with changes up to `seq`, or the remote one."""
        if self.remote is not None and "lexical" in self.remote.legs:
            return RemoteLexical(self._database, generation, self.remote)
        return self._fresh(self._lexical_slot(generation), generation, seq).reader

    def dense(self, generation: Generation, seq: int) -> DenseLeg:
        """Return the dense index with changes up to `seq`. If it lost its graph, build one in the background."""
        if self.remote is not None and "dense" in self.remote.legs:
            return RemoteDense(self._database, generation, self.remote)
        index = self._fresh(self._dense_slot(generation), generation, seq)
        if not index.has_graph and index.wants_graph():
            self.grow_graph_behind(generation)
        return index.reader

    def serves_words(self) -> bool:
        """Return whether the lexical index is in this folder."""
        return self.remote is None or "lexical" not in self.remote.legs

    def refresh(self, generation: Generation, seq: int) -> None:
        """Reopen the indexes in the folder. Searches continue with the open ones, and never wait for this."""
        for slot in self._slots(generation):
            self._fresh(slot, generation, seq)
        self._looked_at.add(generation.pk)

    def expected(self, generation: Generation, seq: int, required: int) -> int:
        """Return the change a search should expect: `seq`, or the indexes' position if `refresh` keeps them up to date.

        The result is at least `required`: an index without that change lacks published chunks.
        """
        if generation.pk not in self._looked_at:
            return seq
        open_now = [slot.index for slot in self._slots(generation)]
        return max(required, min([seq, *(seq if index is None else index.position for index in open_now)]))

    def catch_up(self, generation: Generation, *, strictly: bool = False, soon: bool = False) -> IndexPositions:
        """Update all indexes to the last change, and return their positions.

        A vector database that is away is left behind; with `strictly` that is an error. With `soon`, the wait for it is
        short.
        """
        own = [self._bring_up_to_date(slot, generation) for slot in self._slots(generation)]
        if self.remote is None:
            return IndexPositions(min(own), min(own))
        bring = self.remote.catch_up if strictly else self.remote.attempt_soon if soon else self.remote.attempt
        return self._reached(generation, own, bring(generation))

    def follow_words(self, generation: Generation, goes_on: Callable[[Callable[[], bool]], bool]) -> None:
        """Update the lexical index to the last change, and follow later changes in the same commit: each commit adds a
        segment that every search visits."""
        slot = self._lexical_slot(generation)
        with self._hold(slot, "updating an index"), slot.guard:
            index = self._open(slot, generation)
            self._refresh(slot, generation)
            followed = feed.Followed(self._database, generation, index.position, slot.entries, goes_on)
            try:
                with _disk_errors():
                    index.apply(followed, position=followed)
            except IndexDamaged as damage:
                slot.index = self._rebuild_from_store(slot, generation, str(damage))

    def seen(self, generation: Generation) -> IndexPositions:
        """Return the position of the lexical index on disk, after updating all others."""
        slot = self._lexical_slot(generation)
        with slot.guard:
            words = self._open(slot, generation)
            self._refresh(slot, generation)
        others = [self._bring_up_to_date(slot, generation) for slot in self._slots(generation)[1:]]
        own = [words.position, *others]
        if self.remote is None:
            return IndexPositions(min(own), min(own))
        return self._reached(generation, own, self.remote.attempt(generation))

    def go_back(self, generation: Generation) -> None:
        """Rebuild indexes that are ahead of the library, because an older copy of it was restored.

        Called before anything is written: new changes would reuse numbers that count as applied.
        """
        for slot in self._slots(generation):
            if self._is_ahead(slot, generation, _seen_on_disk(slot.folder)):
                self._rebuild(slot, generation, "it had seen more than the library has")
        if self.remote is not None:
            self.remote.go_back(generation)

    def notice_losses(self, generation: Generation) -> None:
        """Record a loss for each index that is ahead of the database."""
        for slot in self._slots(generation):
            self._is_ahead(slot, generation, _seen_on_disk(slot.folder))

    def _is_ahead(self, slot: Slot[I], generation: Generation, seen: int) -> bool:
        """Return whether an index is ahead of the library; if so, record that changes were lost."""
        last = self._last(generation)
        if seen <= last:
            return False
        leg = slot.folder.name
        if not self._database.read_only:
            with self._database.write(generation.user_id) as cursor:
                cursor.run("note_loss", generation=generation.pk, leg=leg, seen=seen, had=last)
        _LOG.warning(loss_message(leg, seen, last))
        return True

    def _reached(self, generation: Generation, own: list[int], remote: int) -> IndexPositions:
        return IndexPositions(min(own, default=self._last(generation)), min([*own, remote]))

    def _last(self, generation: Generation) -> int:
        with self._database.snapshot(generation.user_id) as cursor:
            return feed.last_change(cursor, generation)

    def rebuild(self, generation: Generation) -> None:
        """Rebuild the indexes in the folder from the database. Remove those of legs that are served elsewhere."""
        for slot in self._slots(generation):
            self._rebuild(slot, generation, "on request")
        for leg in self.remote.legs if self.remote is not None else ():
            shutil.rmtree(self._path(generation) / leg, ignore_errors=True)

    def check(self, generation: Generation, seq: int, served: Keys, embedded: Keys) -> Iterator[Problem]:
        """Check that the lexical index has exactly the published keys, and the dense one at least those embedded."""
        for slot in self._slots(generation):
            expected = served if slot.folder.name == "lexical" else embedded
            try:
                with _unreadable():
                    keys = self._fresh(slot, generation, seq).keys()
            except (StoreUnavailable, IndexDamaged) as error:
                yield Problem(f"{slot.folder.name} index: {error}", mendable=True)
                continue
            # A waiting document may have all its vectors already; then the dense index has them too.
            missing, extra = len(np.setdiff1d(expected, keys)), len(np.setdiff1d(keys, served))
            if missing or extra:
                yield Problem(f"{slot.folder.name} index: {missing} chunks missing, {extra} too many", mendable=True)

    def notes(self, generation: Generation) -> list[str]:
        """Return what was rebuilt since this process opened the library, and why."""
        return [note for slot in self._slots(generation) for note in slot.rebuilt]

    def drop(self, generation: Generation) -> None:
        with self._guard:
            self._lexical.pop(generation.pk, None)
            self._dense.pop(generation.pk, None)
            self._looked_at.discard(generation.pk)
        shutil.rmtree(self._path(generation), ignore_errors=True)
        if self.remote is not None:
            self.remote.drop(generation)

    def grow_graph(self, generation: Generation, progress: Callable[[int, int], None] | None = None) -> bool:
        """Add vectors outside the graph to it, if there are enough. Searches and writes continue meanwhile."""
        slot = self._dense_slot(generation)
        with self._growing:
            index = slot.index
            if index is None or not index.wants_graph():
                return False
            grown = index.build_graph(progress=progress)
            with self._hold(slot, "saving a graph"), slot.guard:
                index.refresh()
                return index.publish_graph(grown)

    def join_segments(self, generation: Generation) -> bool:
        """Rewrite a small lexical index with many segments as one, beside the one in use."""
        slot = self._lexical_slot(generation)
        if slot.index is None or not slot.index.is_scattered():
            return False
        fresh = slot.folder.with_name("lexical.new")
        with self._hold(slot, "joining an index"):
            if not slot.index.is_scattered():  # another process has done it meanwhile
                return False
            shutil.rmtree(fresh, ignore_errors=True)
            joined = LexicalIndex(fresh, self._identity(generation, "lexical"))
            with self._database.snapshot(generation.user_id) as cursor, _no_damage(), _disk_errors():
                seq, changes = feed.everything(cursor, generation, slot.entries)
                joined.apply(changes, position=seq)
            with slot.guard:
                shutil.rmtree(slot.folder, ignore_errors=True)
                fresh.rename(slot.folder)
                slot.index = slot.open()
        return True

    def grow_graph_behind(self, generation: Generation) -> None:
        """Run `grow_graph` in a background thread, if worthwhile and not already running."""
        if self._stopping.is_set() or not self._can_improve(generation):
            return
        with self._guard:
            if self._grower is not None and self._grower.is_alive():
                return
            self._grower = threading.Thread(target=self._grow_quietly, args=(generation,), name="footnotes-graph")
            self._grower.start()

    def await_growth(self) -> None:
        """Wait for background work."""
        grower = self._grower
        if grower is not None and grower is not threading.current_thread():
            grower.join()

    def _can_improve(self, generation: Generation) -> bool:
        dense, lexical = self._dense_slot(generation).index, self._lexical_slot(generation).index
        return (dense is not None and dense.wants_graph()) or (lexical is not None and lexical.is_scattered())

    def close(self) -> None:
        """Stop background work; it starts again next time."""
        self._stopping.set()
        if self._grower is not None:
            self._grower.join()
        if self.remote is not None:
            self.remote.close()
        self._lexical.clear()
        self._dense.clear()

    def _grow_quietly(self, generation: Generation) -> None:
        try:
            self.join_segments(generation)
            self.grow_graph(generation, self._stop_if_asked)
        except _Stopped:
            pass
        except Exception as error:  # a failed improvement of a cache must not fail anything else
            self._dense_slot(generation).rebuilt.append(f"the graph was not grown: {error}")

    def _stop_if_asked(self, _done: int, _total: int) -> None:
        # The thread is not a daemon, because native code must not be cut off at exit, so it must notice the end itself.
        if self._stopping.is_set() or not threading.main_thread().is_alive():
            raise _Stopped

    # ── freshness

    def _fresh(self, slot: Slot[I], generation: Generation, seq: int) -> I:
        index = slot.index
        if index is not None and index.position >= seq:
            return index
        with slot.guard:
            index = self._open(slot, generation)
            if index.position < seq:
                self._refresh(slot, generation)
        if index.position < seq:
            if slot.index is not None and slot.index.position == 0:  # searches expect it, so it existed before
                slot.rebuilt.append(f"{slot.folder.name}: rebuilt (it was gone)")
            self._bring_up_to_date(slot, generation)
        assert slot.index is not None
        return slot.index

    def _open(self, slot: Slot[I], generation: Generation) -> I:
        if slot.distrust:
            slot.index = self._rebuild_from_store(slot, generation, slot.distrust)
            slot.distrust = ""
        if slot.index is None:
            slot.index = self._open_trusted(slot, generation, slot.open)
            if self._is_ahead(slot, generation, slot.index.position):
                # New changes would count as applied.
                slot.index = self._rebuild_from_store(slot, generation, "the library is older than what was made of it")
        return slot.index

    def _refresh(self, slot: Slot[I], generation: Generation) -> None:
        index = slot.index
        assert index is not None

        def refresh() -> I:
            index.refresh()
            return index

        slot.index = self._open_trusted(slot, generation, refresh)

    def _open_trusted(self, slot: Slot[I], generation: Generation, read: Callable[[], I]) -> I:
        """Read from the folder. On failure, read again while holding the lock, and finally rebuild."""
        with _unreadable():
            try:
                return read()
            except _UNTRUSTWORTHY:
                with self._hold(slot, "checking an index"):
                    try:
                        return slot.open()
                    except _UNTRUSTWORTHY as damage:
                        return self._rebuild_from_store(slot, generation, str(damage))

    def distrust(self, generation: Generation, leg: str, reason: str) -> None:
        """Mark an index that broke during a search, to be rebuilt before its next use."""
        slot = self._lexical_slot(generation) if leg == "lexical" else self._dense_slot(generation)
        slot.index, slot.distrust = None, reason

    def _bring_up_to_date(self, slot: Slot[I], generation: Generation) -> int:
        with self._hold(slot, "updating an index"), slot.guard:
            index = self._open(slot, generation)
            self._refresh(slot, generation)
            with self._database.snapshot(generation.user_id) as cursor:
                if index.position == 0:
                    seq, changes = feed.everything(cursor, generation, slot.entries)
                else:
                    seq, changes = feed.changes_after(cursor, generation, index.position, slot.entries)
                if seq > index.position:
                    index = self._apply(slot, generation, index, changes, seq)
            return index.position

    def _apply(self, slot: Slot[I], generation: Generation, index: I, changes: Iterable[Change], seq: int) -> I:
        """Apply changes to an index. Rebuild it once if it fails although the disk has room."""
        try:
            with _disk_errors():
                index.apply(changes, position=seq)
        except IndexDamaged as damage:
            slot.index = index = self._rebuild_from_store(slot, generation, str(damage))
        return index

    def _rebuild(self, slot: Slot[I], generation: Generation, reason: str) -> None:
        with self._hold(slot, "rebuilding an index"), slot.guard:
            slot.index = self._rebuild_from_store(slot, generation, reason)

    def _rebuild_from_store(self, slot: Slot[I], generation: Generation, reason: str) -> I:
        """Rebuild an index from the database. The lock admits one process at a time."""
        with self._hold(slot, "rebuilding an index"), _unreadable():
            shutil.rmtree(slot.folder, ignore_errors=True)
            index = slot.open()
            with self._database.snapshot(generation.user_id) as cursor:
                seq, changes = feed.everything(cursor, generation, slot.entries)
                if seq:
                    with _no_damage(), _disk_errors():
                        index.apply(changes, position=seq)
        slot.rebuilt.append(f"{slot.folder.name}: rebuilt ({reason})")
        return index

    def _hold(self, slot: Slot[I], purpose: str) -> AbstractContextManager[None]:
        """Hold the lock of a leg: one process at a time writes its index."""
        return self._locks[slot.folder.name].held(seconds=_LOCK_SECONDS, purpose=purpose)

    # ── slots

    def _slots(self, generation: Generation) -> list[Slot[Any]]:
        """Return the slots in the folder, the lexical one first."""
        remote_legs = self.remote.legs if self.remote is not None else ()
        words = [] if "lexical" in remote_legs else [self._lexical_slot(generation)]
        return [*words, *([] if "dense" in remote_legs else [self._dense_slot(generation)])]

    def _lexical_slot(self, generation: Generation) -> Slot[LexicalIndex]:
        with self._guard:
            if generation.pk not in self._lexical:
                folder, identity = self._path(generation) / "lexical", self._identity(generation, "lexical")
                self._lexical[generation.pk] = Slot(
                    lambda: LexicalIndex(folder, identity), feed.lexical_entries, folder
                )
            return self._lexical[generation.pk]

    def _dense_slot(self, generation: Generation) -> Slot[DenseIndex]:
        with self._guard:
            if generation.pk not in self._dense:
                folder, identity = self._path(generation) / "dense", self._identity(generation, "dense")
                self._dense[generation.pk] = Slot(
                    lambda: DenseIndex(folder, identity, generation.dimensions), feed.dense_entries, folder
                )
            return self._dense[generation.pk]

    def _identity(self, generation: Generation, leg: str) -> str:
        made_by = lexemes.fingerprint() if leg == "lexical" else generation.fingerprint
        return f"{self._library_id}/{generation.user_id}/{generation.pk}/{leg}/{made_by}"

    def _path(self, generation: Generation) -> Path:
        """Return a generation's folder. A hash names the tenant, because a user name may be no valid folder name."""
        tenant = hashlib.sha256(generation.user_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return self._folder / tenant / str(generation.pk)


def loss_message(leg: str, seen: int, had: int) -> str:
    return (
        f"the {leg} index has seen change {seen}, the database has {had}: what came after it was lost, "
        "or an older copy of the database was put back"
    )


def _seen_on_disk(folder: Path) -> int:
    """Return the position in an index's files; 0 for damaged files, which others will detect."""
    with suppress(*_UNTRUSTWORTHY, OSError):
        content = manifest.read(folder)
        return int(content["seq"]) if content else 0
    return 0


@contextmanager
def _unreadable() -> Iterator[None]:
    """Translate unreadable files to an error of the leg. They are not damaged, so they stay."""
    try:
        yield
    except IndexUnreadable as error:
        raise StoreUnavailable(f"an index cannot be read ({error.strerror})") from error


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Translate write errors of the system; the next catch-up continues where this one stopped."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise StoreFull("the disk is full; an index could not be written") from error
        raise StoreUnavailable(f"an index could not be written ({error.strerror})") from error


@contextmanager
def _no_damage() -> Iterator[None]:
    """Translate damage right after a rebuild, because it must have another cause."""
    try:
        yield
    except IndexDamaged as error:
        raise StoreUnavailable(f"an index could not be made ({error})") from error
