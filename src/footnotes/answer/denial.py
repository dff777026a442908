# ruff: noqa: SIM905 (lists of words read better as prose)
"""Detects that one of two texts denies, or turns into its opposite, what the other states."""

from __future__ import annotations

import re
from functools import lru_cache

from footnotes.answer.order import opposite_in_place
from footnotes.answer.plain import plain_text
from footnotes.answer.questions import FUNCTION_WORDS, form_of
from footnotes.answer.reader import Reader
from footnotes.answer.terms import function_terms
from footnotes.text.analysis import analyze

_NEGATIONS = frozenset(
    "not no never none nothing neither nor nobody nowhere without cannot hardly scarcely lack lacks lacked lacking"
    " unable fails fail failed refuse refused refuses nicht kein keine keinen keinem keiner keines nie niemals ohne"
    " nunca jamás sin ningún ninguna tampoco pas jamais aucun aucune sans".split()
)
_OPPOSITES = (
    "increase increased increases increasing rise rose risen grew grow grown higher more above maximum most"
    " ~ decrease decreased decreases decreasing fall fell fallen shrank decline declined lower less fewer below"
    " minimum least",
    "before prior earlier ~ after later following",
    "allowed permitted legal accepted approved ~ forbidden prohibited banned illegal rejected denied",
    "include includes included including ~ exclude excludes excluded excluding",
    "win won wins gained success succeeded ~ lose lost loses failure",
    "oldest earliest ~ latest newest",
    "largest biggest highest longest best ~ smallest lowest shortest worst",
    "always ~ never sometimes",
    "north northern ~ south southern",
    "east eastern ~ west western",
    "true correct ~ false incorrect wrong",
    "open opened opens ~ close closed closes",
)
_POLES = [tuple(frozenset(pole.split()) for pole in pair.split("~")) for pair in _OPPOSITES]
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d[\w.,]*")
_SCOPE = 4
"""How many content words a negation may reach."""


def denied_otherwise(claim: str, source: str) -> bool:
    """Return whether one of the two denies, or turns into its opposite, what the other states."""
    here, there = _polarity(claim), _polarity(source)
    shared = here.keys() & there.keys()
    denied_here = [term for term in shared if here[term]]
    agreed = bool(denied_here) and all(there[term] for term in denied_here)
    turned = [term for term in shared if here[term] != there[term]]
    if not agreed and any(_is_about(here, there, term) for term in turned):
        return True
    return _opposed(_words(claim), _words(source)) or opposite_in_place(claim, source)


@lru_cache(maxsize=4_096)
def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower().replace("’", "'") for word in _WORD.findall(text))


@lru_cache(maxsize=4_096)
def _polarity(text: str) -> dict[str, bool]:
    """Map every content term of a text to whether a negation precedes it within a few words."""
    found: dict[str, bool] = {}
    left = 0
    for word in _WORD.findall(text):
        lowered = word.lower().replace("’", "'")
        if lowered in _NEGATIONS or lowered.endswith("n't"):
            left = _SCOPE
        elif lowered not in FUNCTION_WORDS:
            for term in analyze(word, "en"):
                found[term] = found.get(term, False) or left > 0
            left -= 1
    return found


def _is_about(here: dict[str, bool], there: dict[str, bool], term: str) -> bool:
    """Return whether the text that denies the term mostly denies what the other is about."""
    denier, other = (here, there) if here[term] else (there, here)
    denied = [each for each, negated in denier.items() if negated]
    return sum(each in other for each in denied) >= 0.5 * len(denied)


def _opposed(here: frozenset[str], there: frozenset[str]) -> bool:
    for one, other in _POLES:
        for mine, theirs in ((one, other), (other, one)):
            if here & mine and not here & theirs and there & theirs and not there & mine:
                return True
    return False


# ── answers yes or no: puts the word before the sentence only if the sentence and the verifier agree ──────────


YES, NO = "Yes: ", "No: "
SURE, UNSURE, ABOUT = 0.6, 0.4, 0.7
"""The likelihood that "… ? Yes." is supported from which the answer is yes, the one below which it is no, and the share
of the question's words that the sentence must have for either."""
_ALTERNATIVE = re.compile(r"\bor\b(?! not\b)|\b(?:what|which|who|how|why|when|where)\b", re.IGNORECASE)
_DENIES = re.compile(
    r"\b(?:no|not|never|cannot|neither|without|no longer|dropped|removed|instead of)\b|n['’]t\b", re.IGNORECASE
)


def yes_or_no(question: str, sentence: str, reader: Reader | None) -> str:
    """Return `Yes: `, `No: `, or nothing if the sentence does not clearly say either."""
    if reader is None or form_of(question) != "yesno" or _ALTERNATIVE.search(question):
        return ""
    said = plain_text(sentence)
    asked = {term for term in analyze(question, "en") if term not in function_terms()}
    if not asked or len(asked & set(analyze(said, "en"))) < ABOUT * len(asked):
        return ""
    (verdict,) = reader.verify([(said, f"{question.strip().rstrip('?')}? Yes.")])
    denies = bool(_DENIES.search(said)) or denied_otherwise(question, said)
    if denies:
        return NO if verdict.supported < UNSURE else ""
    return YES if verdict.supported >= SURE else ""
