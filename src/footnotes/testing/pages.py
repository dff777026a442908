"""Sets of pages with questions about them, as `training/documentation.py` makes them, in libraries that are kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.testing.quotes import places_of

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PageQuestion:
    """A question, the page that answers it, and for each quote of that page every place that has it.

    If nothing answers, `page` is empty and there are no places.
    """

    question: str
    kind: str
    page: str
    places: tuple[tuple[Span, ...], ...]


def kept_library(folder: Path, documents: Path, *, embedder_threads: int = 0) -> Library:
    """Open a library; add the documents if it has none."""
    library = Library(folder, settings=Settings(embedder_threads=embedder_threads))
    if not library.documents():
        library.add(documents)
        library.settle()
    return library


def page_texts(library: Library) -> dict[str, str]:
    """Return the texts of a library by file name."""
    return {document.filename: library.text(document.id) for document in library.documents()}


def page_questions(home: Path, texts: dict[str, str]) -> Iterator[PageQuestion]:
    """Yield the questions of a set of pages."""
    for line in map(json.loads, (home / "questions.jsonl").read_text(encoding="utf-8").splitlines()):
        page = line["page"] or ""
        places = tuple(tuple(places_of(texts[page], mark)) for mark in line["evidence"])
        yield PageQuestion(line["question"], line["kind"], page, places)
