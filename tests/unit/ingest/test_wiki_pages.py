"""The parts of a wiki."""

from __future__ import annotations

from typing import Any

import pytest

from footnotes.ingest.wiki.analysis import RepositoryAnalysis, parse_analysis
from footnotes.ingest.wiki.chunks import find_entry_points, find_names, slug, unique
from footnotes.ingest.wiki.pages import Vocabulary, page_metadata

ANALYSIS: dict[str, Any] = {
    "symbols": {"src/auth/tokens.py": ["TokenError", "TokenService", "TokenService.refresh", "validate_token", "one"]},
    "file_imports": {"src/auth/tokens.py": ["bcrypt", "datetime"], "src/api/routes.py": ["fastapi"]},
    "layers": {"src/api/**": "api", "src/auth/tokens.py": "domain"},
    "entry_points": {"src/api/routes.py": ["GET /users/{id}", "main"]},
}


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("index.md", "# X\n", "overview"),
        ("modules/README.md", "# X\n", "overview"),
        ("src/auth/tokens.py.md", "# X\n", "file"),
        ("auth.md", "# src/auth\n", "directory"),
        ("tokens.md", "# src/auth/tokens.py\n", "file"),
        ("request_flow.md", "# X\n", "workflow"),
        ("a.md", "# API reference\n", "api"),
        ("tutorial/first.md", "# X\n", "guide"),
        ("x.md", "---\ntype: Directory\n---\n# API\n", "directory"),
        ("x.md", "# Something\n", "page"),
    ],
)
def test_kinds_of_pages(path: str, text: str, kind: str) -> None:
    vocabulary = Vocabulary.from_analysis(parse_analysis(ANALYSIS, "analysis"))
    assert page_metadata(path, text, vocabulary, {})["type"] == kind


def test_layers_of_pages() -> None:
    vocabulary = Vocabulary.from_analysis(parse_analysis(ANALYSIS, "analysis"))

    def layer(text: str, path: str = "x.md", **layers: str) -> Any:
        return page_metadata(path, text, vocabulary, layers)["layer"]

    assert layer("---\nlayer: Domain\n---\nx src/api/routes.py") == "domain"
    assert layer("src/auth/tokens.py and src/auth/tokens.py, src/api/routes.py") == "domain"
    assert layer("nothing") == "docs"
    assert layer("nothing", "x.md", **{"x.md": "mine"}) == "mine"


def test_ordinary_words_count_only_as_code() -> None:
    names = frozenset(["add", "Library", "validate_token", "TokenService.refresh", "refresh"])
    assert find_names("We add a Library to it.", names) == []
    assert find_names("We `add` with Library() and refresh.", names) == ["add", "Library"]
    assert find_names("validate_tokens is not validate_token", names) == ["validate_token"]
    assert find_names("```\nrefresh\n```", names) == ["refresh"]
    assert find_names("TokenService::refresh", names) == ["TokenService.refresh"]
    entries = ["GET /users", "GET /", "cli:add", "main"]
    assert find_entry_points("see /users/{id}", entries) == []
    assert find_entry_points("see /users, `shop add x` and main()", entries) == ["GET /users", "cli:add", "main"]


def test_slugs() -> None:
    assert slug("A b/C-d.md", "Über & „mehr“") == "wiki_a_b_c_d_über_mehr"
    assert slug("x.md", "!!!") == "wiki_x"
    taken: set[str] = set()
    assert [unique("a", taken), unique("a", taken), unique("a_2", taken), unique("a", taken)] == [
        "a",
        "a_2",
        "a_2_2",
        "a_3",
    ]


def test_other_shapes_of_an_analysis() -> None:
    found = parse_analysis(
        {"symbols": [{"name": "A", "path": "a.py"}, "B"], "layers": {"api": ["a.py"]}, "entry_points": ["main"]}, "x"
    )
    assert found == RepositoryAnalysis({"a.py": ["A"], "": ["B"]}, {}, {"a.py": "api"}, {"": ["main"]})
