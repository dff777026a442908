"""Finds what one source text defines, imports and exposes."""

from __future__ import annotations

from dataclasses import dataclass

from footnotes.analyse.entry_points import EntryPoint, entry_points_of
from footnotes.analyse.fallback import outline_by_words
from footnotes.analyse.grammar import has_grammar
from footnotes.analyse.imports import imports_of
from footnotes.analyse.outline import Outline, outline_of
from footnotes.analyse.tree import Tree
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
