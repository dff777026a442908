# ruff: noqa: E501, SIM905 (patterns and lists of words read better whole)
"""Finds the reports that a question means: by company, and by year, quarter or the latest."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from footnotes.answer.asking.names import document_names, words_joined
from footnotes.types import AnyOf, Condition

_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_QUARTER = re.compile(
    r"\b(?:FY)?(?P<y1>(?:20)\d\d)[ _-]?Q(?P<q1>[1-4])(?!\d)|\bQ(?P<q2>[1-4])[ _'’-]?(?:of |fiscal |FY)*[ _]?(?P<y2>20\d\d)"
    r"|\b(?P<q3>first|second|third|fourth) (?:fiscal )?quarter (?:of )?(?:fiscal )?(?:year )?(?P<y3>20\d\d)",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<!\d)(?:FY ?)?(20\d\d)(?!\d)")
_NEWEST = re.compile(r"\b(?:latest|most recent|newest|last reported)\b", re.IGNORECASE)
_SEVERAL = re.compile(
    r"\bover time\b|\b(?:over|across|between|throughout|these|those|reported|previous|prior|each) (?:\w+ ){0,2}(?:quarters|periods?|10-[QK]s|reports|filings|ones)\b"
    r"|\b(?:quarters|10-[QK]s|periods)\b",
    re.IGNORECASE,
)
"""Matches a question for several reports."""
_DATE = re.compile(r"\b([A-Z][a-z]{2,8}\.? \d{1,2}, (?:19|20)\d\d)\b")
_FORM = frozenset("q1 q2 q3 q4 fy form report annual quarterly inc corp corporation company sec item part note".split())
_NO_NAME = re.compile(r"(?:fy|q)*\d+(?:q\d)?|(?:fy|q)\d\w*|\d+-?[qk]|.*(?:form|form10q|form10k)")
MOST = 0.5
"""The maximum share of a library's reports with a name that identifies a company, if they are of several companies."""

MOST_NAMES, MOST_MEANT = 15, 80
"""Names in a question and reports it means, at most, that a filter has room for beside the caller's own conditions."""

Period = tuple[int, int]
"""A year and its quarter; 0 for the whole year."""


@dataclass(frozen=True, slots=True)
class Report:
    """The names of a document."""

    id: str
    filename: str
    title: str

    @property
    def periods(self) -> frozenset[Period]:
        """Return its periods, by its file name, else by its title."""
        return periods_in(self.filename.replace("_", " ")) or periods_in(self.title)

    @property
    def is_dated(self) -> bool:
        return bool(self.periods) or _DATE.search(self.title) is not None

    @property
    def dated(self) -> str:
        """Return a text that sorts by the date in its title, else by its period."""
        if found := _DATE.search(self.title):
            for form in ("%B %d, %Y", "%b %d, %Y", "%b. %d, %Y"):
                try:
                    return datetime.strptime(found[1], form).strftime("%Y-%m-%d")
                except ValueError:
                    continue
        year, quarter = max(self.periods, default=(0, 0))
        return f"{year}-{3 * (quarter or 4):02}-31"


def periods_in(text: str) -> frozenset[Period]:
    """Return the quarters in a text, and the years without one."""
    found, rest = set[Period](), text
    for match in _QUARTER.finditer(text):
        named = match.groupdict()
        year = next(value for key in ("y1", "y2", "y3") if (value := named[key]))
        quarter = next(value for key in ("q1", "q2", "q3") if (value := named[key])).lower()
        found.add((int(year), _ORDINALS.get(quarter) or int(quarter)))
        rest = rest.replace(match[0], " ")
    return frozenset(found | {(int(year), 0) for year in _YEAR.findall(rest)})


def any_name(names: Collection[str]) -> AnyOf:
    """Build a filter for documents with one of the names, in any spelling, in their file name or title."""
    written = [each for name in sorted(names) for each in (name, name.capitalize(), name.upper())]
    return AnyOf(tuple(Condition(key, "glob", f"*{each}*") for each in written for key in ("filename", "title")))


def names_asked(question: str) -> set[str]:
    """Return the names in a question that the file name or title of a report may use for its company."""
    return {name for name in document_names(question) if name not in _FORM and not _NO_NAME.fullmatch(name)}


def documents_meant(question: str, documents: Sequence[Report]) -> list[Report]:
    """Return the reports that a question means by a company's name, and by period if it names one."""
    reports = [each for each in documents if each.is_dated]
    companies = _of_companies(names_asked(question), reports)
    if not companies:
        return []
    asked = periods_in(question)
    if _NEWEST.search(question) and not asked and not _SEVERAL.search(question):
        newest = max(each.dated for each in companies)
        return [each for each in companies if each.dated == newest]
    return _of_periods(asked, companies) or companies


def of_the_latest_quarter(question: str, scope: Collection[str]) -> str:
    """Rewrite the question for the only report of its quarter, in which that is the latest quarter."""
    found = _QUARTER.search(question)
    return _QUARTER.sub("latest quarter", question) if found and len(scope) == 1 else question


def _of_companies(names: Collection[str], reports: Sequence[Report]) -> list[Report]:
    words = {each.id: words_joined(f"{each.filename} {each.title}") for each in reports}
    found: dict[str, Report] = {}
    for name in sorted(names):
        mine = [each for each in reports if name in words[each.id]]
        if mine and (len(mine) <= MOST * len(reports) or len(_owners(mine)) == 1):
            found |= {each.id: each for each in mine}
    return list(found.values())


def _owners(reports: Sequence[Report]) -> set[str]:
    """Return the companies of reports: the beginnings of their titles."""
    return {re.split(r"[,:|]| Form\b", each.title, maxsplit=1)[0].lower() for each in reports}


def _of_periods(asked: Collection[Period], reports: Sequence[Report]) -> list[Report]:
    """Return the reports of these periods: for a year alone those of the whole year, if there are any."""
    exact = [each for each in reports if each.periods & set(asked)]
    if exact:
        return exact
    years = {year for year, _ in asked}
    return [each for each in reports if years & {year for year, _ in each.periods}]
