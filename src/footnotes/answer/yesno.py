"""Questions for yes or no: the word before the sentence, only where the sentence and the verifier say it."""

from __future__ import annotations

import re

from footnotes.answer.denial import denied_otherwise
from footnotes.answer.plain import plain_text
from footnotes.answer.questions import form_of
from footnotes.answer.reader import Reader

YES, NO = "Yes: ", "No: "
SURE, SURELY_NOT = 0.8, 0.6
"""How likely the verifier must hold "… ? Yes." for supported to say yes, and for contradicted to say no."""
_ALTERNATIVE = re.compile(r"\bor\b(?! not\b)|\b(?:what|which|who|how|why|when|where)\b", re.IGNORECASE)
_DENIES = re.compile(
    r"\b(?:no|not|never|cannot|neither|without|no longer|dropped|removed|instead of)\b|n['’]t\b", re.IGNORECASE
)


def answered_by(question: str, sentence: str, reader: Reader | None) -> str:
    """`Yes: `, `No: `, or nothing where the sentence is not known to say either."""
    if reader is None or form_of(question) != "yesno" or _ALTERNATIVE.search(question):
        return ""
    said = plain_text(sentence)
    (verdict,) = reader.verify([(said, f"{question.strip().rstrip('?')}? Yes.")])
    denied = denied_otherwise(question, said)
    if verdict.supported >= SURE and not denied and not _DENIES.search(said):
        return YES
    if verdict.contradicted >= SURELY_NOT and (denied or _DENIES.search(said)):
        return NO
    return ""
