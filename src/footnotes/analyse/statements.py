"""Finds where to cut a long definition: before its statements, and inside long ones."""

from __future__ import annotations

from collections.abc import Iterator

from footnotes.analyse.grammar import Node
from footnotes.analyse.tree import Tree

Cut = tuple[int, int]
"""The offset of a statement to cut before, and its depth."""

MOST_CUTS = 2_000
_DEEPEST = 4
_SMALL = 400
"""Statements with fewer bytes are not cut inside."""
_BLOCKS = ("block", "statement_block", "compound_statement", "body_statement", "declaration_list", "switch_body",
           "match_block", "class_body", "do_block", "then", "enum_body", "field_declaration_list",
           "statement_list")  # fmt: skip


def cuts_of(tree: Tree, body: Node, *, deepest: int = _DEEPEST) -> list[Cut]:
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
