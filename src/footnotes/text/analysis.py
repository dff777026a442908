"""Text → the terms of the lexical index. Documents and questions pass through the same function.

A question does not know in which language the documents are. Hence: a text's words are always found by their
English stems, and a text that its function words show to be in another language is found by the stems of that
language as well, where they differ. A word in the same form therefore always matches, whatever was detected on
either side; other forms of it match when the language was. Scripts of one language (Arabic, Greek, …) use its
stemmer alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache

from footnotes.text.languages import DEFAULT, STEMMERS, detect, function_words
from footnotes.text.words import fold, forms, is_plain_ascii

VERSION = 2
"""Raise when terms change: every lexical index is then built again."""

MEMO_WORDS = 200_000
"""Written words remembered for each language before the memory is emptied."""
MEMO_LENGTH = 32
"""Longer ones are seldom met again: addresses, whole sentences of Chinese."""

# Marks of scripts that write vowels as marks belong to the word; Python's \w leaves them out.
_MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    r"\u0900-\u0963\u0966-\u0dff\u0e00-\u0e4e\u0e80-\u0ece\u1000-\u1049\u1780-\u17d3"
)
_WORD = re.compile(rf"\.?[\w{_MARKS}]+(?:[.'&][\w{_MARKS}]+|(?<=\d),\d+)*(?:\+\+|\#)?")

_BEFORE_WORDS, _AFTER_WORDS = '(["', '.,;:!?)]"'
"""What may stand around words and is part of none: with or without it their terms are the same."""

# Invisible characters vanish: soft hyphen, zero width, direction marks, tatweel, byte order mark, emoji joiners.
_INVISIBLE = [0xAD, 0x640, 0x61C, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0x202A, 0x202F)]
_DIGITS = {start + digit: str(digit) for start in (0x660, 0x6F0, 0x966) for digit in range(10)}
_CLEANED = {**dict.fromkeys(_INVISIBLE, ""), **_DIGITS, 0x2019: "'", 0x2018: "'", 0x2BC: "'"}
_UNCLEAN = re.compile(f"[{''.join(map(chr, _CLEANED))}]")

_SCRIPTS = (
    ("ru", 0x400, 0x530), ("el", 0x370, 0x400), ("ar", 0x600, 0x780), ("hi", 0x900, 0x980), ("hy", 0x530, 0x590),
    ("ta", 0xB80, 0xC00), ("he", 0x590, 0x600),
)  # fmt: skip
"""Scripts that tell the language to stem by; Hebrew has no stemmer and only keeps clear of the English one."""


def analyze(text: str, language: str = "auto") -> list[str]:
    """The terms of a text in order, with repetitions. `language` is "auto" or an ISO 639-1 code."""
    return joined_terms(text, language).split()


def joined_terms(text: str, language: str = "auto") -> str:
    """The terms of a text with spaces between them: no term has one inside."""
    words, chosen = _read(text, language)
    return " ".join(map(_memo(chosen, language == "auto").__getitem__, words))


def analyze_question(text: str, language: str = "auto") -> list[str]:
    """The terms of a question that are worth looking up: without function words, unless it has nothing else."""
    words, chosen = _read(text, language)
    terms = " ".join(map(_memo(chosen, language == "auto").__getitem__, words)).split()
    idle = _idle_terms(chosen, language == "auto")
    return [term for term in terms if term not in idle] or terms


def _read(text: str, language: str) -> tuple[list[str], str]:
    """What stands between spaces, and the language to stem it by."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        if _UNCLEAN.search(text):  # to translate takes several times as long as to look
            text = text.translate(_CLEANED)
    words = text.split()
    return words, detect(words) if language == "auto" else language


def fingerprint() -> str:
    """Changes when the same text may give other terms: our rules, or the stemmers'."""
    import Stemmer

    return f"analysis-{VERSION}/snowball-{Stemmer.version()}"


class _Memo(dict[str, str]):
    """What stands between two spaces → its terms, joined by spaces and made once: a text repeats its words, and
    stemming is slow."""

    def __init__(self, language: str, automatic: bool) -> None:
        super().__init__()
        self._language, self._automatic = language, automatic

    def __missing__(self, written: str) -> str:
        bare = written.rstrip(_AFTER_WORDS).lstrip(_BEFORE_WORDS)
        if bare != written and len(bare) <= MEMO_LENGTH:
            terms = self[bare]
        elif self._language == DEFAULT and len(written) <= MEMO_LENGTH and is_plain_ascii(written):
            terms = _stemmer(DEFAULT)(written.lower())
        elif len(words := _WORD.findall(written)) > 1:
            terms = " ".join(filter(None, map(self.__getitem__, words)))
        else:
            terms = " ".join(filter(None, _terms(words[0], self._language, self._automatic))) if words else ""
        if len(written) <= MEMO_LENGTH:
            if len(self) >= MEMO_WORDS:
                self.clear()
            self[written] = terms
        return terms


@cache
def _memo(language: str, automatic: bool) -> _Memo:
    return _Memo(language, automatic)


@cache
def _idle_terms(language: str, automatic: bool) -> frozenset[str]:
    """The terms that a language's function words give."""
    return frozenset(" ".join(map(_memo(language, automatic).__getitem__, function_words(language))).split())


def _terms(word: str, language: str, automatic: bool) -> list[str]:
    """The stems of a word's parts, then its whole forms."""
    parts, whole = forms(word)
    terms: list[str] = []
    for part in parts:
        stems = [_stem(part, each) for each in _detect_languages(part, language, automatic)]
        terms += stems[:1] if stems[0] == stems[-1] else stems
    return [*terms, *whole]


def _detect_languages(part: str, language: str, automatic: bool) -> tuple[str, ...]:
    """The languages to stem this part by: what was asked for, or what script and text tell, and English."""
    if not automatic:
        return (language,)
    code = ord(part[0])
    if code >= 0x370:
        for by_script, start, end in _SCRIPTS:
            if start <= code < end:
                return (by_script,)
    return (DEFAULT,) if language == DEFAULT else (language, DEFAULT)


def _stem(part: str, language: str) -> str:
    """English stems come of the folded word, others of the written one: their rules need the accents."""
    if language == DEFAULT:
        return _stemmer(language)(fold(part))
    return fold(_stemmer(language)(part.casefold()))


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    """Snowball's stemmer of a language; words of a language without one stay as they are."""
    if language not in STEMMERS:
        return str
    import Stemmer

    stem: Callable[[str], str] = Stemmer.Stemmer(STEMMERS[language], 0).stemWord
    return stem
