"""Records as other tools keep them, for tests of taking them over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from footnotes.testing.embedder import HashingEmbedder

PAGES = {
    "handbook.pdf": [
        "Either side may end the contract with three months of notice.",
        "During probation two weeks of notice are enough for both sides.",
        "Every employee has 28 days of paid leave a year.",
    ],
    "travel.pdf": [
        "Trips under four hours are made by train.",
        "Hotels may cost up to 140 euros a night.",
    ],
}


def records(pages: dict[str, list[str]] = PAGES) -> list[dict[str, Any]]:
    """Pages as LangChain's loaders in Python write them: counted from 0."""
    return [
        {"page_content": text, "metadata": {"source": f"docs/{name}", "page": number}}
        for name, texts in pages.items()
        for number, text in enumerate(texts)
    ]


def many(count: int) -> list[dict[str, Any]]:
    texts = [f"Rule {number} says that item{number} belongs to box{number * 7}." for number in range(count)]
    return records({"rules.pdf": texts})


def texts_of(given: Sequence[dict[str, Any]]) -> list[str]:
    return [record["page_content"] for record in given]


def embedded(texts: Sequence[str], dimensions: int = 64) -> list[list[float]]:
    """Vectors as the library's embedder makes them, but of any length: other tools do not normalise."""
    made = HashingEmbedder(dimensions=dimensions).embed(texts, role="passage")
    return [[float(value) for value in row * np.float32(2.5)] for row in made]


def with_vectors(given: Sequence[dict[str, Any]], dimensions: int = 64) -> list[dict[str, Any]]:
    vectors = embedded(texts_of(given), dimensions)
    return [{**record, "embedding": vector} for record, vector in zip(given, vectors, strict=True)]


def json_file(folder: Path, given: Sequence[dict[str, Any]], name: str = "records.json") -> str:
    (folder / name).write_text(json.dumps(list(given)), encoding="utf-8")
    return f"json:{folder / name}"
