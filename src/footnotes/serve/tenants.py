"""One library for each tenant, opened when it is first needed; all in one folder, with one embedder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from footnotes.config import Settings
from footnotes.embed import Embedder, Matrix
from footnotes.embed.make import make_embedder
from footnotes.engine import Library
from footnotes.types import Role

OnEmbed = Callable[[int, str], object]
"""Told how many texts are embedded, and in which role."""


class CountedEmbedder:
    """Any embedder, its calls counted; in all else the one inside."""

    def __init__(self, inner: Embedder, count: OnEmbed) -> None:
        self._inner = inner
        self._count = count

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        self._count(len(texts), role)
        return self._inner.embed(texts, role=role)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Tenants:
    """The open libraries of a server."""

    def __init__(self, folder: Path, settings: Settings, on_embed: OnEmbed = lambda count, role: None) -> None:
        self._on_embed = on_embed
        self.folder = folder
        # What is uploaded has no other place: its original is kept, and shown beside the answer.
        self.settings = replace(settings, keep_originals=True)
        self._libraries: dict[str, Library] = {}
        self._embedder: Embedder | None = None
        self._guard = threading.Lock()

    def library(self, tenant: str) -> Library:
        """The library of a tenant. The name comes from a key and from nowhere else."""
        with self._guard:
            found = self._libraries.get(tenant)
            if found is None:
                if self._embedder is None:
                    counted = CountedEmbedder(make_embedder(self.settings), self._on_embed)
                    self._embedder = cast(Embedder, counted)
                settings = replace(self.settings, user=tenant)
                found = Library(self.folder, settings=settings, embedder=self._embedder)
                self._libraries[tenant] = found
            return found

    def opened(self) -> int:
        return len(self._libraries)

    def close(self) -> None:
        with self._guard:
            for library in self._libraries.values():
                library.close()
            self._libraries.clear()
