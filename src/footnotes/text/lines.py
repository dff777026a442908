"""Line numbers of offsets in a text."""

from __future__ import annotations


class LineCounter:
    """Returns the lines of spans, counted from 1. Spans in order need one pass over the text together."""

    def __init__(self, text: str, *, first_line: int = 1) -> None:
        self._text = text
        self._first = first_line
        self._at = 0
        self._line = first_line

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the first and last line of a span; a span that ends with a line break ends on the line it closes."""
        if start < self._at:
            self._at, self._line = 0, self._first
        self._line += self._text.count("\n", self._at, start)
        self._at = start
        return self._line, self._line + self._text.count("\n", start, max(start, end - 1))
