"""Whatever the source: chunks are its own lines, and say only what begins in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footnotes.analyse.source import analyse
from footnotes.chunk.code import CodeChunker
from footnotes.ingest.derive import Deriver
from footnotes.parse import Source
from footnotes.parse.code import CodeParser
from footnotes.parse.types_by_name import code_mime
from footnotes.types import Part

TOKENS = 64
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True)
LINES = st.sampled_from(
    [
        "x = 1",
        "call(a, b); other()",
        "# a remark — with ümlaut",
        "if x:\n    y = 2",
        "for i in z:\n    use(i)",
        "",
        '"""text"""',
    ]
)


@st.composite
def bodies(draw: st.DrawFn, indent: str = "    ") -> str:
    lines = "\n".join(draw(st.lists(LINES, min_size=1, max_size=25))).split("\n")
    return "\n".join(indent + line if line else "" for line in [*lines, "return 1"])


@st.composite
def modules(draw: st.DrawFn) -> str:
    pieces = ["import os"]
    for _ in range(draw(st.integers(1, 5))):
        name, body = draw(NAMES), draw(bodies())
        kind = draw(st.sampled_from(["function", "class", "statement"]))
        if kind == "function":
            pieces.append(f"@wrap\ndef {name}(value):\n{body}")
        elif kind == "class":
            methods = "\n\n".join(f"    def {draw(NAMES)}(self):\n{draw(bodies('        '))}" for _ in range(3))
            pieces.append(f"class {name.title()}(Base):\n    size = 1\n\n{methods}")
        else:
            pieces.append(f"{name} = {draw(st.integers())}")
    return draw(st.sampled_from(["\n\n\n", "\n"])).join(pieces) + "\n"


ANYTHING = st.text(alphabet=st.sampled_from("def class fn(){};:=\n\t \"'`#/*é漢🙂ab@0"), min_size=1, max_size=400)
LANGUAGES = ["python", "javascript", "go", "rust", "java", "c", "kotlin", "sql"]


def parts_of(text: str, language: str, folder: Path) -> list[Part]:
    path = folder / "source"
    path.write_bytes(text.encode("utf-8"))
    return [item for item in CodeParser().parse(Source(path, "source", code_mime(language))) if isinstance(item, Part)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("code")


@given(text=modules())
def test_the_lines_of_a_chunk_are_its_text(folder: Path, text: str) -> None:
    lines = text.split("\n")
    derive = Deriver(CodeChunker(tokens=TOKENS), "0" * 64, "a.py")
    covered: set[int] = set()
    for part in parts_of(text, "python", folder):
        for chunk, own in derive.chunks(part):
            assert chunk.lines is not None
            first, last = chunk.lines
            assert "\n".join(lines[first - 1 : last]).strip() == own == text[chunk.start : chunk.end]
            assert chunk.tokens <= TOKENS
            covered |= set(range(first, last + 1))
    assert all(number in covered for number, line in enumerate(lines, start=1) if line.strip())


@given(text=modules())
def test_every_symbol_is_said_by_the_one_chunk_it_begins_in(folder: Path, text: str) -> None:
    derive = Deriver(CodeChunker(tokens=TOKENS), "0" * 64, "a.py")
    said = [(chunk, chunk.metadata.get("symbols", [])) for part in parts_of(text, "python", folder)
            for chunk, _ in derive.chunks(part)]  # fmt: skip
    for symbol in analyse(text, "python").outline.symbols:
        holding = [names for chunk, names in said if chunk.start <= symbol.start < chunk.end]
        assert len(holding) == 1
        assert set(symbol.names) <= set(holding[0])  # type: ignore[arg-type]


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=ANYTHING)
def test_no_text_is_too_odd(folder: Path, language: str, text: str) -> None:
    if not text.strip():
        return
    parts = parts_of(text, language, folder)
    assert "".join(part.text for part in parts) == text
    derive = Deriver(CodeChunker(tokens=TOKENS), "0" * 64, "a")
    lines, covered = text.split("\n"), bytearray(len(text))
    for part in parts:
        for chunk, own in derive.chunks(part):
            assert own == text[chunk.start : chunk.end] and chunk.lines is not None
            assert own in "\n".join(lines[chunk.lines[0] - 1 : chunk.lines[1]])
            covered[chunk.start : chunk.end] = b"x" * (chunk.end - chunk.start)
    assert all(mark or char.isspace() for mark, char in zip(covered, text, strict=True))
    found = analyse(text, language)
    assert all(0 <= symbol.start < symbol.end <= len(text) for symbol in found.outline.symbols)
    assert all(0 <= entry.start < len(text) for entry in found.entry_points)


@given(text=modules())
def test_cuts_lie_between_lines(text: str) -> None:
    outline = analyse(text, "python").outline
    for at, _ in [*outline.cuts, *(cut for span in outline.spans for cut in span.cuts)]:
        assert not text[text.rfind("\n", 0, at) + 1 : at].strip()
