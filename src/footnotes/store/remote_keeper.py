"""Keeps a vector database up to date with a store, and reports the state while it lags.

The store is written first and loses nothing when the database is away. Changes wait in the change log, and are applied
in portions, oldest first. After each portion the database is marked, so an interrupted catch-up continues where it
stopped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import numpy as np

from footnotes import plugins
from footnotes.errors import ConfigError, FootnotesError, IndexFailed, IndexMissing, IndexUnavailable, StoreLocked
from footnotes.index import Keys
from footnotes.index.address import check_legs
from footnotes.index.remote import RemoteIndex, Scope, VectorDatabase
from footnotes.settings import Settings
from footnotes.store.change_feed import ChangeFeed
from footnotes.store.records import Generation, Problem, Verification
from footnotes.types import IndexState

LEGS = ("dense", "lexical")
_LOOK_SECONDS = 60.0
"""How often to check whether an index in use still has its content."""
_DOUBT_SECONDS = 1.0
"""The least time between checks of an index that found nothing, whether it has any content."""
_SOON_SECONDS = 2.0
"""How long a deletion waits for the database; its outdated results are never shown anyway."""
T = TypeVar("T")

_LOOKS = 5
"""How often to retry a comparison with a store that others write to."""


def vector_database(settings: Settings) -> VectorDatabase | None:
    """Return the vector database of the settings, if they name one."""
    if not settings.index:
        return None
    if not settings.index_legs or (unknown := set(settings.index_legs) - set(LEGS)):
        name = "none" if not settings.index_legs else repr(min(unknown))
        raise ConfigError(
            f"index_legs names {name}; a vector database serves legs",
            remedy='Set index_legs to ["dense"] or ["dense", "lexical"], or leave index empty.',
        )
    scheme = settings.index.partition(":")[0].partition("+")[0]
    if ":" not in settings.index or scheme not in plugins.names("indexes"):
        raise ConfigError(  # the address is left out: it may contain a password
            "the setting index is no address of a vector database",
            remedy='Write it as "qdrant://host:6333", "chroma://host:8000" or "chroma:FOLDER".',
        )
    database: VectorDatabase = plugins.find("indexes", scheme).opened(settings)
    check_legs(settings, scheme, database.legs)
    return database


class RemoteKeeper:
    """The indexes of a store in one vector database. `failure` is why the last update failed, if it did."""

    def __init__(self, database: VectorDatabase, legs: Iterable[str], library: str, feed: ChangeFeed) -> None:
        self.legs = frozenset(legs)
        self.failure: IndexFailed | None = None
        self._database = database
        self._library = library
        self._feed = feed
        self._indexes: dict[int, RemoteIndex] = {}
        self._notes: dict[int, list[str]] = {}
        """Losses that were refilled since the store was opened, by generation."""
        self._noted: set[int] = set()
        self._looked = _Pace(_LOOK_SECONDS, begins_now=True)
        self._doubted = _Pace(_DOUBT_SECONDS)
        self._guard = threading.Lock()
        self._filler: threading.Thread | None = None
        self._wanted: dict[int, tuple[Generation, threading.Event]] = {}
        self._stopping = threading.Event()

    @property
    def address(self) -> str:
        return self._database.address

    def close(self) -> None:
        """Stop background work; the rest is done next time."""
        self._stopping.set()
        filler = self._filler
        if filler is not None:
            filler.join()
        self._database.close()

    def index(self, generation: Generation) -> RemoteIndex:
        with self._guard:
            if generation.pk not in self._indexes:
                model = (generation.fingerprint, generation.dimensions)
                scope = Scope(self._library, generation.user_id, generation.pk, *model, self._feed.words)
                self._indexes[generation.pk] = self._database.index(scope)
            return self._indexes[generation.pk]

    def state(self, generation: Generation | None) -> IndexState:
        """Return the progress of the index, asking the database now."""
        behind, failure = 0, self.failure
        if generation is not None:
            seen = self._feed.known(generation)
            try:
                with self._unnamed():
                    seen = self.index(generation).refresh()
                failure = failure if self._feed.dropped(generation.user_id) else None
            except IndexFailed as error:
                failure = error
            behind = self._feed.behind(generation, seen)
        legs = tuple(leg for leg in LEGS if leg in self.legs)
        return IndexState(self.address, legs, behind, failure.info() if failure is not None else None)

    # ── updates

    def catch_up(self, generation: Generation) -> int:
        """Update an index to the last change, and return that. Raises if the database fails."""
        try:
            with self._unnamed(), self._feed.held(generation):
                seq = self._filled(generation)
        except IndexFailed as failure:
            self.failure = failure
            raise
        except (FootnotesError, _Stopped):
            raise
        except Exception as error:  # no error in a database's client may break a completed write
            self.failure = IndexFailed(f"the vector database broke off: {type(error).__name__}: {error}")
            raise self.failure from error
        self.failure = None
        return seq

    def attempt(self, generation: Generation) -> int:
        """Like `catch_up`; on failure, return the last change known to be applied. The rest waits in the log."""
        try:
            return self.catch_up(generation)
        except (IndexFailed, StoreLocked):
            return self._feed.known(generation)

    def attempt_soon(self, generation: Generation) -> int:
        """Like `attempt`, but wait only briefly; the rest continues in the background."""
        if not self.catch_up_behind(generation).wait(_SOON_SECONDS) and self.failure is None:
            self.failure = IndexUnavailable("the vector database has not answered yet")
        return self._feed.known(generation)

    def catch_up_behind(self, generation: Generation) -> threading.Event:
        """Catch up in a background thread, one generation after the other. The event is set after the attempt."""
        with self._guard:
            _, attempt = self._wanted.setdefault(generation.pk, (generation, threading.Event()))
            if self._filler is None and not self._stopping.is_set():
                self._filler = threading.Thread(target=self._fill_wanted, name="footnotes-remote-index")
                self._filler.start()
            return attempt

    def _fill_wanted(self) -> None:
        while True:
            with self._guard:
                if not self._wanted or self._stopping.is_set():
                    self._filler = None
                    return
                pk = next(iter(self._wanted))
                generation, attempt = self._wanted.pop(pk)
            self._fill_quietly(generation)
            attempt.set()

    def behind(self, generation: Generation) -> int:
        """Return how many documents the index is known to lack, and start to add them."""
        documents = self._lacking(generation)
        self.look_after(generation, behind=documents > 0)
        return documents

    def _lacking(self, generation: Generation) -> int:
        return self._feed.behind(generation, self._feed.known(generation))

    def look_after(self, generation: Generation, *, behind: bool) -> None:
        """Add what is missing, and check now and then that the content is still there. Called by searches."""
        due = self._looked.is_due(generation.pk)
        if behind or due:
            self.catch_up_behind(generation)

    def ask(self, generation: Generation, question: Callable[[RemoteIndex], T], nothing: T) -> T:
        """Query an index. Returns `nothing` if it was never filled; the search reports what is missing.

        An index that is gone is rebuilt in the background of the search that found out.
        """
        try:
            with self._unnamed():
                answer = question(self.index(generation))
                if answer == nothing:
                    self._see_that_it_is_there(generation)
                return answer
        except IndexMissing:
            if not self._feed.known(generation):
                return nothing
            self.catch_up_behind(generation)
            raise

    def _see_that_it_is_there(self, generation: Generation) -> None:
        """Check the mark of an index that found nothing, because it may have been cleared. Raises if it was."""
        known = self._feed.known(generation) if self._doubted.is_due(generation.pk) else 0
        if known and self.index(generation).refresh() < known:
            raise IndexMissing("the vector database has lost what it was brought; it is brought again")

    @contextmanager
    def _unnamed(self) -> Iterator[None]:
        """Remove the address from errors, because callers see them and need not know it."""
        try:
            yield
        except IndexFailed as failure:
            if self.address not in failure.message:
                raise
            message = failure.message.replace(f" at {self.address}", "").replace(self.address, "the vector database")
            raise type(failure)(message, remedy=failure.remedy) from failure

    def fill_missing(self, generation: Generation) -> None:
        """Fill an index before the first write, if the database is new or was away."""
        if self._lacking(generation):
            self.attempt(generation)

    def _fill_quietly(self, generation: Generation) -> None:
        with suppress(FootnotesError, _Stopped):  # searches report what is missing
            self.catch_up(generation)

    def _filled(self, generation: Generation) -> int:
        self._empty_dropped(generation.user_id)
        self._feed.note(generation)
        index = self.index(generation)
        seen = index.refresh()
        if seen > self._feed.last(generation):
            # The library is older than its index: an older copy of the library was restored.
            index.clear()
            seen = 0
        known = self._feed.known(generation)
        if seen != known:
            self._feed.reached(generation, seen)  # the process that filled it died, or its content is gone
        if seen < known:
            lost = f"vector database {self.address}: filled again after change {seen} (it had seen {known} before)"
            self._notes.setdefault(generation.pk, []).append(lost)
        while True:
            with self._feed.portion(generation, seen) as portion:
                if portion is None:
                    return seen
                index.apply(portion.changes, position=portion.seq)
                first, seen = seen == 0, portion.seq
            self._feed.reached(generation, seen)
            if first and generation.state == "serving":
                self.promote_quietly(generation)
            # Only now, so that each of many processes that search once and end adds a portion.
            self._stop_if_asked()

    def go_back(self, generation: Generation) -> None:
        """Clear an index that is ahead of the store; one that cannot be reached is skipped."""
        with suppress(IndexFailed):
            index = self.index(generation)
            if index.refresh() > self._feed.last(generation):
                with self._feed.held(generation):
                    index.clear()
                    self._feed.reached(generation, 0)

    def _stop_if_asked(self) -> None:
        if threading.current_thread() is self._filler and (
            self._stopping.is_set() or not threading.main_thread().is_alive()
        ):
            raise _Stopped

    # ── generations

    def note(self, generation: Generation) -> None:
        """Record that this index serves a generation: no document is ready, or found, before the index has it."""
        if generation.pk not in self._noted:
            self._feed.note(generation)
            self._noted.add(generation.pk)

    def promote_quietly(self, generation: Generation) -> None:
        """Show external readers of the database which generation serves. We do not need it ourselves."""
        with suppress(IndexFailed):
            self.index(generation).promote()

    def drop(self, generation: Generation) -> None:
        """Clear the index of a dropped generation, now or when the database is back."""
        with self._guard:
            self._indexes.pop(generation.pk, None)
        try:
            with self._unnamed(), self._feed.held(generation):
                self._empty_dropped(generation.user_id)
        except (IndexFailed, StoreLocked) as failure:
            if isinstance(failure, IndexFailed):
                self.failure = failure

    def _empty_dropped(self, user_id: str) -> None:
        for scope in self._feed.dropped(user_id):
            self._database.index(scope).clear()
            self._feed.forget(scope)

    # ── checking

    def check(self, generation: Generation) -> list[Problem]:
        """Compare the index with the store."""
        name = f"vector database {self.address}"
        try:
            missing, extra = self._differences(generation)
        except IndexMissing as failure:
            return [Problem(f"{failure.message} ({failure.code})", mendable=True)]
        except IndexFailed as failure:  # a repair would fail in the same way
            return [Problem(f"{failure.message} ({failure.code}). {failure.remedy}", mendable=False)]
        if not len(missing) and not len(extra):
            return []
        return [Problem(f"{name}: {len(missing)} chunks missing, {len(extra)} too many", mendable=True)]

    def verified(self, generation: Generation, *, repair: bool) -> Verification:
        """Return the problems of the index; with `repair`, repair it first if possible."""
        found = Verification(problems=self.check(generation))
        if repair and any(problem.mendable for problem in found.problems):
            with suppress(IndexFailed):  # the next check finds what is still wrong
                found.repaired = self.mend(generation)
            found.problems = self.check(generation)
        found.repaired = [*self._notes.get(generation.pk, []), *found.repaired]
        return found

    def mend(self, generation: Generation) -> list[str]:
        """Add missing chunks and remove extra ones. Return what was done."""
        missing, extra = self._differences(generation)
        with self._feed.held(generation):
            index = self.index(generation)
            if len(extra):
                index.remove(extra.tolist())
            if len(missing):
                with self._feed.again(generation, missing, index.position) as portion:
                    index.apply(portion.changes, position=portion.seq)
        changed = len(missing) + len(extra)
        return [f"vector database: {len(missing)} chunks brought, {len(extra)} taken out"] if changed else []

    def compact(self, generation: Generation) -> None:
        """Purge removed data from files that are ours; a server's files are left to its owner."""
        self.catch_up(generation)
        with self._feed.held(generation):
            self.index(generation).compact()

    def _differences(self, generation: Generation) -> tuple[Keys, Keys]:
        """Return missing and extra chunks of the index after it has applied all changes."""
        for _ in range(_LOOKS):
            with self._feed.held(generation):
                seq = self._filled(generation)
                feed, keys = self._feed.keys(generation), self.index(generation).keys()
            missing, extra = np.setdiff1d(feed, keys), np.setdiff1d(keys, feed)
            if seq == self._feed.last(generation):  # otherwise there was a write meanwhile
                break
        return missing, extra


class _Pace:
    """Tells per generation when a periodic task is due."""

    def __init__(self, seconds: float, *, begins_now: bool = False) -> None:
        self._seconds = seconds
        self._begins_now = begins_now
        self._last: dict[int, float] = {}
        self._guard = threading.Lock()

    def is_due(self, pk: int) -> bool:
        """Return whether the task is due, and count it as done if so."""
        now = time.monotonic()
        with self._guard:
            last = self._last.setdefault(pk, now if self._begins_now else now - self._seconds)
            due = now - last >= self._seconds
            if due:
                self._last[pk] = now
            return due


class _Stopped(Exception):
    """The store is being closed."""
