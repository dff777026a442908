"""A syntax tree with offsets in characters, not bytes."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import cast

from footnotes.analyse.grammar import Node, parser_of

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
