"""The title of a document from its first page: its distinctive heading, not the boilerplate above it."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BOILERPLATE = re.compile(
    r"(?:the )?united states(?: of america)?(?: securities and exchange commission.*)?"
    r"|(?:u\.?s\.? )?securities and exchange commission.*|washington,? d\.?c\.?.*"
    r"|\(?mark one\)?|(?:table of )?contents|index|(?:strictly |private and )?confidential|execution (?:version|copy)"
    r"|(?:final |working )?draft|exhibit [\d.]+|appendix|page \d+.*|form \S+"
    r"|(?:annual|quarterly|current) report.*pursuant.*"
    r"|low|internal use only|for immediate release|copyright.*|[\W\d_]+",
    re.IGNORECASE,
)
_REGISTRANT = re.compile(
    r"([^\n]{3,100})\n[\s_—–-]*\(\s*exact name of\s+(?:the\s+)?(?:registrant|issuer)", re.IGNORECASE
)
_FORM = re.compile(r"\bform\s+(\d{1,2}-[A-Z]{1,2}(?:/A)?|[SF]-\d{1,2}|DEF 14A)\b", re.IGNORECASE)
_PERIOD = re.compile(
    r"\b(?:fiscal year|quarterly period|quarter|year|period)\s+ended:?\s+([A-Z][a-z]+\s+\d{1,2},\s+\d{4})"
    r"|date of report[^:\n]{0,60}:?\s*([A-Z][a-z]+\s+\d{1,2},\s+\d{4})",
    re.IGNORECASE,
)
_LONGEST = 200


def cover_title(headings: Sequence[str]) -> str | None:
    """Return the first heading that is not boilerplate; the first one if all are."""
    return next((each for each in headings if not is_boilerplate(each)), next(iter(headings), None))


def filing_title(page: str) -> str | None:
    """`Apple Inc., Form 10-Q, June 25, 2022`: who reports to the exchange commission, on which form, for which time."""
    registrant, form = _REGISTRANT.search(page), _FORM.search(page)
    if registrant is None or form is None:
        return None
    found = _PERIOD.search(page)
    said = [registrant[1].strip(" _\t"), f"Form {form[1].upper()}"]
    if found is not None:
        said.append(" ".join((found[1] or found[2]).split()))
    return ", ".join(said)[:_LONGEST]


def is_boilerplate(heading: str) -> bool:
    """Return whether a heading is boilerplate that many documents share."""
    return _BOILERPLATE.fullmatch(heading.strip(" .:_-–—*\t")) is not None
