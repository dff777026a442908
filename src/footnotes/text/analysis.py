"""Analyses text into the terms of the lexical index. Documents and questions pass through the same function.

A question does not tell the language of the documents. Therefore every word of a text is indexed by its English stem,
and if function words show another language, also by the stem of that language if it differs. A word in the same form
then always matches, whatever language was detected on either side; other forms match if the language was detected.
Scripts used by one language (Arabic, Greek, …) use only its stemmer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import pairwise

from footnotes.text.languages import DEFAULT, STEMMERS, detect, function_words

# The forms of a written word before stemming.
#
# A plain word has one form: itself. An identifier is indexed whole and by its parts, a number by its value without
# digit grouping, a run of Chinese, Japanese, Korean or Thai by its pairs of characters.


LONGEST = 64
"""A longer run without a break is not a word: only its beginning is indexed."""

# Patterns over a word's shape: A capital, a small, x caseless, 0 digit. `RNAs` is RNA, `HTTPServer2` is three parts.
_HUMPS = re.compile(r"A{2,}(?=s?(?![as]))|A?[as]+|A|0+(?:\.0+)*|x+")
_JOINTS = re.compile(r"(?<!\d)[._&,]+|[._&,]+(?!\d)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)+\Z")
_GROUPED = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*(?:[.,]\d+)?\Z")
_CONTRACTED = {"t", "ll", "re", "ve", "m", "d"}
_UNDECOMPOSED = str.maketrans({"ı": "i", "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"})
# Scripts without spaces: East Asian ones, and Thai and similar ones, whose marks combine with letters.
_EAST_ASIAN = (
    r"\u1100-\u11ff\u3005-\u3007\u3040-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
_PAIRED = re.compile(f"[{_EAST_ASIAN}]")
_UNSPACED = re.compile(rf"([{_EAST_ASIAN}]+|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+)")


def forms(word: str) -> tuple[list[str], list[str]]:
    """Return the parts of a word to stem, and whole forms to index as well, folded but not stemmed."""
    if word.isascii() or not _UNSPACED.search(word):
        return _letters(word)
    parts: list[str] = []
    whole: list[str] = []
    for run in filter(None, _UNSPACED.split(word)):
        found = _split_unspaced(run) if _UNSPACED.match(run) else _letters(run)
        parts += found[0]
        whole += found[1]
    return parts, whole


def _letters(word: str) -> tuple[list[str], list[str]]:
    return ([word[:LONGEST]], []) if _is_plain(word) else _compound(word)


def _split_unspaced(run: str) -> tuple[list[str], list[str]]:
    """Split a run of a script without spaces into pairs of neighbouring characters; a single one stays alone."""
    characters = run if _PAIRED.match(run) else _clusters(run)
    return [], [first + second for first, second in pairwise(characters)] or list(characters)


def fold(word: str) -> str:
    """Remove case and accents. Marks for vowels (Indic and similar scripts) stay."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    letters = "".join(character for character in decomposed if not _is_accent(character))
    return unicodedata.normalize("NFKC", letters).translate(_UNDECOMPOSED)


def _is_accent(character: str) -> bool:
    """Return whether a mark is optional for readers: one of Latin, Greek, Cyrillic, Hebrew or Arabic."""
    return unicodedata.combining(character) != 0 and character < "\u0700"


def _is_plain(word: str) -> bool:
    """Return whether a word has only letters, in one case or capitalised."""
    return word.isalpha() and (word[1:].islower() or word.islower() or (word.isupper() and word.isascii()))


def is_plain_ascii(word: str) -> bool:
    """Return whether a word is plain and ASCII, like most English words: its only form is itself."""
    return word.isascii() and _is_plain(word)


def _compound(word: str) -> tuple[list[str], list[str]]:
    """Return the forms of identifiers, dotted names, numbers and contractions: everything but plain words."""
    bare = word.strip("_.&,'")
    if word.endswith(("++", "#")):
        return [], [fold(bare)[:LONGEST]]
    if _NUMBER.match(bare):
        return [], _number_forms(bare[:LONGEST])
    if "'" in bare:
        return _apostrophe(bare)
    pieces = [piece for piece in _JOINTS.split(bare) if piece]
    if len(pieces) > 1 and all(len(piece) == 1 and piece.isalpha() for piece in pieces):
        return ["".join(pieces)[:LONGEST]], []  # U.S.A., e.g.
    if len(bare) > LONGEST:
        return [piece[:LONGEST] for piece in pieces], []
    parts = [part for piece in pieces for part in _humps(piece)]
    if word.startswith(".") and len(pieces) == 1:
        return parts, [fold("." + bare)]  # .NET, .env
    if parts == [bare]:
        return parts, []
    return ([*parts, bare], []) if bare.isalpha() else (parts, [fold(bare)])


def _apostrophe(word: str) -> tuple[list[str], list[str]]:
    """Split at apostrophes: `company's` → company; `don't` stays; `l'avion`, `O'Brien` → both sides."""
    *heads, tail = [side for side in word.split("'") if side]
    if heads and tail in _CONTRACTED:
        return [word[:LONGEST]], []
    sides = heads if tail in ("s", "S") else [*heads, tail]
    return [hump[:LONGEST] for side in sides for piece in _JOINTS.split(side) for hump in _humps(piece)], []


def _humps(piece: str) -> list[str]:
    """Split `HTTPServer2` into HTTP, Server, 2. Drops single letters of mixed-case names (`iPhone`)."""
    if piece.islower() and piece.isalpha():
        return [piece]
    found = [piece[hump.start() : hump.end()] for hump in _HUMPS.finditer("".join(map(_shape, piece)))]
    return [hump for hump in found if len(hump) > 1] if len(found) > 1 and piece.isalpha() else found


def _shape(character: str) -> str:
    if character.islower():
        return "s" if character == "s" else "a"
    if character.isupper():
        return "A"
    if character.isdigit():
        return "0"
    return character if character in ".," else "x"


def _number_forms(digits: str) -> list[str]:
    """Normalise a number: `1,000` → `1000`; `3,5` → `3.5`; ambiguous `1.000` → itself and `1000`; `1.2.3` → itself."""
    grouped = _GROUPED.match(digits)
    if grouped is None:
        return [digits.replace(",", ".")] if digits.count(",") == 1 else digits.split(",")
    value = digits.replace(grouped[1], "").replace(",", ".")
    ambiguous = grouped[1] == "." and digits.count(".") == 1 and "," not in digits
    return [digits, value] if ambiguous else [value]


def _clusters(run: str) -> list[str]:
    """Split into characters with their combining marks."""
    found: list[str] = []
    for character in run:
        if found and unicodedata.category(character).startswith("M"):
            found[-1] += character
        else:
            found.append(character)
    return found


VERSION = 2
"""Raise this number when terms change: every lexical index is then rebuilt."""

MEMO_WORDS = 200_000
"""Words cached per language before the cache is cleared."""
MEMO_LENGTH = 32
"""Longer words rarely repeat and are not cached: addresses, whole sentences of Chinese."""

# Marks that write vowels belong to the word; Python's \w excludes them.
_MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    r"\u0900-\u0963\u0966-\u0dff\u0e00-\u0e4e\u0e80-\u0ece\u1000-\u1049\u1780-\u17d3"
)
_WORD = re.compile(rf"\.?[\w{_MARKS}]+(?:[.'&][\w{_MARKS}]+|(?<=\d),\d+)*(?:\+\+|\#)?")

_BEFORE_WORDS, _AFTER_WORDS = '(["', '.,;:!?)]"'
"""Punctuation around words that never changes their terms."""

# Invisible characters are removed: soft hyphen, zero width, direction marks, tatweel, byte order mark, emoji joiners.
_INVISIBLE = [0xAD, 0x640, 0x61C, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0x202A, 0x202F)]
_DIGITS = {start + digit: str(digit) for start in (0x660, 0x6F0, 0x966) for digit in range(10)}
_CLEANED = {**dict.fromkeys(_INVISIBLE, ""), **_DIGITS, 0x2019: "'", 0x2018: "'", 0x2BC: "'"}
_UNCLEAN = re.compile(f"[{''.join(map(chr, _CLEANED))}]")

_SCRIPTS = (
    ("ru", 0x400, 0x530), ("el", 0x370, 0x400), ("ar", 0x600, 0x780), ("hi", 0x900, 0x980), ("hy", 0x530, 0x590),
    ("ta", 0xB80, 0xC00), ("he", 0x590, 0x600),
)  # fmt: skip
"""Scripts that select a stemmer. Hebrew has none; it is listed to avoid the English one."""


def analyze(text: str, language: str = "auto") -> list[str]:
    """Return the terms of a text in order, with repetitions. `language` is "auto" or an ISO 639-1 code."""
    return join_terms(text, language).split()


def join_terms(text: str, language: str = "auto") -> str:
    """Return the terms of a text joined by spaces; no term contains a space."""
    words, language_of_words = _read(text, language)
    return " ".join(map(_memo(language_of_words, language == "auto").__getitem__, words))


def analyze_question(text: str, language: str = "auto") -> list[str]:
    """Return the terms of a question without function words, or all terms if it has only function words."""
    words, chosen_language = _read(text, language)
    terms = " ".join(map(_memo(chosen_language, language == "auto").__getitem__, words)).split()
    idle = _idle_terms(chosen_language, language == "auto")
    return [term for term in terms if term not in idle] or terms


def _read(text: str, language: str) -> tuple[list[str], str]:
    """Split a text at white space, and choose the language to stem it by."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        if _UNCLEAN.search(text):  # translate() is several times slower than this search
            text = text.translate(_CLEANED)
    words = text.split()
    return words, detect(words) if language == "auto" else language


def fingerprint() -> str:
    """Return a string that changes when our rules or the stemmers may give other terms."""
    import Stemmer

    return f"analysis-{VERSION}/snowball-{Stemmer.version()}"


class _Memo(dict[str, str]):
    """Maps a run between spaces to its terms, joined by spaces. Cached, because texts repeat words and stemming is
    slow."""

    def __init__(self, language: str, automatic: bool) -> None:
        super().__init__()
        self._language, self._automatic = language, automatic

    def __missing__(self, written: str) -> str:
        bare = written.rstrip(_AFTER_WORDS).lstrip(_BEFORE_WORDS)
        if bare != written and len(bare) <= MEMO_LENGTH:
            terms = self[bare]
        elif self._language == DEFAULT and len(written) <= MEMO_LENGTH and is_plain_ascii(written):
            terms = _stemmer(DEFAULT)(written.lower())
        elif len(written) <= MEMO_LENGTH and written.isascii() and written.isdigit():
            return written  # its own term, and it rarely repeats
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
    """Return the terms of a language's function words."""
    return frozenset(" ".join(map(_memo(language, automatic).__getitem__, function_words(language))).split())


def _terms(word: str, language: str, automatic: bool) -> list[str]:
    """Return the stems of a word's parts, then its whole forms."""
    parts, whole = forms(word)
    terms: list[str] = []
    for part in parts:
        stems = [_stem(part, each) for each in _detect_languages(part, language, automatic)]
        terms += stems[:1] if stems[0] == stems[-1] else stems
    return [*terms, *whole]


def _detect_languages(part: str, language: str, automatic: bool) -> tuple[str, ...]:
    """Return the languages to stem a part by: the given one, or those of script and text, and English."""
    if not automatic:
        return (language,)
    code = ord(part[0])
    if code >= 0x370:
        for by_script, start, end in _SCRIPTS:
            if start <= code < end:
                return (by_script,)
    return (DEFAULT,) if language == DEFAULT else (language, DEFAULT)


def _stem(part: str, language: str) -> str:
    """Stem a part. English stems the folded word, other languages the written one: their rules need the accents."""
    if language == DEFAULT:
        return _stemmer(language)(fold(part))
    return fold(_stemmer(language)(part.casefold()))


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    """Return the Snowball stemmer of a language; for languages without one, words stay as they are."""
    if language not in STEMMERS:
        return str
    import Stemmer

    stem: Callable[[str], str] = Stemmer.Stemmer(STEMMERS[language], 0).stemWord
    return stem
