"""The store under test, as the suite needs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import footnotes
from footnotes.library import Library
from footnotes.settings import load
from footnotes.testing.embedder import HashingEmbedder


@dataclass(slots=True)
class StoreHarness:
    """An empty store of many tenants. It can be opened again and again, at once and by other processes too."""

    folder: Path
    settings: Mapping[str, Any] = field(default_factory=dict)

    def open(self, user: str = "local", *, embedder: HashingEmbedder | None = None, **settings: object) -> Library:
        """A tenant's library, with an embedder that needs no model."""
        options = {"embedder": "hashing", **self.settings, **settings, "user": user}
        if embedder is None:
            return footnotes.open(self.folder, **options)
        return Library(self.folder, settings=load(self.folder, **options), embedder=embedder)

    def residue(self, canary: str) -> list[str]:
        """Find files and tables that contain a word, in any stored form."""
        forms = [canary.encode(), canary.encode("utf-16-le"), canary[:-1].encode()]
        return [
            str(path.relative_to(self.folder))
            for path in self.folder.rglob("*")
            if path.is_file() and any(form in path.read_bytes() for form in forms)
        ]

    def interpreter_lines(self, **settings: object) -> str:
        """Python that opens the library as `library`, for another process."""
        options = {"embedder": "hashing", **self.settings, **settings}
        return f"import footnotes\nlibrary = footnotes.open({str(self.folder)!r}, **{options!r})\n"
