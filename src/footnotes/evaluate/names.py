"""Resolves documents and passages of a golden set to ids and spans of a library."""

from __future__ import annotations

import re
from functools import cached_property

from footnotes.errors import GoldenError
from footnotes.evaluate.golden import Question
from footnotes.evaluate.metrics import Span
from footnotes.library import Library
from footnotes.types import Document

_LONGEST_PASSAGE = 2_000


class Names:
    """Finds documents by file name, with or without its suffix, by path or by id, because people use all of them."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._texts: dict[str, str] = {}

    @cached_property
    def _ids(self) -> dict[str, str]:
        documents = self._library.documents()
        found: dict[str, str] = {}
        for names in zip(*(_names(document) for document in documents), strict=True):
            for name, document in zip(names, documents, strict=True):
                found.setdefault(name, document.id)
        return found

    def grades(self, question: Question) -> dict[str, int]:
        """Return judgements by document id. A document missing in the library stays, and counts as not found."""
        return {self._ids.get(name, name): grade for name, grade in question.documents.items()}

    def spans(self, question: Question) -> tuple[Span, ...]:
        """Return the expected spans, with passages looked up in the text."""
        spans = [(self._id(document), start, end) for document, start, end in question.spans]
        ids = [identity for identity in self.grades(question) if identity in set(self._ids.values())]
        return (*spans, *(self._locate(passage, ids) for passage in question.passages))

    def _id(self, name: str) -> str:
        return self._ids.get(name, name)

    def _locate(self, passage: str, ids: list[str]) -> Span:
        """Find a passage, ignoring white space."""
        words = passage[:_LONGEST_PASSAGE].split()
        pattern = re.compile(r"\s+".join(map(re.escape, words)))
        for identity in ids or sorted(set(self._ids.values())):
            if words and (found := pattern.search(self._text(identity))):
                return identity, found.start(), found.end()
        beginning = " ".join(words)[:60]
        raise GoldenError(
            f"the passage {beginning!r} is in no document of the library",
            remedy="Correct the golden set or add the document.",
        )

    def _text(self, identity: str) -> str:
        if identity not in self._texts:
            self._texts[identity] = self._library.text(identity)
        return self._texts[identity]


def _names(document: Document) -> tuple[str, ...]:
    """Return the possible names of a document, the most reliable first."""
    return document.id, document.source, document.filename, document.filename.rpartition(".")[0]
