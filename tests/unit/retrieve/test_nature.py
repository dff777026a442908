"""Code or prose: real libraries of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.library import Library
from footnotes.retrieve import fuse
from footnotes.retrieve.named import Nature
from footnotes.settings import Settings
from footnotes.testing.embedder import HashingEmbedder

PYTHON = [f"def area_{n}(self, width, height):\n    return width * height + {n}\n" for n in range(12)]
JAVA = [f"static int area{n}(int width) {{\n    return width + {n};\n}}\n" for n in range(12)]
TAXES = [f"Your tax return for {n} must reach the office by May. A late return costs 25 euros." for n in range(12)]


@pytest.mark.parametrize(
    ("texts", "suffix", "expected"), [(PYTHON, "py", True), (JAVA, "java", True), (TAXES, "txt", False)]
)
def test_a_library_is_told_by_its_words(tmp_path: Path, texts: list[str], suffix: str, expected: bool) -> None:
    with Library(tmp_path, settings=Settings(), embedder=HashingEmbedder()) as library:
        for number, text in enumerate(texts):
            library.add_text(text, filename=f"{number}.{suffix}")
        library.settle()
        view = library._searcher.view()
        assert Nature().is_code(view, view.chunk_count()) is expected


@pytest.mark.parametrize(("texts", "suffix", "least"), [(PYTHON, "py", 0.3), (TAXES, "txt", 1.0)])
def test_words_weigh_as_much_as_the_model_asks_for_in_prose_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: list[str], suffix: str, least: float
) -> None:
    class Weak(HashingEmbedder):
        least_words = 1.0

    seen: list[float] = []
    plain = fuse.adaptive
    monkeypatch.setattr(fuse, "adaptive", lambda each: seen.append(each.least_weight) or plain(each))
    with Library(tmp_path, settings=Settings(), embedder=Weak()) as library:
        for number, text in enumerate(texts):
            library.add_text(text, filename=f"{number}.{suffix}")
        assert library.search("How is it returned?").hits
    assert seen == [least]


def test_what_was_found_is_asked_for_once(tmp_path: Path) -> None:
    class Counting:
        fingerprint = "x"
        asked = 0

        def document_frequency(self, term: str) -> int:
            self.asked += 1
            return 0

    nature, view = Nature(), Counting()
    for chunks in (1000, 1001, 1010):
        assert not nature.is_code(view, chunks)  # type: ignore[arg-type]
    assert view.asked == 1
    assert not nature.is_code(view, 4000) and view.asked == 2  # type: ignore[arg-type]
