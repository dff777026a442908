"""One library for each tenant, opened when it is first needed; all in one folder, with one embedder.

So many are open at once, and no more: whoever was not asked for longest is closed first, but never while it is in use.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from footnotes.config import Settings
from footnotes.embed import Embedder, Matrix
from footnotes.embed.make import make_embedder
from footnotes.engine import Library
from footnotes.errors import ServerBusy
from footnotes.store import Store
from footnotes.store.make import open_store
from footnotes.text.tokens import count_tokens
from footnotes.types import Role

OnEmbed = Callable[[int, str, int], object]
"""Told how many texts are embedded, in which role, and how many tokens they have."""


class CountedEmbedder:
    """Any embedder, its calls counted; in all else the one inside."""

    def __init__(self, inner: Embedder, count: OnEmbed) -> None:
        self._inner = inner
        self._count = count

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        self._count(len(texts), role, sum(map(count_tokens, texts)))
        return self._inner.embed(texts, role=role)

    def __getattr__(self, name: str) -> Any:
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
        # What is uploaded has no other place: its original is kept, and shown beside the answer.
        self.settings = replace(settings, keep_originals=True)
        self._most = most or settings.serve_libraries
        self._libraries: OrderedDict[str, _Open] = OrderedDict()
        self._embedder: Embedder | None = None
        self._store: Store | None = None
        self._counting = threading.Lock()  # held for moments only
        self._opening = threading.Lock()

    @contextmanager
    def using(self, tenant: str) -> Iterator[Library]:
        """The library of a tenant, open as long as this lasts. The name comes from a key and from nowhere else."""
        library = self.borrow(tenant)
        try:
            yield library
        finally:
            self.give_back(tenant)

    def borrow(self, tenant: str) -> Library:
        """The library of a tenant, to be given back; opened where it is not."""
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
        """As `borrow`, if it is open. Never waits for another that is being opened or closed."""
        with self._counting:
            found = self._libraries.get(tenant)
            if found is None:
                return None
            found.users += 1
            self._libraries.move_to_end(tenant)
            return found.library

    def give_back(self, tenant: str) -> None:
        with self._counting:
            if (found := self._libraries.get(tenant)) is not None:
                found.users -= 1

    def _open(self, tenant: str) -> Library:
        if self._embedder is None:
            self._embedder = cast(Embedder, CountedEmbedder(make_embedder(self.settings), self._on_embed))
        own = replace(self.settings, user=tenant)
        return Library(self.folder, settings=own, embedder=self._embedder, store=self._shared_store())

    def _shared_store(self) -> Store | None:
        """The store of all tenants where it is a database: each library would have connections of its own."""
        if self.settings.store and self._store is None:
            self._store = open_store(self.settings, self.folder)
        return self._store

    def _make_room(self) -> None:
        """Close the library that was not used for longest, if as many as may be are open."""
        with self._counting:
            if len(self._libraries) < self._most:
                return
            idle = next((tenant for tenant, found in self._libraries.items() if not found.users), None)
            if idle is None:
                raise ServerBusy(f"{self._most} libraries are in use at once")
            closed = self._libraries.pop(idle)
        closed.library.close()

    def opened(self) -> int:
        return len(self._libraries)

    def look_again(self) -> None:
        """Let every open library see what other processes wrote, beside the searches that go on."""
        for tenant in list(self._libraries):
            if (library := self.borrow_open(tenant)) is not None:
                try:
                    library.look_again()
                finally:
                    self.give_back(tenant)

    def settle(self) -> None:
        """Wait for what is built behind."""
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
