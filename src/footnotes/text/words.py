"""One written word → the forms it is found by, before stemming.

A plain word is its own form. An identifier is found whole and by its parts, a number by its value however its
digits are grouped, a run of Chinese, Japanese, Korean or Thai by its pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

LONGEST = 64
"""A longer run without a break is no word: it is found by its beginning."""

# Over a word's shape: A capital, a small, x caseless, 0 digit. `RNAs` is RNA, `HTTPServer2` is three parts.
_HUMPS = re.compile(r"A{2,}(?=s?(?![as]))|A?[as]+|A|0+(?:\.0+)*|x+")
_JOINTS = re.compile(r"(?<!\d)[._&,]+|[._&,]+(?!\d)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)+\Z")
_GROUPED = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*(?:[.,]\d+)?\Z")
_CONTRACTED = {"t", "ll", "re", "ve", "m", "d"}
_UNDECOMPOSED = str.maketrans({"ı": "i", "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"})
# Scripts without spaces: East Asian ones, and Thai and its like, where marks sit on the letters.
_EAST_ASIAN = (
    r"\u1100-\u11ff\u3005-\u3007\u3040-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
_PAIRED = re.compile(f"[{_EAST_ASIAN}]")
_UNSPACED = re.compile(rf"([{_EAST_ASIAN}]+|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+)")


def forms(word: str) -> tuple[list[str], list[str]]:
    """The parts a word is stemmed by, and the whole forms it is also found by: folded, not to be stemmed."""
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
    """A run of a script without spaces → its neighbouring characters two by two; a single one stands alone."""
    characters = run if _PAIRED.match(run) else _clusters(run)
    return [], [first + second for first, second in pairwise(characters)] or list(characters)


def fold(word: str) -> str:
    """Without case and accents. Marks that carry vowels (Indic scripts and their like) stay."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    kept = "".join(character for character in decomposed if not _is_accent(character))
    return unicodedata.normalize("NFKC", kept).translate(_UNDECOMPOSED)


def _is_accent(character: str) -> bool:
    """A combining mark of a script whose readers can do without it: Latin, Greek, Cyrillic, Hebrew, Arabic."""
    return unicodedata.combining(character) != 0 and character < "\u0700"


def _is_plain(word: str) -> bool:
    """Letters only, in one case or capitalised."""
    return word.isalpha() and (word[1:].islower() or word.islower() or (word.isupper() and word.isascii()))


def is_plain_ascii(word: str) -> bool:
    """Whether a word is plain and in ASCII, as nearly all of English are: its only form is itself."""
    return word.isascii() and _is_plain(word)


def _compound(word: str) -> tuple[list[str], list[str]]:
    """Identifiers, dotted names, numbers, contractions: everything that is more than letters in one case."""
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
    """`company's` → company; `don't` stays; `l'avion`, `O'Brien` → both sides."""
    *heads, tail = [side for side in word.split("'") if side]
    if heads and tail in _CONTRACTED:
        return [word[:LONGEST]], []
    sides = heads if tail in ("s", "S") else [*heads, tail]
    return [hump[:LONGEST] for side in sides for piece in _JOINTS.split(side) for hump in _humps(piece)], []


def _humps(piece: str) -> list[str]:
    """`HTTPServer2` → HTTP, Server, 2. Single letters of a mixed-case name (`iPhone`) are not worth a term."""
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
    """`1,000` → `1000`; `3,5` → `3.5`; `1.000`, which may be either, → itself and `1000`; `1.2.3` → itself."""
    grouped = _GROUPED.match(digits)
    if grouped is None:
        return [digits.replace(",", ".")] if digits.count(",") == 1 else digits.split(",")
    value = digits.replace(grouped[1], "").replace(",", ".")
    ambiguous = grouped[1] == "." and digits.count(".") == 1 and "," not in digits
    return [digits, value] if ambiguous else [value]


def _clusters(run: str) -> list[str]:
    """Characters with the marks that sit on them."""
    found: list[str] = []
    for character in run:
        if found and unicodedata.category(character).startswith("M"):
            found[-1] += character
        else:
            found.append(character)
    return found
