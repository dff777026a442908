"""Documents for an index under test: every chunk has the word "common", and all are different."""

from __future__ import annotations

import random
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from footnotes.library import Library
from footnotes.testing.suite.filtering import METADATA
from footnotes.types import JsonValue, Metadata, Part, Piece

COLLECTIONS = ("default", "books", "ödd 'näme' \"日本\"")
OTHERS = ("ada", "cy/../local")
ODD: list[dict[str, JsonValue]] = [
    {"price": 12.5, "tags": ["red", "blue", 3, True], "when": "2024-02-29", "draft": True},
    {"price": -0.5, "tags": [], "when": "2023-12-31T23:59:59Z", "draft": False},
    {"price": "12.5", "tags": "red", "nested": {"a": {"b": "deep"}, "list": [1, 2]}},
    {"a\x1fb": "c\x1fd", "tags": ["x y", "ẞ", "\u202e"], "empty": ""},
    {"collection": "books", "filename": "not its name", "tags": ["red", "red"]},
    {"long": "x" * 500, "quote": "'; DROP TABLE chunks; --", "null": None},
]
SAID: list[dict[str, JsonValue]] = [*METADATA, *ODD]
DOCUMENTS = 2 * len(SAID)
_SYLLABLES = ["ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu"]
_WORDS = 1_500


def text_of(number: int, *, extra: str = "") -> str:
    """Return two sections in Markdown, under headings that several documents share."""
    first, second = f"Part {number % 3}", f"Part {number % 5 + 3}"
    return (
        f"# Book {number % 4}\n\n## {first}\n\n{_sentence(2 * number)}{extra}\n\n"
        f"## {second}\n\n{_sentence(2 * number + 1)}\n"
    )


def _sentence(number: int) -> str:
    return f"A common sentence with marker{number} and " + " ".join(lines(1, seed=number)) + "."


def fill(library: Library, folder: Path, *, documents: int = DOCUMENTS) -> None:
    """Documents of every kind of metadata in every collection, and one with pages."""
    folder.mkdir(exist_ok=True)
    for place, collection in enumerate(COLLECTIONS):
        paths = []
        for number in range(place, documents, len(COLLECTIONS)):
            paths.append(folder / f"{number}.md")
            paths[-1].write_text(text_of(number), encoding="utf-8")
        added = library.add(*paths, collection=collection, metadata=_metadata_of)
        assert {one.status for one in added} == {"ready"}, added


def _metadata_of(path: Path) -> Metadata:
    metadata: Metadata = SAID[int(path.stem) % len(SAID)]
    return dict(metadata)


def put(library: Library, number: int, **options: Any) -> str:
    """One document; returns its id."""
    added = library.add_text(
        text_of(number, extra=options.pop("extra", "")),
        **{"filename": f"{number}.md", "source": f"s{number}", **options},
    )
    assert added.document_id is not None, added
    return added.document_id


def with_pages(pages: int = 4) -> bytes:
    """Return a PDF with a sentence on each page."""
    from fpdf import FPDF

    pdf = FPDF()
    for page in range(pages):
        pdf.add_page()
        pdf.set_font("Helvetica", size=11)
        pdf.multi_cell(0, 6, _sentence(5_000 + page))
    return bytes(pdf.output())


@lru_cache(maxsize=1)
def vocabulary() -> list[str]:
    """Return invented words, the frequent ones first."""
    rng = random.Random(1)
    words = {"".join(rng.choices(_SYLLABLES, k=4)) for _ in range(2 * _WORDS)}
    return sorted(words)[:_WORDS]


def lines(count: int, *, seed: int, words: int = 12) -> list[str]:
    """Return lines of words, a few frequent and most rare, as in natural text."""
    rng, known = random.Random(seed), vocabulary()
    weights = [1 / (place + 3) for place in range(len(known))]
    return [" ".join(rng.choices(known, weights, k=rng.randint(words - 4, words + 4))) for _ in range(count)]


class Lines:
    """A chunker that makes a chunk of every line."""

    name: ClassVar[str] = "lines"
    version: ClassVar[int] = 1
    options: ClassVar[dict[str, object]] = {}

    def split(self, part: Part) -> list[Piece]:
        pieces, start = [], part.start
        for line in part.text.splitlines(keepends=True):
            if line.strip():
                pieces.append(Piece(start, start + len(line.rstrip())))
            start += len(line)
        return pieces
