"""Questions that name a document: the name selects the document, the rest of the question the passage inside it.

"Consider the merger agreement between A and B; what is …", "In the 2023 report of X, …", "… according to policy.pdf?".
A clause counts as a name only if a few documents have most of its terms in their title, their file name or a single
passage: the first page of an agreement, for example, lists its parties.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from footnotes.retrieve.fuse import Floats
from footnotes.store import SearchView
from footnotes.store.lexemes import defined, whole_term
from footnotes.store.naming import label_of
from footnotes.store.records import StoredHit
from footnotes.store.views import Candidates, Question, Symbols
from footnotes.store.weights import rarity
from footnotes.text.analysis import analyze, analyze_question
from footnotes.types import AllOf, Condition, Filter, Hit

DEPTH = 50
READ = 24
BESIDE_NAMES = 0.3
"""The weight of an ordinary word of a clause; a name has weight 1."""
COVERED = 0.6
"""The share of a clause's terms, weighted by rarity, that a named document must have."""
BESIDE_THE_BEST = 0.85
"""Documents with this share of the best one's match are named as well."""
REASON = "the question names its document"
_APART = 0.01
MOST_DOCUMENTS = 4
"""A clause that matches more documents names none."""

_KINDS = (
    r"agreements?|contracts?|polic(?:y|ies)|reports?|filings?|papers?|articles?|letters?|memos?|memorandum|statements?"
    r"|handbooks?|manuals?|guides?|leases?|plans?|acts?|minutes|presentations?|documents?|files?|books?|chapters?|notes?"
    r"|invoices?|proposals?|specifications?|standards?|regulations?|decisions?|judge?ments?|deeds?|licen[cs]es?|terms"
    r"|10-?[kq]|8-?k|prospectus|transcripts?|releases?|pages?|sheets?|slides|e-?mails?|study|studies|thesis|patents?"
)
_FILE = r"[\w()-][\w .()&-]{0,80}\.(?:pdf|docx?|xlsx?|pptx?|md|txt|html?|csv|eml|json|ya?ml|rst|odt|epub)\b"
_KIND = re.compile(rf"\b(?:{_KINDS})\b|{_FILE}", re.IGNORECASE)
_OPENS = (
    r"(?:consider(?:ing)?|in|according to|as per|per|from|under|regarding|concerning|based on|within|for|about|given)"
)
_BEFORE = re.compile(rf"^\s*{_OPENS}\s+(?P<clause>.{{3,300}}?)[;:]\s+(?P<rest>\S.{{7,}})$", re.I | re.S)
# A comma may be part of the name: "between Mining, Inc. and Holding, Inc., may …".
_BEFORE_COMMA = re.compile(
    rf"^\s*{_OPENS}\s+(?P<clause>.{{3,300}}?),\s+"
    r"(?!(?:and|inc|corp|ltd|llc|llp|lp|co|plc|ag|gmbh|sa|nv|\d{4})\b)(?P<rest>\S.{7,})$",
    re.I | re.S,
)
_AFTER = re.compile(
    r"^(?P<rest>.{8,}?)\s+(?:in|under|according to|as per|per|from|of|within|by)\s+"
    r"(?P<clause>(?:the|our|my|this)\s.{3,200}?)\s*[?.!]*$",
    re.I | re.S,
)
_PROPER = re.compile(r"(?<=\w )[A-Z][\w&-]+")
_KIND_WORD = re.compile(rf"\b(?:{_KINDS})\b", re.IGNORECASE)
_TELLING = re.compile(rf"(?:(?<=[\"“‘«])[^\"”’»]+(?=[\"”’»]))|\b[A-Z][\w&.'’-]*|\b\w*\d[\w-]*|{_FILE}")
_SPECIFIC = re.compile(rf"[\"“‘«]|\b(?!(?:I|I'm)\b)[A-Z][\w&.'’-]*|\d{{2,}}|{_FILE}")


@dataclass(frozen=True, slots=True)
class Named:
    """A clause that may name a document, and the rest of the question."""

    clause: str
    rest: str


def naming(question: str) -> Named | None:
    """Find the clause of a question that says which document to search; None if it has none."""
    for pattern in (_BEFORE, _BEFORE_COMMA, _AFTER):
        found = pattern.match(question)
        if found is None or not _KIND.search(found["clause"]) or not _SPECIFIC.search(found["clause"]):
            continue
        if analyze_question(found["rest"]):
            return Named(found["clause"], found["rest"].strip())
    return None


def documents_named(view: SearchView, named: Named, where: Filter | None) -> tuple[str, ...]:
    """Return the ids of the documents that a clause names; none if it matches none or too many."""
    terms, chunks = _term_weights(named.clause), view.chunk_count()
    if not terms:
        return ()
    # A term that no chunk has counts as the rarest, so a clause about an absent document matches none.
    weights = {term: weight * rarity(chunks, view.document_frequency(term)) for term, weight in terms.items()}
    query = Question(terms=terms, vector=None, depth=DEPTH, where=where, reading=READ)
    found = view.candidates(query)
    shares: dict[str, float] = {}
    labels: dict[str, set[str]] = {}
    for row in view.hits(list(found.keys)[:READ]):
        labels.setdefault(row.document_id, set(analyze(label(row))))
        shares[row.document_id] = max(shares.get(row.document_id, 0.0), _share(row, weights))
    best = max(shares.values(), default=0.0)
    if best < COVERED:
        return ()
    documents = [document for document, share in shares.items() if share >= BESIDE_THE_BEST * best]
    by_label = {document for document in documents if labels[document] & _names(named.rest)}
    documents = [document for document in documents if document in by_label] or documents
    return tuple(documents) if len(documents) <= MOST_DOCUMENTS else ()


def _names(text: str) -> set[str]:
    """Return the terms of the proper names in a text: "… did Amazon disclose in the report"."""
    return set(analyze(" ".join(_PROPER.findall(text))))


def before_others(inside: Sequence[Hit], others: Sequence[Hit]) -> tuple[Hit, ...]:
    """Put hits of the named documents above all others."""
    lift = max((hit.score for hit in others), default=0.0) - min(hit.score for hit in inside) + _APART
    return (*(_lift(hit, max(lift, 0.0)) for hit in inside), *others)


def _lift(hit: Hit, lift: float) -> Hit:
    scores = replace(hit.scores, boost=hit.scores.boost + lift, reason=hit.scores.reason or REASON)
    return replace(hit, score=hit.score + lift, scores=scores)


def within(documents: Sequence[str], where: Filter | None) -> Filter:
    """Restrict a filter to these documents."""
    inside = Condition("document_id", "in", list(documents))
    return inside if where is None else AllOf((where, inside))


def _term_weights(clause: str) -> Mapping[str, float]:
    """Return a weight per term of a clause: 1 for names, numbers and quotes, less for others, none for its kind."""
    kinds = set(analyze(" ".join(_KIND_WORD.findall(clause))))
    specific = set(analyze(" ".join(match[0] for match in _TELLING.finditer(clause))))
    terms = [term for term in dict.fromkeys(analyze_question(clause)) if term not in kinds]
    return {term: 1.0 if term in specific else BESIDE_NAMES for term in terms}


def _share(row: StoredHit, weights: Mapping[str, float]) -> float:
    has = {*analyze(label(row)), *analyze(row.text)}
    return sum(weight for term, weight in weights.items() if term in has) / sum(weights.values())


def label(row: StoredHit) -> str:
    """Return a document's title and the words of its file name."""
    return label_of(row.title, row.filename)


# ── detects from a library's words whether it is source code or prose, because words weigh differently in each


_IN_MOST = ("return",)
_IN_MANY = ("def", "self", "null", "int", "const", "func", "fn", "void", "static")
_MOST, _MANY = 0.15, 0.1
"""Shares of the chunks. Tax returns contain the first word often too, but hardly any of the others."""


class Nature:
    """Caches the result until the library has about twice or half as many chunks."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], bool] = {}

    def is_code(self, view: SearchView, chunks: int) -> bool:
        key = (view.fingerprint, chunks.bit_length())
        if key not in self._known:
            self._known[key] = _has(view, _IN_MOST, _MOST * chunks) and _has(view, _IN_MANY, _MANY * chunks)
        return self._known[key]


def _has(view: SearchView, terms: tuple[str, ...], least: float) -> bool:
    return any(view.document_frequency(term) >= max(1.0, least) for term in terms)


# Names of code in a question: definitions come first, then uses, then everything else.
#
# A question without such names, or whose names the library does not define, is not changed.


MOST_NAMES = 16
DEFINES, USES = 2, 1
"""The gap between uses and the rest, added to the range of the scores."""

_PART = r"[^\W\d][\w$]*"
_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_NAME = re.compile(rf"(?<![\w.$/@-])((?:{_PART})(?:(?:\.|::|->|#)(?:{_PART}))*)(?![\w$@])(\([^()\s]*\))?")
_JOINTS = re.compile(r"::|->|#")
_SNAKE = re.compile(r"[^\W_]_+[^\W_]|^_+[^\W_]|[^\W_]__$")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]{2,}")


@dataclass(frozen=True, slots=True)
class Asked:
    """A name as written, and the bare name to try if nothing defines the full one."""

    name: str
    bare: str = ""


def find_names(question: str) -> tuple[Asked, ...]:
    """Find the names in a question: backticked, called, dotted, in snake_case or camelCase."""
    found = dict.fromkeys([*_find_quoted(question), *_find_unquoted(_QUOTED.sub(" ", question))])
    return tuple(found)[:MOST_NAMES]


def symbols_of(names: Sequence[Asked]) -> Symbols:
    """Return what a store should look up for the names."""
    spellings = dict.fromkeys([*(asked.name for asked in names), *(asked.bare for asked in names if asked.bare)])
    return Symbols(tuple(spellings), tuple(dict.fromkeys(term for name in spellings if (term := whole_term(name)))))


def _find_quoted(question: str) -> Iterator[Asked]:
    for match in _QUOTED.finditer(question):
        name = _NAME.fullmatch(match[1].strip())
        if name is not None:
            yield _build_name(name[1], sure=True)


def _find_unquoted(question: str) -> Iterator[Asked]:
    for match in _NAME.finditer(question):
        name, called = match.groups()
        parts = _JOINTS.sub(".", name).split(".")
        dotted = len(parts) > 1 and all(len(part) > 1 for part in parts)
        telling = _is_telling(parts[-1])
        if called or telling or dotted:
            yield _build_name(name, sure=bool(called) or telling or name[0].isupper())


def _is_telling(part: str) -> bool:
    """Return whether a word can hardly be anything but a name of code."""
    return bool(_SNAKE.search(part) or _CAMEL.search(part))


def _build_name(name: str, *, sure: bool) -> Asked:
    name = _JOINTS.sub(".", name)
    bare = name.rpartition(".")[2]
    return Asked(name, bare if sure and bare != name else "")


# ── boosts for candidates


@dataclass(frozen=True, slots=True)
class Boosts:
    """Additions to the scores of candidates, and the reasons, by key."""

    added: Mapping[int, float]
    reasons: Mapping[int, str]


def boosts(view: SearchView, names: Sequence[Asked], found: Candidates, scores: Floats) -> Boosts:
    """Return boosts that put every definition above every use, and every use above the rest."""
    defines = _definitions(view, names, found.defining)
    if not defines:
        return Boosts({}, {})
    step = float(np.ptp(scores)) + _APART
    uses = found.using - defines.keys()
    listing = " or ".join(asked.name for asked in names)
    reasons = dict.fromkeys(uses, f"uses {listing}") | {key: f"defines {name}" for key, name in defines.items()}
    return Boosts({key: step * (DEFINES if key in defines else USES) for key in reasons}, reasons)


def _definitions(view: SearchView, names: Sequence[Asked], keys: Sequence[int]) -> dict[int, str]:
    """Return the name that each chunk defines: the full name, or the bare one if no chunk defines the full one."""
    defined_in = {row.key: frozenset(defined(row.metadata)) for row in view.hits(keys)}
    found: dict[int, str] = {}
    for asked in names:
        for name in filter(None, (asked.name, asked.bare)):
            chunks = [key for key, known in defined_in.items() if name in known]
            found |= {key: name for key in chunks if key not in found}
            if chunks:
                break
    return found
