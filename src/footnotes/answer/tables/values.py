"""Reads cells as numbers: `$ (1,577)` is minus 1577, `12.5 %` is 12.5, a dash is nothing."""

from __future__ import annotations

import re

_CURRENCY = r"(?:(?:US|A|C|NZ|HK|R)?[$€£¥₹]|USD|EUR|GBP|Rs\.?)?"
_NUMBER = re.compile(
    rf"{_CURRENCY}\s*(?P<open>[(\[])?\s*(?P<sign>[-−–+])?\s*{_CURRENCY}\s*(?P<minus>[-−–])?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"\s*(?P<unit>%|percent|pts?|bps|x|[kKmMbB]n?|million|billion|thousand)?\s*(?P<close>[)\]])?\s*"
    r"(?:%|\*|†|[a-z]\)|\(\d\)|\[\d+\])*"
)
_NOTHING = re.compile(r"[-–—−]+|n/?a|nil|nm", re.IGNORECASE)
_YEAR = re.compile(r"(?:FY|fiscal|fy)?\s*'?((?:1[6-9]|20)\d\d)(?:\s*[-/–]\s*\d\d(?:\d\d)?)?")
_SCALES = {"thousand": "thousands", "million": "millions", "billion": "billions"}
_SCALE = re.compile(
    r"\b(?:in|\$|£|€|us\$)?\s*(thousand|million|billion)s?\b|[$£€](?:'|’)?(000|m|mm|bn)\b|\b(?:rmb|usd|eur|gbp)\s?(m|mn)\b"
    r"|\((?:000s?|'000s?)\)",
    re.IGNORECASE,
)


def value_of(text: str) -> float | None:
    """Return the number in a cell; None for words. A dash is 0."""
    bare = text.strip()
    if _NOTHING.fullmatch(bare):
        return 0.0 if bare[0] in "-–—−" else None
    found = _NUMBER.fullmatch(bare)
    if found is None:
        return None
    value = float(found["digits"].replace(",", ""))
    signed = (found["sign"] or "+") != "+" or found["minus"]
    negative = bool(signed) or (found["open"] == "(" and bool(found["close"]))
    return -value if negative else value


def is_value(text: str) -> bool:
    return value_of(text) is not None


def is_year(text: str) -> bool:
    return _YEAR.fullmatch(text.strip()) is not None


def years_in(text: str) -> list[str]:
    """Return the years in a text, including `FY18` and `fiscal 2018`, in order."""
    found = []
    for match in re.finditer(r"(?<![\d,.])((?:1[6-9]|20)\d\d)(?![\d,]|\.\d)|\b(?:FY|F|Q[1-4] ?)'?(\d\d)\b", text):
        found.append(match[1] or "20" + match[2])
    return list(dict.fromkeys(found))


def scale_in(text: str) -> str:
    """Return the unit (thousands, millions) that a text gives its numbers, or nothing."""
    found = _SCALE.search(text)
    if found is None:
        return ""
    said = (found[1] or found[2] or found[3] or "000").lower()
    return _SCALES.get(said) or {"000": "thousands", "bn": "billions"}.get(said, "millions")


def format_number(value: float) -> str:
    """Format a computed number: with separated thousands and at most two decimals."""
    rounded = round(value, 2)
    return f"{int(rounded):,}" if rounded == int(rounded) else f"{rounded:,.2f}".rstrip("0")
