"""Footnotes of source code: path, lines and commit, exactly; consecutive chunks of a file are one passage."""

from __future__ import annotations

from dataclasses import replace

from footnotes.answer.citations import cite
from footnotes.answer.context import build_context, heading_of
from footnotes.answer.passages import lines_of, passages_of
from footnotes.render import footnote_line, hit_place, short_commit, source_place
from footnotes.testing.hits import make_hit
from footnotes.types import Hit
from footnotes.wire import to_json

SOURCE = '''"""Tokens."""


def validate_token(token):
    """A token is valid for ten minutes after it was issued by the gateway."""
    return token.age < 600


def refresh(token):
    """A refreshed token keeps its owner and loses its age."""
    return token.renewed()
'''
COMMIT = "1a2b3c4d5e6f7890"
METADATA = {"repository": "shop", "path": "src/auth/token.py", "commit": COMMIT, "language": "python"}


def chunk(name: str, index: int) -> Hit:
    start = SOURCE.index(f"def {name}")
    end = SOURCE.find("\n\n\n", start)
    hit = make_hit(SOURCE, start, len(SOURCE.rstrip()) if end < 0 else end, document="token.py", metadata=METADATA)
    first = SOURCE[:start].count("\n") + 1
    return replace(hit, index=index, lines=(first, first + hit.text.count("\n")), score=1.0 - index / 100)


HITS = [chunk("validate_token", 0), chunk("refresh", 1)]


def test_a_footnote_names_path_lines_and_commit() -> None:
    cited = cite("A token is valid for ten minutes after it was issued by the gateway.", passages_of(HITS))
    (citation,) = cited.citations
    assert citation.lines == (5, 5) and citation.path == "src/auth/token.py" and citation.commit == COMMIT
    assert SOURCE.splitlines()[4].strip().strip('"').startswith(citation.quote[:20].strip('"'))
    assert footnote_line(citation).startswith("[1] src/auth/token.py:5 @ 1a2b3c4: ")
    assert to_json(citation)["lines"] == [5, 5]
    assert hit_place(HITS[0]) == "src/auth/token.py:4-6 @ 1a2b3c4"


def test_other_documents_have_their_own_form() -> None:
    hit = make_hit("The notice period is three months.", document="handbook.pdf", pages=(4, 4))
    (citation,) = cite("The notice period is three months.", passages_of([hit])).citations
    assert footnote_line(citation).startswith("[1] handbook.pdf, p. 4: ") and citation.lines is None
    assert hit_place(hit) == "handbook.pdf, p. 4"


def test_consecutive_chunks_of_a_file_are_one_passage() -> None:
    context = build_context(
        HITS, budget=1_000, count=lambda text: len(text.split()), read=lambda _, start, end: SOURCE[start:end]
    )
    (passage,) = context.passages
    assert passage.text in SOURCE and "validate_token" in passage.text and "renewed" in passage.text
    assert heading_of(1, passage) == "[1] src/auth/token.py:4-11 @ 1a2b3c4"
    at = SOURCE.index("return token.renewed")
    assert lines_of(passage, at, "return token") == (11, 11)


def test_places() -> None:
    assert source_place("a.py", None) == "a.py" and source_place("a.py", (3, 9)) == "a.py:3-9"
    assert short_commit("1a2b3c4d5e-dirty") == "1a2b3c4-dirty"
