"""One library for each tenant, opened at first use; all in one folder, with one embedder.

A limited number is open at once: the least recently used library is closed first, but never while it is in use.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from footnotes.embed import Embedder, Matrix
from footnotes.embed.make import make_embedder
from footnotes.errors import ServerBusy
from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.store import Store
from footnotes.store.make import open_store
from footnotes.text.tokens import count_tokens
from footnotes.types import Role

OnEmbed = Callable[[int, str, int], object]
"""Called with the number of embedded texts, their role and their tokens."""


class CountedEmbedder:
    """Counts the calls of an embedder."""

    def __init__(self, inner: Embedder, count: OnEmbed) -> None:
        self._inner = inner
        self._count = count

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        self._count(len(texts), role, sum(map(count_tokens, texts)))
        return self._inner.embed(texts, role=role)

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


@dataclass(slots=True)
class _Open:
    """An open library and how many use it now."""

    library: Library
    users: int


class Tenants:
    """The open libraries of a server."""

    def __init__(
        self, folder: Path, settings: Settings, on_embed: OnEmbed = lambda *_: None, *, most: int | None = None
    ) -> None:
        self._on_embed = on_embed
        self.folder = folder
        # An upload exists nowhere else: its original is stored, and shown beside the answer.
        self.settings = replace(settings, keep_originals=True)
        self._most = most or settings.serve_libraries
        self._libraries: OrderedDict[str, _Open] = OrderedDict()
        self._embedder: Embedder | None = None
        self._store: Store | None = None
        self._counting = threading.Lock()  # held for moments only
        self._opening = threading.Lock()

    @contextmanager
    def using(self, tenant: str) -> Iterator[Library]:
        """Borrow the library of a tenant for the context. The name comes from a key only."""
        library = self.borrow(tenant)
        try:
            yield library
        finally:
            self.release(tenant)

    def borrow(self, tenant: str) -> Library:
        """Return the library of a tenant, opened if needed; the caller must release it."""
        if (found := self.borrow_open(tenant)) is not None:
            return found
        with self._opening:
            if (found := self.borrow_open(tenant)) is not None:
                return found
            self._make_room()
            library = self._open(tenant)
            with self._counting:
                self._libraries[tenant] = _Open(library, users=1)
            return library

    def borrow_open(self, tenant: str) -> Library | None:
        """Like `borrow`, but None if it is not open. Never waits while another is opened or closed."""
        with self._counting:
            found = self._libraries.get(tenant)
            if found is None:
                return None
            found.users += 1
            self._libraries.move_to_end(tenant)
            return found.library

    def release(self, tenant: str) -> None:
        with self._counting:
            if (found := self._libraries.get(tenant)) is not None:
                found.users -= 1

    def _open(self, tenant: str) -> Library:
        if self._embedder is None:
            self._embedder = cast(Embedder, CountedEmbedder(make_embedder(self.settings), self._on_embed))
        own = replace(self.settings, user=tenant)
        return Library(self.folder, settings=own, embedder=self._embedder, store=self._shared_store())

    def _shared_store(self) -> Store | None:
        """Return the store of all tenants if it is a database, to share its connections."""
        if self.settings.store and self._store is None:
            self._store = open_store(self.settings, self.folder)
        return self._store

    def _make_room(self) -> None:
        """Close the least recently used library if the limit is reached."""
        with self._counting:
            if len(self._libraries) < self._most:
                return
            idle = next((tenant for tenant, found in self._libraries.items() if not found.users), None)
            if idle is None:
                raise ServerBusy(f"{self._most} libraries are already in use")
            closed = self._libraries.pop(idle)
        closed.library.close()

    def count_open(self) -> int:
        return len(self._libraries)

    def refresh(self) -> None:
        """Make every open library read the changes of other processes."""
        for tenant in list(self._libraries):
            if (library := self.borrow_open(tenant)) is not None:
                try:
                    library.refresh()
                finally:
                    self.release(tenant)

    def settle(self) -> None:
        """Wait for indexes that are built in the background."""
        for found in list(self._libraries.values()):
            found.library.settle()

    def close(self) -> None:
        with self._opening, self._counting:
            for found in self._libraries.values():
                found.library.close()
            self._libraries.clear()
            if self._store is not None:
                self._store.close()
                self._store = None
