"""Answers yes or no: puts the word before the sentence only if the sentence and the verifier agree."""

from __future__ import annotations

import re

from footnotes.answer.denial import denied_otherwise
from footnotes.answer.plain import plain_text
from footnotes.answer.questions import form_of
from footnotes.answer.reader import Reader
from footnotes.answer.terms import function_terms
from footnotes.text.analysis import analyze

YES, NO = "Yes: ", "No: "
SURE, UNSURE, ABOUT = 0.6, 0.4, 0.7
"""The likelihood that "… ? Yes." is supported from which the answer is yes, the one below which it is no, and the share
of the question's words that the sentence must have for either."""
_ALTERNATIVE = re.compile(r"\bor\b(?! not\b)|\b(?:what|which|who|how|why|when|where)\b", re.IGNORECASE)
_DENIES = re.compile(
    r"\b(?:no|not|never|cannot|neither|without|no longer|dropped|removed|instead of)\b|n['’]t\b", re.IGNORECASE
)


def answered_by(question: str, sentence: str, reader: Reader | None) -> str:
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
