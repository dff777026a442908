"""The definitions of a source text, with their names, signatures and summaries."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import cast

from footnotes.analyse.grammar import IMPORTS, Node, body_of, definition, name_of, parser_of

LARGE = 1_500
"""A longer class is split into its methods; a longer function gets cuts between its statements."""
_DEEPEST = 6
_LONGEST_SIGNATURE = 300
_LONGEST_SUMMARY = 200
MOST_SYMBOLS = 100
_TRANSPARENT = ("preproc_ifdef", "preproc_if", "linkage_specification", "program", "if_statement", "block",
                "try_statement", "else_clause", "except_clause")  # fmt: skip
"""Nodes that contain definitions without being part of their names."""
_CONSTANTS = {
    "expression_statement": ("assignment",),
    "lexical_declaration": ("variable_declarator",),
    "variable_declaration": ("variable_declarator",),
    "export_statement": ("lexical_declaration",),
    "const_declaration": ("const_spec",),
    "var_declaration": ("var_spec",),
}
_NAME = re.compile(r"[A-Za-z_$][\w$]*\Z")
_MARKS = re.compile(r"^[ \t]*(?:///?!?|/\*\*?|\*/?|#+!?|--+|;+)[ \t]?|[ \t]*\*/[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A defined name, qualified by the names around it."""

    name: str
    kind: str
    start: int
    end: int

    @property
    def names(self) -> tuple[str, ...]:
        """The full name and its last part."""
        bare = self.name.rpartition(".")[2]
        return (self.name,) if bare == self.name else (self.name, bare)


@dataclass(slots=True)
class Span:
    """A definition, or the head of one that was split, in characters."""

    start: int
    end: int
    path: tuple[str, ...]
    enclosing: str = ""
    signature: str = ""
    summary: str = ""
    cuts: list[Cut] = field(default_factory=list)


@dataclass(slots=True)
class Outline:
    """The symbols of a text, the spans to chunk it by, and the cuts between its statements."""

    symbols: list[Symbol] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)


def outline_of(tree: Tree) -> Outline:
    """Read the definitions of a tree."""
    reader = _Reader(tree)
    reader.read(tree.root, (), "", 0)
    reader.found.spans.sort(key=lambda span: span.start)
    reader.found.cuts = cuts_of(tree, tree.root, deepest=0)
    return reader.found


class _Reader:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.found = Outline()

    def read(self, parent: Node, path: tuple[str, ...], enclosing: str, depth: int) -> None:
        """Read the definitions directly below a node, with the comments above them."""
        comments: list[Node] = []
        for node in parent.children:
            if "comment" in node.type or node.type == "attribute_item":
                comments.append(node)
                continue
            found = definition(node)
            if found is not None and name_of(found):
                self._definition(node, found, comments, path, enclosing, depth)
            elif node.type in _TRANSPARENT and depth < _DEEPEST:
                self.read(node, path, enclosing, depth + 1)
            elif depth == 0 and node.type not in IMPORTS:
                self._constants(node, path)
            comments = []

    def _constants(self, node: Node, path: tuple[str, ...]) -> None:
        for child in node.named_children:
            if child.type in _CONSTANTS.get(node.type, ()):
                if child.type in _CONSTANTS:
                    self._constants(child, path)
                    continue
                target = child.child_by_field_name("left") or child.child_by_field_name("name")
                name = target.text.decode("utf-8", "replace") if target is not None else ""
                if _NAME.match(name):
                    self._symbol((*path, name), "constant", node)

    def _symbol(self, path: tuple[str, ...], kind: str, node: Node) -> None:
        start, end = self._tree.offset(node.start_byte), self._tree.offset(node.end_byte)
        self.found.symbols.append(Symbol(".".join(path), kind, start, end))

    def _definition(
        self, node: Node, found: Node, comments: list[Node], path: tuple[str, ...], enclosing: str, depth: int
    ) -> None:
        tree, name, body = self._tree, name_of(found), body_of(found)
        receiver = _receiver(found)
        inner = (*path, receiver, name) if receiver else (*path, name)
        if found.type != "impl_item":
            self._symbol(inner, _kind(found, path), node)
        start = comments[0].start_byte if comments else node.start_byte
        signature, summary = _signature(node, body), _summary(comments, body)
        span = Span(tree.offset(start), tree.offset(node.end_byte), inner, enclosing, signature, summary)
        self.found.spans.append(span)
        large = node.end_byte - node.start_byte > LARGE
        nested = list(_walk_nested(body)) if body is not None and not _is_function(found) and depth < _DEEPEST else []
        if large and nested:
            span.end = tree.offset(_with_comments(nested[0]).start_byte)
            above = "\n".join(filter(None, (enclosing, " ".join(filter(None, (signature, summary))))))
            assert body is not None
            self.read(body, inner, above, depth + 1)
            return
        if nested and body is not None:
            self._names_inside(body, inner, depth + 1)
        if large and body is not None:
            span.cuts = cuts_of(tree, body)

    def _names_inside(self, body: Node, path: tuple[str, ...], depth: int) -> None:
        """Add the names in a small class, which is not split."""
        for child in _walk_nested(body):
            found = definition(child)
            assert found is not None
            inner = (*path, name_of(found))
            self._symbol(inner, _kind(found, path), child)
            below = body_of(found)
            if below is not None and not _is_function(found) and depth < _DEEPEST:
                self._names_inside(below, inner, depth + 1)


def _walk_nested(body: Node) -> Iterator[Node]:
    for child in body.children:
        found = definition(child)
        if found is not None and name_of(found):
            yield child


def _with_comments(node: Node) -> Node:
    """Return the first of the comments directly above a node, or the node itself."""
    while (before := node.prev_sibling) is not None and ("comment" in before.type or before.type == "attribute_item"):
        node = before
    return node


def _receiver(node: Node) -> str:
    """Return the receiver type of a Go method."""
    receiver = node.child_by_field_name("receiver") if node.type == "method_declaration" else None
    words = re.findall(r"\w+", receiver.text.decode("utf-8", "replace").partition("[")[0]) if receiver else []
    return words[-1] if words else ""


def _is_function(node: Node) -> bool:
    return any(word in node.type for word in ("function", "method", "constructor"))


def _kind(node: Node, path: tuple[str, ...]) -> str:
    if _is_function(node) or node.type in ("lexical_declaration", "variable_declaration"):
        return "method" if path or "method" in node.type else "function"
    for word in ("class", "interface", "struct", "enum", "trait", "module", "namespace", "macro", "property"):
        if word in node.type:
            return word
    return "type"


def _signature(node: Node, body: Node | None) -> str:
    end = body.start_byte - node.start_byte if body is not None else len(node.text)
    text = node.text[: max(end, 0)][: _LONGEST_SIGNATURE * 4].decode("utf-8", "replace")
    return " ".join(text.split()).rstrip("{ ")[:_LONGEST_SIGNATURE]


def _summary(comments: list[Node], body: Node | None) -> str:
    """Return the first paragraph of a docstring, or of the comments above, on one line."""
    first = body.named_children[0] if body is not None and body.named_child_count else None
    inner = first.named_children[0] if first is not None and first.named_child_count == 1 else first
    if inner is not None and inner.type == "string" and body is not None and body.type == "block":
        text = inner.text.decode("utf-8", "replace").lstrip("rRuUbB").strip("\"'")
    else:
        text = "\n".join(each.text.decode("utf-8", "replace") for each in comments if "comment" in each.type)
        text = _MARKS.sub("", text)
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    return paragraph if len(paragraph) <= _LONGEST_SUMMARY else paragraph[: _LONGEST_SUMMARY - 1].rstrip() + "…"


# ── finds where to cut a long definition: before its statements, and inside long ones ─────────────────────────


Cut = tuple[int, int]
"""The offset of a statement to cut before, and its depth."""

MOST_CUTS = 2_000
_DEEPEST_CUT = 4
_SMALL = 400
"""Statements with fewer bytes are not cut inside."""
_BLOCKS = ("block", "statement_block", "compound_statement", "body_statement", "declaration_list", "switch_body",
           "match_block", "class_body", "do_block", "then", "enum_body", "field_declaration_list",
           "statement_list")  # fmt: skip


def cuts_of(tree: Tree, body: Node, *, deepest: int = _DEEPEST_CUT) -> list[Cut]:
    """Return the offsets to cut the inside of a node, in order. A comment stays with the statement below it."""
    found: list[Cut] = []
    for begin, depth in _statements(body, 0, deepest):
        at = tree.offset(begin)
        if _begins_line(tree.text, at):
            found.append((at, depth))
            if len(found) == MOST_CUTS:
                break
    return sorted(found)


def _statements(body: Node, depth: int, deepest: int) -> Iterator[tuple[int, int]]:
    comment: int | None = None
    for node in body.named_children:
        begin = node.start_byte if comment is None else comment
        if "comment" in node.type:
            comment = begin
            continue
        comment = None
        yield begin, depth
        if depth < deepest and node.end_byte - node.start_byte > _SMALL:
            for inner in _blocks(node, 5):
                yield from _statements(inner, depth + 1, deepest)


def _blocks(node: Node, steps: int) -> Iterator[Node]:
    """Yield the nearest blocks of statements below a node."""
    for child in node.named_children:
        if child.end_byte - child.start_byte <= _SMALL:
            continue
        if child.type in _BLOCKS:
            yield child
        elif steps:
            yield from _blocks(child, steps - 1)


def _begins_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


# ── A syntax tree with offsets in characters, not bytes ───────────────────────────────────────────────────────


_QUOTED = ("string", "comment", "heredoc", "char_literal", "regex")
_INSIDE = ("interpolation", "template_substitution")


class Tree:
    """The tree of one source text."""

    def __init__(self, text: str, language: str) -> None:
        self.text = text
        self.encoded = text.encode("utf-8", "replace")
        self.root = cast(Node, parser_of(language).parse(self.encoded).root_node)
        self._ascii = len(text) == len(self.encoded)
        # The offset of each line in bytes and in characters: conversion starts at the line.
        lines = [] if self._ascii else self.encoded.split(b"\n")
        self._byte_starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self._starts = [0, *accumulate(len(line.decode("utf-8")) + 1 for line in lines)]

    def offset(self, at: int) -> int:
        """Convert a byte offset to characters."""
        if self._ascii:
            return at
        line = bisect_right(self._byte_starts, at) - 1
        begin = self._byte_starts[line]
        return self._starts[line] + len(self.encoded[begin:at].decode("utf-8", "replace"))

    def byte(self, at: int) -> int:
        """Convert a character offset to bytes."""
        if self._ascii:
            return at
        line = bisect_right(self._starts, at) - 1
        begin = self._starts[line]
        return self._byte_starts[line] + len(self.text[begin:at].encode("utf-8", "replace"))

    def is_code(self, at: int) -> bool:
        """Return whether an offset is code, not part of a string or a comment."""
        begin = self.byte(at)
        node = self.root.descendant_for_byte_range(begin, begin + 1)
        while node is not None:
            if node.type in _INSIDE:
                return True
            if any(word in node.type for word in _QUOTED):
                return False
            node = node.parent
        return True
