"""One library for each tenant, opened when it is first needed; all in one folder, with one embedder."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from footnotes.config import Settings
from footnotes.embed import Embedder
from footnotes.engine import Library


class Tenants:
    """The open libraries of a server."""

    def __init__(self, folder: Path, settings: Settings) -> None:
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
                settings = replace(self.settings, user=tenant)
                found = Library(self.folder, settings=settings, embedder=self._embedder)
                if self._embedder is None:
                    self._embedder = found.embedder()
                self._libraries[tenant] = found
            return found

    def opened(self) -> int:
        return len(self._libraries)

    def close(self) -> None:
        with self._guard:
            for library in self._libraries.values():
                library.close()
            self._libraries.clear()
