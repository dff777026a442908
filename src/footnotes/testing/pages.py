"""Sets of pages with questions about them, as `training/documentation.py` makes them, in libraries that are kept."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from footnotes.library import Library
from footnotes.settings import Settings

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


# Finds quotes by a fingerprint of their words: questions about other people's texts then need no copy of these.


_WORD = re.compile(r"\w+")
_DIGITS = 16


def fingerprint(quote: str) -> str:
    """Return how many words a quote has, and their hash, without regard to case, spaces and punctuation."""
    words = _WORD.findall(quote.lower())
    return f"{len(words)}:{_hash(words)}"


def places_of(text: str, mark: str) -> list[tuple[int, int]]:
    """Return every place of a text whose words have a fingerprint."""
    count, wanted = int(mark.partition(":")[0]), mark.partition(":")[2]
    found = list(_WORD.finditer(text))
    words = [word[0].lower() for word in found]
    return [
        (found[at].start(), found[at + count - 1].end())
        for at in range(len(words) - count + 1 if count else 0)
        if _hash(words[at : at + count]) == wanted
    ]


def _hash(words: Sequence[str]) -> str:
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:_DIGITS]
