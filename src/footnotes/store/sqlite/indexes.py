"""The two indexes of every tenant and generation: opened checked, brought up to date, rebuilt when damaged."""

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
"""Whatever goes wrong while files are read that anything may have happened to: the answer is a rebuild."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(slots=True)
class Slot(Generic[I]):
    """One index: how to open it, how to feed it, and the index itself once it is open."""

    open: Callable[[], I]
    entries: feed.EntriesOf
    folder: Path
    index: I | None = None
    rebuilt: list[str] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)
    distrust: str = ""
    """Why the files are not to be believed although their checksums are right."""


@dataclass(frozen=True, slots=True)
class IndexPositions:
    """How far the indexes have come: those of the folder, which searches wait for, and all of them."""

    own: int
    all: int


class _Stopped(Exception):
    """The library is being closed."""


class Indexes:
    """All indexes of a library. The database is the truth; nothing here is more than a copy of it.

    They lie under one folder, unless a vector database serves a leg: see `footnotes.store.remote_keeper`.
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
        """The lexical index, having seen at least `seq`, unless it is elsewhere."""
        if self.remote is not None and "lexical" in self.remote.legs:
            return RemoteLexical(self._database, generation, self.remote)
        return self._fresh(self._lexical_slot(generation), generation, seq).reader

    def dense(self, generation: Generation, seq: int) -> DenseLeg:
        """The dense index, having seen at least `seq`. One that lost its graph gets a new one behind the search."""
        if self.remote is not None and "dense" in self.remote.legs:
            return RemoteDense(self._database, generation, self.remote)
        index = self._fresh(self._dense_slot(generation), generation, seq)
        if not index.has_graph and index.wants_graph():
            self.grow_graph_behind(generation)
        return index.reader

    def serves_words(self) -> bool:
        """Whether the words are indexed in this folder."""
        return self.remote is None or "lexical" not in self.remote.legs

    def refresh(self, generation: Generation, seq: int) -> None:
        """Open what is in the folder as it is now. Searches go on with what is open, and never wait for this."""
        for slot in self._slots(generation):
            self._fresh(slot, generation, seq)
        self._looked_at.add(generation.pk)

    def expected(self, generation: Generation, seq: int, required: int) -> int:
        """The change a search may expect to find: `seq`, or what all have seen where somebody looks again for it.

        `required` is waited for in any case: without it an index does not have what is served.
        """
        if generation.pk not in self._looked_at:
            return seq
        open_now = [slot.index for slot in self._slots(generation)]
        return max(required, min([seq, *(seq if index is None else index.position for index in open_now)]))

    def catch_up(self, generation: Generation, *, strictly: bool = False, soon: bool = False) -> IndexPositions:
        """Bring all indexes to the last change there is, and say how far they came.

        A vector database that is away is left behind, unless `strictly` is asked for: then that is an error. Who has to
        be done `soon` does not wait long for it.
        """
        own = [self._bring_up_to_date(slot, generation) for slot in self._slots(generation)]
        if self.remote is None:
            return IndexPositions(min(own), min(own))
        bring = self.remote.catch_up if strictly else self.remote.attempt_soon if soon else self.remote.attempt
        return self._reached(generation, own, bring(generation))

    def follow_words(self, generation: Generation, goes_on: Callable[[Callable[[], bool]], bool]) -> None:
        """Bring the lexical index alone to the last change, and on with what comes meanwhile, in one commit: what is
        committed apart is a segment that every search goes through."""
        slot = self._lexical_slot(generation)
        with self._hold(slot, "updating an index"), slot.guard:
            index = self._open(slot, generation)
            self._refresh(slot, generation)
            followed = feed.Followed(self._database, generation, index.position, slot.entries, goes_on)
            try:
                with _disk_errors():
                    index.apply(followed, position=followed)
            except IndexDamaged as damage:
                slot.index = self._made_anew(slot, generation, str(damage))

    def seen(self, generation: Generation) -> IndexPositions:
        """The last change that the lexical index on disk has seen, all others brought up to date with it."""
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
        """Make again what has seen changes that the library does not have: somebody put an older copy of it back.

        Asked before anything is written: new changes would have numbers that count as seen.
        """
        for slot in self._slots(generation):
            if self._is_ahead(slot, generation, _seen_on_disk(slot.folder)):
                self._rebuild(slot, generation, "it had seen more than the library has")
        if self.remote is not None:
            self.remote.go_back(generation)

    def notice_losses(self, generation: Generation) -> None:
        """Say of each index that has seen more than the database has that something was lost."""
        for slot in self._slots(generation):
            self._is_ahead(slot, generation, _seen_on_disk(slot.folder))

    def _is_ahead(self, slot: Slot[I], generation: Generation, seen: int) -> bool:
        """Whether an index has seen changes that the library does not have: they were lost, which is written down."""
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
        """Make all that lie in the folder again from the database. Of a leg that is served elsewhere nothing stays."""
        for slot in self._slots(generation):
            self._rebuild(slot, generation, "on request")
        for leg in self.remote.legs if self.remote is not None else ():
            shutil.rmtree(self._path(generation) / leg, ignore_errors=True)

    def check(self, generation: Generation, seq: int, served: Keys, embedded: Keys) -> Iterator[Problem]:
        """The lexical index holds exactly the keys that are served, the dense one at least those of them embedded."""
        for slot in self._slots(generation):
            expected = served if slot.folder.name == "lexical" else embedded
            try:
                with _unreadable():
                    keys = self._fresh(slot, generation, seq).keys()
            except (StoreUnavailable, IndexDamaged) as error:
                yield Problem(f"{slot.folder.name} index: {error}", mendable=True)
                continue
            # A document that waits may have all its vectors already; then the dense index has them too.
            missing, extra = len(np.setdiff1d(expected, keys)), len(np.setdiff1d(keys, served))
            if missing or extra:
                yield Problem(f"{slot.folder.name} index: {missing} chunks missing, {extra} too many", mendable=True)

    def notes(self, generation: Generation) -> list[str]:
        """What had to be rebuilt since this process opened the library, and why."""
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
        """Take vectors outside the graph into it, if there are enough. Searches and writes go on meanwhile."""
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
        """Write a small lexical index again as one piece, beside the one in use, when a bulk of changes left many."""
        slot = self._lexical_slot(generation)
        if slot.index is None or not slot.index.is_scattered():
            return False
        fresh = slot.folder.with_name("lexical.new")
        with self._hold(slot, "joining an index"):
            if not slot.index.is_scattered():  # somebody else has done it meanwhile
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
        """`grow_graph` in a thread of its own, when it is worth it and none is at it."""
        if self._stopping.is_set() or not self._can_improve(generation):
            return
        with self._guard:
            if self._grower is not None and self._grower.is_alive():
                return
            self._grower = threading.Thread(target=self._grow_quietly, args=(generation,), name="footnotes-graph")
            self._grower.start()

    def await_growth(self) -> None:
        """Wait for what is being built behind."""
        grower = self._grower
        if grower is not None and grower is not threading.current_thread():
            grower.join()

    def _can_improve(self, generation: Generation) -> bool:
        dense, lexical = self._dense_slot(generation).index, self._lexical_slot(generation).index
        return (dense is not None and dense.wants_graph()) or (lexical is not None and lexical.is_scattered())

    def close(self) -> None:
        """Stop what is being built behind; it is begun again next time."""
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
        except Exception as error:  # a cache that could not be improved is no failure of anything else
            self._dense_slot(generation).rebuilt.append(f"the graph was not grown: {error}")

    def _stop_if_asked(self, _done: int, _total: int) -> None:
        # The thread is no daemon, for native code must not be cut off at exit: it has to notice the end itself.
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
            if slot.index is not None and slot.index.position == 0:  # searches expect it, so that it was there before
                slot.rebuilt.append(f"{slot.folder.name}: rebuilt (it was gone)")
            self._bring_up_to_date(slot, generation)
        assert slot.index is not None
        return slot.index

    def _open(self, slot: Slot[I], generation: Generation) -> I:
        if slot.distrust:
            slot.index = self._made_anew(slot, generation, slot.distrust)
            slot.distrust = ""
        if slot.index is None:
            slot.index = self._open_trusted(slot, generation, slot.open)
            if self._is_ahead(slot, generation, slot.index.position):
                # Changes to come would count as seen.
                slot.index = self._made_anew(slot, generation, "the library is older than what was made of it")
        return slot.index

    def _refresh(self, slot: Slot[I], generation: Generation) -> None:
        index = slot.index
        assert index is not None

        def refresh() -> I:
            index.refresh()
            return index

        slot.index = self._open_trusted(slot, generation, refresh)

    def _open_trusted(self, slot: Slot[I], generation: Generation, read: Callable[[], I]) -> I:
        """What is read from the folder; where that fails, read again while nobody writes, and then made again."""
        with _unreadable():
            try:
                return read()
            except _UNTRUSTWORTHY:
                with self._hold(slot, "checking an index"):
                    try:
                        return slot.open()
                    except _UNTRUSTWORTHY as damage:
                        return self._made_anew(slot, generation, str(damage))

    def distrust(self, generation: Generation, leg: str, reason: str) -> None:
        """An index broke while it was searched: it is made again before it is asked again."""
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
        """The index with changes. One that cannot take them in, though there is room, is made again, once."""
        try:
            with _disk_errors():
                index.apply(changes, position=seq)
        except IndexDamaged as damage:
            slot.index = index = self._made_anew(slot, generation, str(damage))
        return index

    def _rebuild(self, slot: Slot[I], generation: Generation, reason: str) -> None:
        with self._hold(slot, "rebuilding an index"), slot.guard:
            slot.index = self._made_anew(slot, generation, reason)

    def _made_anew(self, slot: Slot[I], generation: Generation, reason: str) -> I:
        """An index rebuilt from the database. Another process may be doing the same: the lock decides who does."""
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
        """The lock of a leg: its index is written by one process at a time."""
        return self._locks[slot.folder.name].held(seconds=_LOCK_SECONDS, purpose=purpose)

    # ── slots

    def _slots(self, generation: Generation) -> list[Slot[Any]]:
        """Those of the folder, the words first."""
        elsewhere = self.remote.legs if self.remote is not None else ()
        words = [] if "lexical" in elsewhere else [self._lexical_slot(generation)]
        return [*words, *([] if "dense" in elsewhere else [self._dense_slot(generation)])]

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
        """A tenant's folder is named by a hash: names of users are not names of folders."""
        tenant = hashlib.sha256(generation.user_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return self._folder / tenant / str(generation.pk)


def loss_message(leg: str, seen: int, had: int) -> str:
    return (
        f"the {leg} index has seen change {seen}, the database has {had}: what came after it was lost, "
        "or an older copy of the database was put back"
    )


def _seen_on_disk(folder: Path) -> int:
    """The last change that the files of an index have seen; what is wrong with them is for others to find."""
    with suppress(*_UNTRUSTWORTHY, OSError):
        content = manifest.read(folder)
        return int(content["seq"]) if content else 0
    return 0


@contextmanager
def _unreadable() -> Iterator[None]:
    """A file that the system does not let us read is not damaged: it is left alone, and the leg says why."""
    try:
        yield
    except IndexUnreadable as error:
        raise StoreUnavailable(f"an index cannot be read ({error.strerror})") from error


@contextmanager
def _disk_errors() -> Iterator[None]:
    """What the system refuses while an index is written; the next catch-up begins where it stopped."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise StoreFull("the disk is full; an index could not be written") from error
        raise StoreUnavailable(f"an index could not be written ({error.strerror})") from error


@contextmanager
def _no_damage() -> Iterator[None]:
    """An index that was made again this moment cannot be damaged: what is wrong is something else."""
    try:
        yield
    except IndexDamaged as error:
        raise StoreUnavailable(f"an index could not be made ({error})") from error
