"""The elements of a JSON array of any length, one at a time, and the number of the one that is broken.

`ijson` would do, but keeps a path for every level: a few bytes of nothing but brackets take all memory there is. Here a
window slides over the file, and the decoder of the standard library, which knows when to stop, reads at its beginning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn, TextIO

from footnotes.errors import ImportFormatError

BLOCK = 1 << 20
LONGEST = 1 << 28
"""Characters a record may have."""
SHAPES = "Give a JSON array or JSON Lines of objects such as {pageContent, metadata}; see docs/import.md."
_AT_THE_END = 32
"""What is cut off in the middle fails at most so far from the end, unless it is a text."""
_SPACE = re.compile(r"[ \t\r\n]*")
_NOT_UNICODE = re.compile(r"[\udc80-\udcff]")


def broken(place: str, said: object) -> ImportFormatError:
    shown = " ".join(str(said).partition("\n")[0].split())[:100] or type(said).__name__
    return ImportFormatError(f"{place} is not JSON ({shown})", remedy=SHAPES)


def no_number(name: str) -> NoReturn:
    """JSON knows neither NaN nor infinity, whatever Python writes."""
    raise ValueError(f"{name} is no number of JSON")


def array_elements(file: TextIO) -> Iterator[Any]:
    """The elements of the array a file is. It is read with `errors="surrogateescape"`."""
    window, number = _Window(file), 1
    if window.next() != "[":
        raise broken("record 1", "no array")
    window.skip()
    if window.next() != "]":
        while True:
            yield window.value(number)
            number += 1
            following = window.next()
            if following == "]":
                break
            if following != ",":
                raise broken(f"record {number}", "a comma or the end of the array is missing before it")
            window.skip()
    window.skip()
    if window.next():
        raise broken(f"record {number}", "something follows the end of the array")


class _Window:
    """Some of a text; more of it is read when what stands at its beginning is not complete."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._ended = False
        self._decoder = json.JSONDecoder(parse_constant=no_number)

    def next(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            found = _SPACE.match(self._text, self._at)
            assert found is not None
            self._at = found.end()
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def skip(self) -> None:
        self._at += 1

    def value(self, number: int) -> Any:
        """The value that stands here; `number` is for the error where it is none."""
        self.next()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
                if not isinstance(value, (int, float)) or end < len(self._text) - _AT_THE_END or not self._more():
                    break  # the digits of a number may go on
            except json.JSONDecodeError as error:
                if not self._may_be_cut_off(error) or not self._more():
                    raise broken(f"record {number}", error.msg) from error
            except (ValueError, RecursionError) as error:
                raise broken(f"record {number}", error) from error
            if len(self._text) > LONGEST:
                raise broken(f"record {number}", f"longer than {LONGEST:,} characters")
        if _NOT_UNICODE.search(self._text, self._at, end):
            raise broken(f"record {number}", "not UTF-8")
        self._at = end
        return value

    def _may_be_cut_off(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _AT_THE_END

    def _more(self) -> bool:
        """Read on, twice as much each time: a long record is not read over and over. At the end nothing changes."""
        if self._ended:
            return False
        rest = self._text[self._at :]
        block = self._file.read(max(BLOCK, len(rest)))
        if not block:
            self._ended = True
            return False
        self._text, self._at = rest + block, 0
        return True
