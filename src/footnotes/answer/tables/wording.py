# ruff: noqa: E501, SIM905 (patterns and lists of words read better whole)
"""Parses a question about a table: the operation, and its terms, years and bounds."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from footnotes.answer.tables.values import years_in
from footnotes.answer.terms import function_terms
from footnotes.text.analysis import analyze

Operation = Literal["lookup", "count", "sum", "average", "difference", "growth", "ratio", "share", "most", "least"]

_OPERATIONS: tuple[tuple[Operation, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))  # type: ignore[misc]
    for name, pattern in (
        ("growth", r"\b(?:percent(?:age)?|%)\s*(?:\w+\s+)?(?:change|increase|decrease|growth|decline|drop)|\b(?:change|growth) \(%\)|\bgrowth rate\b"
         r"|\b(?:year[- ]over[- ]year|yoy)\b.{0,20}\b(?:change|growth|increase|decrease)\b|\bgrow(?:th|n)?\b.{0,40}\bpercent"
         r"|\bby (?:what|how many) percent"),
        ("ratio", r"\bratio of\b|\bdivided by\b|\bproportion\b.{3,90}\b(?:over|to)\b|\bas a proportion of\b|\bhow many times (?:more|larger|higher|greater|as)\b"),
        ("share", r"\b(?:what|which) (?:percent(?:age)?|proportion|share|fraction) of\b"
         r"|\bas an? (?:percent(?:age)?|share) of\b|\bproportion of\b|\bpercentage of .{3,60} (?:over|to|among)\b"),
        ("average", r"\baverage\b|\bmean\b"),
        ("difference", r"\b(?:change|difference|increase|decrease|decline|drop|rise)\b.{0,80}\b(?:between|from|over|compared|versus)\b"
         r"|\bdifference\b|\bhow (?:much|many) (?:more|less|fewer|higher|lower|greater|longer|larger|bigger|taller)\b|\bwhat (?:is|was) the (?:change|increase|decrease)\b"),
        ("count", r"\bhow many (?:different |other |total )?(?!more\b|less\b|fewer\b|points\b|times\b)(?:\w+)|\bnumber of\b|\bcount\b"),
        ("most", r"\bwhich (?:fiscal )?(?:year|fy|period)\b.*\b(?:larger|higher|greater|more)\b|\b(?:highest|largest|most|greatest|maximum|max|biggest|longest|top|best|tallest|heaviest|oldest|latest|last|final)\b"),
        ("least", r"\bwhich (?:fiscal )?(?:year|fy|period)\b.*\b(?:smaller|lower|less|fewer)\b|\b(?:lowest|smallest|least|minimum|min|fewest|shortest|worst|youngest|earliest|first)\b"),
        ("sum", r"\b(?:total|sum|combined|altogether|overall)\b"),
    )
)  # fmt: skip
_BOUND = re.compile(
    r"\b(?P<how>at least|at most|more than|greater than|larger than|higher than|over|above|exceed(?:s|ed|ing)?|less than|fewer than"
    r"|lower than|under|below|before|after|since|prior to|up to)\s+(?P<number>[$€£]?\s?[\d,]+(?:\.\d+)?)"
    r"|(?P<least>[\d,]+(?:\.\d+)?) or (?:more|above|better|higher|greater|later)|(?P<most>[\d,]+(?:\.\d+)?) or (?:less|fewer|below|lower|earlier)",
    re.IGNORECASE,
)
_QUARTER = re.compile(
    r"\b(?:(?:latest|(?:most )?recent|last|current|first|second|third|fourth|fiscal) )*(?:quarter(?:ly|s)?|Q[1-4]|10-Q)\b(?: (?:report|filing|10-Q|results)\b)?",
    re.IGNORECASE,
)
_UPPER = ("less", "fewer", "lower", "under", "below", "before", "at most", "prior", "up to")
_SYNONYMS = {
    "capital expenditure": "purchases of property plant and equipment", "capex": "purchases of property plant and equipment",
    "ppne": "property plant and equipment net", "pp&e": "property plant and equipment", "cogs": "cost of sales goods sold",
    "revenue": "net sales", "sg&a": "selling general and administrative", "r&d": "research and development",
    "eps": "earnings per share", "net income": "net earnings",
}  # fmt: skip
"""Other names of lines in every annual report."""
_OF_THE_TASK = frozenset(
    "percentage percent change increase decrease difference ratio average mean total sum number amount value values respective respectively"
    " highest largest most greatest lowest smallest least year years fiscal fy between from compared company many much table count"
    " spend spent end reported report reports filing stated shown revealed generated recorded million millions thousand thousands billion usd answer question following using based shown round decimal places".split()
)


@dataclass(frozen=True)
class Wording:
    """A parsed question about a table."""

    text: str
    operation: Operation
    terms: frozenset[str]
    years: tuple[str, ...]
    bound: Callable[[float], bool] | None = None
    bound_text: str = ""
    sides: tuple[str, ...] = ()
    quarterly: bool = False

    @property
    def otherwise(self) -> list[tuple[frozenset[str], frozenset[str]]]:
        """Terms of the question, with those that reports use instead."""
        return [(terms_of(name), terms_of(other)) for name, other in lines_named(self.text)]

    @property
    def content(self) -> frozenset[str]:
        """The terms of the subject, without those of the operation."""
        return self.terms - _task_terms()


def wording_of(question: str) -> Wording:
    operation: Operation = next((name for name, pattern in _OPERATIONS if pattern.search(question)), "lookup")
    bound = _BOUND.search(question)
    quarter = _QUARTER.search(question) is not None
    return Wording(
        question,
        operation,
        terms_of(_QUARTER.sub(" ", question)),
        tuple(years_in(question)),
        _within(bound) if bound else None,
        bound[0] if bound else "",
        _sides(question),
        quarter,
    )


def _within(found: re.Match[str]) -> Callable[[float], bool]:
    number = float(re.sub(r"[^\d.]", "", found["number"] or found["least"] or found["most"]).rstrip(".") or 0)
    how = (found["how"] or ("at least" if found["least"] else "at most")).lower()
    if how in ("at least", "since"):
        return lambda value: value >= number
    if how in ("at most", "up to"):
        return lambda value: value <= number
    return (lambda value: value < number) if how.startswith(_UPPER) else (lambda value: value > number)


_END = r"(?=\s+(?:in|for|as of|at|during|of the year)\s+(?:the\s+)?(?:fiscal\s+|year\s+|both\s+|FY\s*|December|end|'?\d)|[?]|[,.]\s|[,.]?\Z)"
_SIDES = tuple(
    re.compile(pattern + _END, re.IGNORECASE)
    for pattern in (
        r"\b(?:between|ratio of|proportion of|percentage of|difference of)\s+(?:the\s+)?(?P<one>[^?]+?)\s+(?:and|to|over|divided by)\s+(?:the\s+)?(?P<other>[^,?]+?)",
        r"\b(?:is|was|were|are)\s+(?:the\s+)?(?P<one>[^?]+?)\s+as an? \w+ of\s+(?:the\s+)?(?P<other>[^,?]+?)",
        r"\b(?:total|sum of|average|combined)\s+(?:of\s+)?(?:the\s+)?(?P<one>[^?,]+?)\s+and\s+(?:the\s+)?(?P<other>[^,?]+?)",
        r"\b(?:percentage|percent|proportion|share|fraction) of\s+(?:the\s+)?(?P<other>[^?]+?)\s+(?:is|was|were|are|comes? from|came from|does|did)\s+(?:the\s+)?(?P<one>[^,?]+?)",
    )
)


def _sides(question: str) -> tuple[str, ...]:
    """Return the two things a question compares, if they are not years."""
    for pattern in _SIDES:
        found = pattern.search(question)
        sides = (found["one"].strip(), found["other"].strip()) if found else ()
        if sides and not any(years_in(side) for side in sides) and all(terms_of(side) for side in sides):
            return sides
    return ()


def lines_named(text: str) -> list[tuple[str, str]]:
    """Return the names in a text that differ from those in annual reports, with theirs."""
    lowered = text.lower()
    return [(name, other) for name, other in _SYNONYMS.items() if re.search(rf"(?<!\w){re.escape(name)}", lowered)]


def line_asked(question: str) -> str:
    """Return what to search in a report if a question asks for a figure of a year, else nothing."""
    years = years_in(question)
    named = " ".join(other for _, other in lines_named(question))
    words = named or re.sub(r"\([^()]*\)|(?<=\s)(?:[A-Z][\w&-]+|\d+[A-Z]\w*)(?:['’]s)?", " ", question)
    return f"{words} {' '.join(years)}" if years else ""


@lru_cache(maxsize=20_000)
def terms_of(text: str) -> frozenset[str]:
    """Return the content terms of a text, with the years it names."""
    every = analyze(text, "en")
    said = frozenset(term for term in every if term not in function_terms())
    return (said or frozenset(every)) | frozenset(years_in(text))


@lru_cache(maxsize=1)
def _task_terms() -> frozenset[str]:
    return frozenset(analyze(" ".join(_OF_THE_TASK), "en"))
