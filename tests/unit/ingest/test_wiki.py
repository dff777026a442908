"""Pages that describe a repository: what is said of them and of their chunks, and where it comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from footnotes.errors import FootnotesError, OptionError, SourceUnreadable
from footnotes.library import Library
from repositories import ROUTES, TOKENS, files_in

PAGE = """# How a user signs in

Users send `GET /users/{id}`. See src/api/routes.py for the code.

## Checking

`validate_token` raises TokenError. It relies on `bcrypt`.

## Renewing

`TokenService.refresh` gives a new one.

## Checking

Twice the same name.
"""
ANALYSIS: dict[str, Any] = {
    "symbols": {"src/auth/tokens.py": ["TokenError", "TokenService", "TokenService.refresh", "validate_token", "one"]},
    "file_imports": {"src/auth/tokens.py": ["bcrypt", "datetime"], "src/api/routes.py": ["fastapi"]},
    "layers": {"src/api/**": "api", "src/auth/tokens.py": "domain"},
    "entry_points": {"src/api/routes.py": ["GET /users/{id}", "main"]},
}


@pytest.fixture
def wiki(tmp_path: Path) -> Path:
    files_in(tmp_path / "wiki", {"flows/sign-in.md": PAGE, "index.md": "# Shop\n\nAll of it.\n", "logo.svg": "<svg/>"})
    return tmp_path / "wiki"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    files_in(tmp_path / "code", {"src/auth/tokens.py": TOKENS, "src/api/routes.py": ROUTES})
    return tmp_path / "code"


def chunks(library: Library, path: str) -> list[dict[str, Any]]:
    document = next(each for each in library.documents() if each.metadata["path"] == path)
    return [dict(chunk.metadata) for chunk in library.chunks(document.id)]


@pytest.mark.parametrize("given", ["repository", "analysis"])
def test_pages_and_chunks_keep_what_they_speak_of(
    library: Library, wiki: Path, code: Path, tmp_path: Path, given: str
) -> None:
    (tmp_path / "analysis.json").write_text(json.dumps(ANALYSIS), encoding="utf-8")
    known = {"repository": code} if given == "repository" else {"analysis": tmp_path / "analysis.json"}
    files = library.add_wiki(wiki, **known)
    assert {Path(file.path).name: file.status for file in files} == {
        "sign-in.md": "added",
        "index.md": "added",
        "logo.svg": "skipped",
    }
    page = next(each for each in library.documents() if each.filename == "sign-in.md")
    assert (page.metadata["title"], page.metadata["type"], page.metadata["layer"]) == (
        "How a user signs in",
        "workflow",
        "api",
    )
    found = chunks(library, "flows/sign-in.md")
    assert [each["slug"] for each in found] == [
        "wiki_flows_sign_in_how_a_user_signs_in",
        "wiki_flows_sign_in_checking",
        "wiki_flows_sign_in_renewing",
        "wiki_flows_sign_in_checking_2",
    ]
    assert [each["chunk_index"] for each in found] == [0, 1, 2, 3]
    assert [each["entry_points"] for each in found] == [["GET /users/{id}"], [], [], []]
    assert found[1]["section_header"] == "Checking"
    assert (found[1]["symbols"], found[1]["imports"]) == (["validate_token", "TokenError"], ["bcrypt"])
    assert found[2]["symbols"][:2] == ["TokenService.refresh", "TokenService"]
    assert found[3]["symbols"] == [] and found[3]["token_count"] > 0


def test_without_a_repository_pages_are_cut_by_sections(library: Library, wiki: Path) -> None:
    library.add_wiki(wiki)
    found = chunks(library, "flows/sign-in.md")
    assert len(found) == 4 and found[1]["symbols"] == []


def test_nothing_is_done_twice_and_new_names_are_noticed(library: Library, wiki: Path, code: Path) -> None:
    library.add_wiki(wiki, repository=code)
    assert {file.status for file in library.add_wiki(wiki, repository=code)} == {"unchanged", "skipped"}
    files_in(code, {"src/shop.py": "class Shop: ...\n"})
    files_in(wiki, {"index.md": "# Shop\n\nAll of `Shop`.\n"})
    files_in(code, {"src/auth/more.py": "def bcrypt_rounds(): ...\n"})
    statuses = {Path(file.path).name: file.status for file in library.add_wiki(wiki, repository=code)}
    assert (statuses["index.md"], statuses["sign-in.md"]) == ("changed", "unchanged")
    assert chunks(library, "index.md")[0]["symbols"] == ["Shop"]
    files_in(code, {"src/auth/tokens.py": TOKENS.replace("validate_token", "check_token")})
    statuses = {Path(file.path).name: file.status for file in library.add_wiki(wiki, repository=code)}
    assert (statuses["index.md"], statuses["sign-in.md"]) == ("unchanged", "changed")
    assert chunks(library, "flows/sign-in.md")[1]["symbols"] == ["TokenError"]


def test_a_page_that_was_there_as_a_document_becomes_a_page(library: Library, wiki: Path, code: Path) -> None:
    library.add(wiki / "flows/sign-in.md")
    library.add_wiki(wiki, repository=code)
    assert len(chunks(library, "flows/sign-in.md")) == 4


def test_indexing_anew_keeps_what_chunks_say(library: Library, wiki: Path, code: Path) -> None:
    library.add_wiki(wiki, repository=code)
    before = chunks(library, "flows/sign-in.md")
    library.reindex()
    assert chunks(library, "flows/sign-in.md") == before


def test_a_page_that_moved_says_its_new_path(library: Library, wiki: Path) -> None:
    library.add_wiki(wiki)
    (wiki / "flows/sign-in.md").rename(wiki / "login.md")
    library.add_wiki(wiki)
    assert chunks(library, "login.md")[1]["slug"] == "wiki_login_checking"
    assert len(library.documents()) == 2


def test_a_rename_is_reported_once_and_an_empty_page_is_skipped(library: Library, wiki: Path) -> None:
    (wiki / "empty.md").write_text("  \n")
    first = {Path(file.path).name: file for file in library.add_wiki(wiki)}
    assert first["empty.md"].status == "skipped" and first["empty.md"].warnings == ("no text in it",)
    (wiki / "flows/sign-in.md").rename(wiki / "login.md")
    again = [file.status for file in library.add_wiki(wiki) if Path(file.path).name == "login.md"]
    assert again == ["renamed"]


def test_a_page_says_what_the_file_it_describes_imports_and_offers(library: Library, wiki: Path, code: Path) -> None:
    files_in(wiki, {"src/auth/tokens.md": "# Tokens { #tokens }\n\nNothing is said of libraries here.\n"})
    library.add_wiki(wiki, repository=code)
    page = next(each for each in library.documents() if each.metadata["path"] == "src/auth/tokens.md")
    assert page.metadata["describes"] == "src/auth/tokens.py" and "bcrypt" in page.metadata["imports"]
    assert page.title == "Tokens"
    (chunk,) = library.chunks(page.id)
    assert chunk.prefix == "[Document: Tokens]" and chunk.headings == ("Tokens",)
    found = library.search("imports:bcrypt libraries").hits
    assert "tokens.md" in [hit.filename for hit in found]
    by_slug = library.search("slug:wiki_src_auth_tokens_tokens").hits
    assert [hit.chunk_id for hit in by_slug] == [chunk.id]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not valid JSON"),
        ("[]", "is not an object"),
        ("{}", "has none of"),
        ('{"symbols": 3}', "symbols must be"),
        ('{"symbols": {"a.py": "x"}}', "symbols['a.py'] must be a list"),
        ('{"entry_points": [3]}', "entry_points[0] must be"),
        ('{"layers": {"a": 3}}', "layers['a'] must be"),
        ('{"file_imports": {"a": [1]}}', "file_imports['a'] must be"),
        ("[" * 100_000, "is not valid JSON"),
    ],
)
def test_a_wrong_analysis_is_told_in_one_sentence(
    library: Library, wiki: Path, tmp_path: Path, content: str, says: str
) -> None:
    path = tmp_path / "analysis.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(OptionError) as error:
        library.add_wiki(wiki, analysis=path)
    assert says in error.value.message and "docs/code.md" in error.value.remedy


def test_what_cannot_be_given_together_or_is_not_there(library: Library, wiki: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError):
        library.add_wiki(wiki, analysis="a", repository="b")
    with pytest.raises(SourceUnreadable):
        library.add_wiki(wiki, analysis=tmp_path / "nowhere")
    with pytest.raises(FootnotesError):
        library.add_wiki(tmp_path / "nowhere")
