"""Finds what one source text defines, imports and exposes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from footnotes.analyse.entry_points import EntryPoint, entry_points_of
from footnotes.analyse.grammar import has_grammar
from footnotes.analyse.imports import imports_of
from footnotes.analyse.outline import Outline, Span, Symbol, Tree, outline_of
from footnotes.errors import MissingExtra

MOST_CHARACTERS = 4_000_000


@dataclass(frozen=True, slots=True)
class Analysis:
    """The findings in a source text. `exact` means by a grammar, not by regular expressions."""

    outline: Outline
    imports: list[str]
    entry_points: list[EntryPoint]
    exact: bool
    missing: MissingExtra | None = None


def analyse(text: str, language: str) -> Analysis:
    """Find symbols, imports and entry points of a text. A text with syntax errors gives partial results."""
    missing: MissingExtra | None = None
    tree: Tree | None = None
    if has_grammar(language) and len(text) <= MOST_CHARACTERS:
        try:
            tree = Tree(text, language)
        except MissingExtra as error:
            missing = error
    is_code = tree.is_code if tree is not None else _anything
    outline = outline_of(tree) if tree is not None else outline_by_words(text)
    imports, entries = imports_of(text, language, is_code), entry_points_of(text, language, is_code)
    return Analysis(outline, imports, entries, tree is not None, missing)


def _anything(_: int) -> bool:
    return True


# ── definitions by regular expressions, for languages and installations without a grammar ─────────────────────


_WORDS = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|override|open|sealed|data|"
    r"suspend|inline|pub(?:\([^)\n]{0,40}\))?|unsafe|const|extern|virtual|partial|local|case|implicit|lazy|mutating|"
    r"create(?:[ \t]+or[ \t]+replace)?)[ \t]+){0,8}"
)
_DEFINITION = re.compile(
    rf"^(?P<indent>[ \t]*){_WORDS}"
    r"(?P<kind>def(?:p|module|macro|protocol)?|class|interface|trait|struct|enum|record|object|protocol|extension|"
    r"actor|mixin|module|namespace|impl|type|fn|func|fun|function|sub|message|service|rpc|table|view|procedure|"
    r"trigger|input|union|scalar)\b[ \t]+"
    r"(?:if[ \t]+not[ \t]+exists[ \t]+)?(?:\([^)\n]{0,100}\)[ \t]*)?(?P<name>[A-Za-z_$][\w$.:]*)",
    re.MULTILINE | re.IGNORECASE,
)
_HOLDERS = ("class", "interface", "trait", "struct", "enum", "object", "module", "namespace", "impl", "protocol",
            "extension", "actor", "mixin", "defmodule", "service", "record")  # fmt: skip
_LONGEST_SIGNATURE = 300
_MOST = 5_000
_MOST_LINES = 2_000
"""The most lines in a definition."""


def outline_by_words(text: str) -> Outline:
    """Find definitions by keywords at the start of a line; each ends at the next line that is not deeper."""
    found = Outline()
    above: list[tuple[int, str, str]] = []
    for number, match in enumerate(_DEFINITION.finditer(text)):
        if number == _MOST:
            break
        width = len(match["indent"].expandtabs(4))
        while above and above[-1][0] >= width:
            above.pop()
        path = tuple(name for _, name, _ in above)
        name, kind = match["name"].rstrip(".:"), match["kind"].lower()
        end = _end(text, match.start(), width)
        inner = (*path, name)
        found.symbols.append(Symbol(".".join(inner), _kind(kind, path), match.start("kind"), end))
        signature = " ".join(text[match.start() : end].partition("\n")[0].split()).rstrip("{ ")[:_LONGEST_SIGNATURE]
        found.spans.append(Span(match.start(), end, inner, "\n".join(each for *_, each in above), signature))
        if kind in _HOLDERS:
            above.append((width, name, signature))
    _close_spans(found.spans)
    return found


def _close_spans(spans: list[Span]) -> None:
    for span, following in pairwise(spans):
        span.end = min(span.end, following.start)


def _end(text: str, start: int, width: int) -> int:
    """The end of a definition: its deeper lines, and a line that closes it."""
    at = text.find("\n", start) + 1
    for _ in range(_MOST_LINES):
        if not at:
            return len(text)
        stop = text.find("\n", at)
        line = text[at : stop if stop >= 0 else len(text)]
        bare = line.strip()
        if bare and len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip()) <= width:
            return at + len(line) if bare[0] in "})" or bare in ("end", "end;") else at
        at = stop + 1 if stop >= 0 else 0
    return at or len(text)


def _kind(word: str, path: tuple[str, ...]) -> str:
    if word in ("def", "fn", "func", "fun", "function", "sub", "rpc", "procedure", "defp", "defmacro"):
        return "method" if path else "function"
    return word
