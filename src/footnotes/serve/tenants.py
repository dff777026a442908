"""One library for each tenant, opened when it is first needed; all in one folder, with one embedder.

So many are open at once, and no more: whoever was not asked for longest is closed first, but never while it is in use.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from footnotes.config import Settings
from footnotes.embed import Embedder, Matrix
from footnotes.embed.make import make_embedder
from footnotes.engine import Library
from footnotes.errors import ServerBusy
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


class _Open:
    """An open library and how many use it now."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.users = 0


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
        self._guard = threading.Lock()

    @contextmanager
    def using(self, tenant: str) -> Iterator[Library]:
        """The library of a tenant, open as long as this lasts. The name comes from a key and from nowhere else."""
        library = self.borrow(tenant)
        try:
            yield library
        finally:
            self.give_back(tenant)

    def borrow(self, tenant: str) -> Library:
        """The library of a tenant, to be given back."""
        with self._guard:
            found = self._libraries.get(tenant) or self._opened(tenant)
            found.users += 1
            self._libraries.move_to_end(tenant)
            return found.library

    def borrow_open(self, tenant: str) -> Library | None:
        """As `borrow`, if it is open and nobody is opening or closing another: never waits."""
        if not self._guard.acquire(blocking=False):
            return None
        try:
            found = self._libraries.get(tenant)
            if found is None:
                return None
            found.users += 1
            self._libraries.move_to_end(tenant)
            return found.library
        finally:
            self._guard.release()

    def give_back(self, tenant: str) -> None:
        found = self._libraries.get(tenant)
        if found is not None:
            with self._guard:
                found.users -= 1

    def _opened(self, tenant: str) -> _Open:
        if len(self._libraries) >= self._most:
            self._close_one()
        if self._embedder is None:
            self._embedder = cast(Embedder, CountedEmbedder(make_embedder(self.settings), self._on_embed))
        settings = replace(self.settings, user=tenant)
        opened = _Open(Library(self.folder, settings=settings, embedder=self._embedder))
        self._libraries[tenant] = opened
        return opened

    def _close_one(self) -> None:
        for tenant, found in self._libraries.items():
            if not found.users:
                del self._libraries[tenant]
                found.library.close()
                return
        raise ServerBusy(f"{self._most} libraries are in use at once")

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
        with self._guard:
            for found in self._libraries.values():
                found.library.close()
            self._libraries.clear()
