"""A vector database beside a store: how it is kept up with the truth, and what is said while it is not.

The store is written first and loses nothing when the database is away. What changed waits in the change log, and is
taken over in portions, oldest first: after each the database is marked, so that a catch-up that was cut off goes on
where it stopped.
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
"""So often an index that searches use is looked at, whether it still has what it was brought."""
_DOUBT_SECONDS = 1.0
"""So often at the most an index is asked, because it found nothing, whether it has anything."""
_SOON_SECONDS = 2.0
"""So long somebody waits who deletes: what the database still has is not shown in any case."""
T = TypeVar("T")

_LOOKS = 5
"""So often an index is compared with a store that others write to meanwhile."""


def vector_database(settings: Settings) -> VectorDatabase | None:
    """The vector database the settings name, if they name one."""
    if not settings.index:
        return None
    if not settings.index_legs or (unknown := set(settings.index_legs) - set(LEGS)):
        named = "none" if not settings.index_legs else repr(min(unknown))
        raise ConfigError(
            f"index_legs names {named}; a vector database serves legs",
            remedy='Set index_legs to ["dense"] or ["dense", "lexical"], or leave index empty.',
        )
    scheme = settings.index.partition(":")[0].partition("+")[0]
    if ":" not in settings.index or scheme not in plugins.names("indexes"):
        raise ConfigError(  # said without the address: it may hold a password
            "the setting index is no address of a vector database",
            remedy='Write it as "qdrant://host:6333", "chroma://host:8000" or "chroma:FOLDER".',
        )
    opened: VectorDatabase = plugins.find("indexes", scheme).opened(settings)
    check_legs(settings, scheme, opened.legs)
    return opened


class RemoteKeeper:
    """The indexes of a store in one vector database. `failure` is why it could not be kept up, if it could not."""

    def __init__(self, database: VectorDatabase, legs: Iterable[str], library: str, feed: ChangeFeed) -> None:
        self.legs = frozenset(legs)
        self.failure: IndexFailed | None = None
        self._database = database
        self._library = library
        self._feed = feed
        self._indexes: dict[int, RemoteIndex] = {}
        self._notes: dict[int, list[str]] = {}
        """What had been lost and was brought again since the store was opened, by generation."""
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
        """Stop what is being done behind; the rest is done next time."""
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
        """How far it has come, asked of the database now."""
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

    # ── keeping up

    def catch_up(self, generation: Generation) -> int:
        """Bring an index to the last change there is, and return it; raises what keeps the database from that."""
        try:
            with self._unnamed(), self._feed.held(generation):
                seq = self._filled(generation)
        except IndexFailed as failure:
            self.failure = failure
            raise
        except (FootnotesError, _Stopped):
            raise
        except Exception as error:  # whatever breaks in a database's client must not break what was written
            self.failure = IndexFailed(f"the vector database broke off: {type(error).__name__}: {error}")
            raise self.failure from error
        self.failure = None
        return seq

    def attempt(self, generation: Generation) -> int:
        """As `catch_up`; where that fails, the change the index is known to have seen. The rest waits in the log."""
        try:
            return self.catch_up(generation)
        except (IndexFailed, StoreLocked):
            return self._feed.known(generation)

    def attempt_soon(self, generation: Generation) -> int:
        """As `attempt`, for somebody who does not wait long: what takes longer is done behind."""
        if not self.catch_up_behind(generation).wait(_SOON_SECONDS) and self.failure is None:
            self.failure = IndexUnavailable("the vector database has not answered yet")
        return self._feed.known(generation)

    def catch_up_behind(self, generation: Generation) -> threading.Event:
        """Catch up in a thread of its own, one generation after the other. Tells when this one was tried."""
        with self._guard:
            _, tried = self._wanted.setdefault(generation.pk, (generation, threading.Event()))
            if self._filler is None and not self._stopping.is_set():
                self._filler = threading.Thread(target=self._fill_wanted, name="footnotes-remote-index")
                self._filler.start()
            return tried

    def _fill_wanted(self) -> None:
        while True:
            with self._guard:
                if not self._wanted or self._stopping.is_set():
                    self._filler = None
                    return
                pk = next(iter(self._wanted))
                generation, tried = self._wanted.pop(pk)
            self._fill_quietly(generation)
            tried.set()

    def behind(self, generation: Generation) -> int:
        """How many documents the index is known to lack; where there are any, they are being brought."""
        documents = self._lacking(generation)
        self.look_after(generation, behind=documents > 0)
        return documents

    def _lacking(self, generation: Generation) -> int:
        return self._feed.behind(generation, self._feed.known(generation))

    def look_after(self, generation: Generation, *, behind: bool) -> None:
        """Called by searches: bring what is missing, and see now and then whether what was brought is still there."""
        due = self._looked.is_due(generation.pk)
        if behind or due:
            self.catch_up_behind(generation)

    def ask(self, generation: Generation, question: Callable[[RemoteIndex], T], nothing: T) -> T:
        """What an index answers; `nothing` where it has not been brought anything yet: the search says what it lacks.

        One that is gone is made again, behind the search that found out.
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
        """An index that answers nothing may have been emptied by somebody: its mark tells."""
        known = self._feed.known(generation) if self._doubted.is_due(generation.pk) else 0
        if known and self.index(generation).refresh() < known:
            raise IndexMissing("the vector database has lost what it was brought; it is brought again")

    @contextmanager
    def _unnamed(self) -> Iterator[None]:
        """Failures without the address: they are told to the caller, whose business it is not."""
        try:
            yield
        except IndexFailed as failure:
            if self.address not in failure.message:
                raise
            said = failure.message.replace(f" at {self.address}", "").replace(self.address, "the vector database")
            raise type(failure)(said, remedy=failure.remedy) from failure

    def fill_missing(self, generation: Generation) -> None:
        """Before anything is written: a database that was chosen since, or was away, is brought what it lacks."""
        if self._lacking(generation):
            self.attempt(generation)

    def _fill_quietly(self, generation: Generation) -> None:
        with suppress(FootnotesError, _Stopped):  # searches say what they lack
            self.catch_up(generation)

    def _filled(self, generation: Generation) -> int:
        self._empty_dropped(generation.user_id)
        self._feed.note(generation)
        index = self.index(generation)
        seen = index.refresh()
        if seen > self._feed.last(generation):
            # The library is younger than what was made of it: somebody went back to a copy of it.
            index.clear()
            seen = 0
        known = self._feed.known(generation)
        if seen != known:
            self._feed.reached(generation, seen)  # the process that filled it died, or what was there is gone
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
            # Not before: each of many processes that search once, and end, brings a portion.
            self._stop_if_asked()

    def go_back(self, generation: Generation) -> None:
        """Empty an index that has seen more than there is; of one that is away nothing is known."""
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
        """A generation is to be served from here: nothing of it is ready, or found, before it is on its index."""
        if generation.pk not in self._noted:
            self._feed.note(generation)
            self._noted.add(generation.pk)

    def promote_quietly(self, generation: Generation) -> None:
        """Tell those who look into the database from outside which generation serves. Nothing of ours needs it."""
        with suppress(IndexFailed):
            self.index(generation).promote()

    def drop(self, generation: Generation) -> None:
        """Empty the index of a generation that is gone; where the database is away, when it is back."""
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
        """Compare what is on the index with what the store has."""
        name = f"vector database {self.address}"
        try:
            missing, extra = self._differences(generation)
        except IndexMissing as failure:
            return [Problem(f"{failure.message} ({failure.code})", mendable=True)]
        except IndexFailed as failure:  # comparing fails again whenever it is tried: somebody else has to do something
            return [Problem(f"{failure.message} ({failure.code}). {failure.remedy}", mendable=False)]
        if not len(missing) and not len(extra):
            return []
        return [Problem(f"{name}: {len(missing)} chunks missing, {len(extra)} too many", mendable=True)]

    def verified(self, generation: Generation, *, repair: bool) -> Verification:
        """What is wrong with the index; with `repair`, it is mended first where that is possible."""
        found = Verification(problems=self.check(generation))
        if repair and any(problem.mendable for problem in found.problems):
            with suppress(IndexFailed):  # what is still wrong is found by the next check
                found.repaired = self.mend(generation)
            found.problems = self.check(generation)
        found.repaired = [*self._notes.get(generation.pk, []), *found.repaired]
        return found

    def mend(self, generation: Generation) -> list[str]:
        """Bring what is missing, and take out what is too much. Says what was done."""
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
        """Leave no byte of what was removed, where that is in our hands: the files of a server are its owner's."""
        self.catch_up(generation)
        with self._feed.held(generation):
            self.index(generation).compact()

    def _differences(self, generation: Generation) -> tuple[Keys, Keys]:
        """What is missing on the index, and what is too much, when it has seen all changes."""
        for _ in range(_LOOKS):
            with self._feed.held(generation):
                seq = self._filled(generation)
                feed, keys = self._feed.keys(generation), self.index(generation).keys()
            missing, extra = np.setdiff1d(feed, keys), np.setdiff1d(keys, feed)
            if seq == self._feed.last(generation):  # else somebody wrote meanwhile
                break
        return missing, extra


class _Pace:
    """Says of a generation when something is due that is done now and then."""

    def __init__(self, seconds: float, *, begins_now: bool = False) -> None:
        self._seconds = seconds
        self._begins_now = begins_now
        self._last: dict[int, float] = {}
        self._guard = threading.Lock()

    def is_due(self, pk: int) -> bool:
        """Whether it is due; then it counts as done."""
        now = time.monotonic()
        with self._guard:
            last = self._last.setdefault(pk, now if self._begins_now else now - self._seconds)
            due = now - last >= self._seconds
            if due:
                self._last[pk] = now
            return due


class _Stopped(Exception):
    """The store is being closed."""
