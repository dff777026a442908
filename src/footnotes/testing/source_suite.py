"""The suite that every source passes, built-in or third-party.

    class TestMine(SourceSuite):
        @pytest.fixture
        def place(self, tmp_path):
            return MinePlace(tmp_path)

A place is the other side: it adds and removes entries of the source, and can be unreachable.
"""

from __future__ import annotations

import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from footnotes import plugins
from footnotes.errors import FootnotesError, SyncRefused
from footnotes.ingest.sources import Entry, sync
from footnotes.ingest.sources.address import kind_of, scheme_of
from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.types import Synced

HONEY = "Bees make honey from the nectar of lime trees."
SALT = "Salt was carried over the pass on mules every spring."
GLASS = "The glass of the old windows was blown in the valley."


class SourcePlace(ABC):
    """The entries of a source, as a test changes them. Names are plain words, texts are sentences.

    `is_complete` if an entry that is not listed is gone, `renames` if an entry can get another name, `changes` if an
    entry can get another text (a message cannot), `secret` is what must never be shown.
    """

    address: str
    options: Mapping[str, str] = {}
    settings: Mapping[str, object] = {}
    secret: str = ""
    is_complete: bool = True
    renames: bool = True
    changes: bool = True
    reads_to_list: bool = False

    @abstractmethod
    def put(self, name: str, text: str) -> None:
        """Create an entry, or change its text."""

    @abstractmethod
    def remove(self, name: str) -> None: ...

    def rename(self, old: str, new: str, text: str) -> None:
        self.remove(old)
        self.put(new, text)

    @abstractmethod
    def away(self) -> AbstractContextManager[None]:
        """The source cannot be reached, for as long as this lasts."""


class SourceSuite:
    """The guarantees of a synced collection."""

    @pytest.fixture
    def library(self, place: SourcePlace, tmp_path: Path) -> Iterator[Library]:
        settings = Settings(library=str(tmp_path / "library"), embedder="hashing", fetch_private=True, fetch_delay=0.0)
        with Library(tmp_path / "library", settings=settings) as library:
            yield library

    def test_it_follows(self, place: SourcePlace, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
        """New, unchanged, changed, renamed and gone entries; documents from other sources stay unchanged."""
        library.add_text("A note from elsewhere.", filename="elsewhere.txt")
        place.put("bees", HONEY)
        place.put("mules", SALT)
        preview = _sync(library, place, dry_run=True)
        assert preview.counts["added"] == 2 and preview.dry_run
        assert len(library.documents()) == 1
        assert _sync(library, place).counts["added"] == 2
        assert _find(library, "honey nectar") == HONEY

        with _count_reads(place, monkeypatch) as read:
            again = _sync(library, place)
        assert again.counts["unchanged"] == 2 and not again.files
        assert read == [], "an unchanged entry was read"

        place.put("bees", GLASS)
        assert _sync(library, place).counts["changed" if place.changes else "added"] == 1
        assert _find(library, "old windows") == GLASS
        if place.renames:
            before = {document.id for document in library.documents()}
            place.rename("mules", "donkeys", SALT)
            assert _sync(library, place).counts["renamed"] == 1
            assert {document.id for document in library.documents()} == before
        place.remove("donkeys" if place.renames else "mules")
        gone = _sync(library, place)
        assert gone.counts["deleted"] == (1 if place.is_complete else 0)
        assert len(library.documents()) == (2 if place.is_complete else 3)

    def test_it_is_away(self, place: SourcePlace, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
        """Away, listed in part, or broken off while it is read: nothing goes, and the next pass ends the work."""
        for name, text in (("bees", HONEY), ("mules", SALT), ("panes", GLASS)):
            place.put(name, text)
        monkeypatch.setattr(sync, "BATCH_ENTRIES", 1)
        with _interrupt_reading(place, monkeypatch, after=2), pytest.raises(KeyboardInterrupt):
            _sync(library, place)
        taken_in = len(library.documents())
        assert taken_in == 2 or place.reads_to_list
        with _count_reads(place, monkeypatch) as read:
            _sync(library, place)
        assert len(read) == 3 - taken_in, "an ingested entry was read again"
        assert len(library.documents()) == 3

        with place.away(), pytest.raises(FootnotesError) as failure:
            _sync(library, place)
        assert not isinstance(failure.value, SyncRefused)
        with _interrupt_listing(place, monkeypatch), pytest.raises(FootnotesError):
            _sync(library, place)
        assert len(library.documents()) == 3
        assert _sync(library, place).counts["unchanged"] == 3

    def test_it_keeps_secrets(
        self, place: SourcePlace, library: Library, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The secret is in no file of the library, no answer, no log and no error."""
        if not place.secret:
            assert not any(value.startswith(("env:", "file:")) for value in place.options.values())
            return
        caplog.set_level(logging.DEBUG)
        place.put("bees", HONEY)
        outputs = [repr(_sync(library, place)), repr(library.documents()), repr(library.status())]
        with place.away(), pytest.raises(FootnotesError) as failure:
            _sync(library, place)
        outputs += [str(failure.value), repr(failure.value.info()), caplog.text]
        library.close()
        files = [path.read_bytes() for path in (tmp_path / "library").rglob("*") if path.is_file()]
        assert files
        for text in (*(each.encode() for each in outputs), *files):
            assert place.secret.encode() not in text


def _sync(library: Library, place: SourcePlace, **options: Any) -> Synced:
    done = library.sync(place.address, options=place.options, delete_all=False, **options)
    assert not done.counts["failed"], [file.error for file in done.files if file.error]
    return done


def _find(library: Library, words: str) -> str:
    hits = library.search(words, limit=1).hits
    text = hits[0].text if hits else ""
    return next((each for each in (HONEY, SALT, GLASS) if each in " ".join(text.split())), text)


def _class_of(place: SourcePlace) -> Any:
    return plugins.find("sources", kind_of(scheme_of(place.address)))


@contextlib.contextmanager
def _count_reads(place: SourcePlace, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Record the keys that are read."""
    kind, read = _class_of(place), list[str]()
    plain = kind.read

    def count(self: object, entry: Entry, folder: Path) -> object:
        read.append(entry.key)
        return plain(self, entry, folder)

    with monkeypatch.context() as patched:
        patched.setattr(kind, "read", count)
        yield read


@contextlib.contextmanager
def _interrupt_reading(place: SourcePlace, monkeypatch: pytest.MonkeyPatch, *, after: int) -> Iterator[None]:
    """Stop the pass after this many entries."""
    kind, read = _class_of(place), list[str]()
    plain = kind.read

    def stopped(self: object, entry: Entry, folder: Path) -> object:
        if len(read) == after:
            raise KeyboardInterrupt
        read.append(entry.key)
        return plain(self, entry, folder)

    with monkeypatch.context() as patched:
        patched.setattr(kind, "read", stopped)
        yield


@contextlib.contextmanager
def _interrupt_listing(place: SourcePlace, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The listing breaks off after its first entry."""
    kind = _class_of(place)
    plain = kind.entries

    def broken(self: object) -> Iterator[object]:
        yield next(iter(plain(self)))
        raise ConnectionResetError("the connection was reset")

    with monkeypatch.context() as patched:
        patched.setattr(kind, "entries", broken)
        patched.setattr(kind, "version", lambda self: None)
        yield
