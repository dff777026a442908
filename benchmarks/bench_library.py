"""Labelled documents in a real library, searched with or without the passages that answer a question."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from labelled import Source

from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.testing.pages import kept_library
from footnotes.types import Hit

SPARE = 12
"""Hits asked for beyond the limit, to stand in for those that are left out."""


class BenchLibrary:
    """A library of labelled documents, closed with its temporary folder if it has one."""

    def __init__(self, library: Library, folder: tempfile.TemporaryDirectory[str] | None = None) -> None:
        self.library = library
        self._folder = folder
        self._view = library._store.view("local")
        self._total = max(1, self._view.chunk_count())

    @classmethod
    def of_sources(cls, sources: Sequence[Source], *, mode: str = "hybrid", chunker: str = "") -> BenchLibrary:
        """A library in a folder of its own. `mode` is that of every search."""
        folder = tempfile.TemporaryDirectory(prefix="footnotes-bench-")
        settings = Settings(mode=mode, embedder_threads=2, **({"chunker": chunker} if chunker else {}))
        library = Library(Path(folder.name) / "library", settings=settings)
        with tempfile.TemporaryDirectory() as documents:
            for source in sources:
                (Path(documents) / source.name).write_text(source.text, encoding="utf-8")
            added = library.add(documents)
        assert all(one.status == "ready" for one in added), [one.error for one in added if one.error]
        library.settle()
        return cls(library, folder)

    @classmethod
    def of_pages(cls, home: Path, libraries: Path) -> BenchLibrary:
        """The library of a set of pages, which is kept."""
        return cls(kept_library(libraries / home.name, home / "pages", embedder_threads=2))

    def __enter__(self) -> BenchLibrary:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.library.close()
        if self._folder is not None:
            self._folder.cleanup()

    def share(self, term: str) -> float:
        """The share of chunks that hold a term."""
        return self._view.document_frequency(term) / self._total

    def search(
        self, question: str, limit: int, without: tuple[str, Sequence[tuple[int, int]]] | None = None
    ) -> list[Hit]:
        """The best chunks; those that overlap the spans of `without` are left out as if they had never been added."""
        wanted = limit + (SPARE if without else 0)
        hits = self.library.search(question, limit=wanted, per_document=wanted).hits
        return [hit for hit in hits if not (without and _overlaps(hit, *without))][:limit]


def _overlaps(hit: Hit, name: str, spans: Sequence[tuple[int, int]]) -> bool:
    return hit.filename == name and any(hit.start < last and first < hit.end for first, last in spans)
