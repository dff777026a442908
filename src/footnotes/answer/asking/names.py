# ruff: noqa: E501, SIM905 (patterns and lists of words read better whole)
"""Finds other names for things in a question, and its parts that are not the question: how to answer, and for whom.

`MFA` is *multi-factor authentication* if the documents say so in brackets, if words in them have these initials and no
document has the letters, or if the user's list says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

from footnotes.answer.terms import function_terms
from footnotes.text.analysis import analyze
from footnotes.types import Document, Hit

Share = Callable[[str], float]
_LETTERS = re.compile(r"\b(?:[A-Z][a-z]?(?:&|[A-Z0-9]){1,6}|[A-Z][a-z]{0,2}[A-Z]\w{0,4})(?:s|['’]s)?(?=\W|\Z)")
_BRACKETED = r"((?:[\w&'’-]+[ \n]+){{1,8}})\(\s*[“\"'‘]?{letters}s?[”\"'’]?\s*\)"
_EXPLAINED = r"\b{letters}\s*\(([^()\n]{{4,60}})\)"
_WORD = re.compile(r"[^\W\d_][\w'’]*")
_JOINING = frozenset(("and", "of", "the", "for", "in", "to", "a", "an", "on"))
RARE = 0.01
"""Letters in more than this share of chunks are not replaced."""
LONGEST = 6
"""The maximum words that an abbreviation may stand for."""
_INSTRUCTS = re.compile(
    r"^\s*(?:please\s+)?(?:assume|give|answer|calculate|compute|address|round|use|respond|reply|base|express|report|state|provide"
    r"|if .{3,80}, (?:then )?please)\b(?=.*\b(?:answer|question|response|information|details|shown|statement|items|decimal|place"
    r"|analyst|asked|units?|terms|format|why|sentences?|words)\b)",
    re.IGNORECASE,
)
_LEADS_IN = re.compile(
    r"\b(?:question|following|statement|sheet|filing|report)\b[^:?]{0,60}:\s*(?=(?:what|which|who|how|when|is|are|did|was)\b)",
    re.IGNORECASE,
)
_FORMAT = re.compile(
    r"\s*\((?:please\s+)?(?:in|as|to|answer|round(?:ed)?|express(?:ed)?)\b[^()]*"
    r"\b(?:units?|percents?|percentages?|usd|dollars|thousands|millions|billions|decimals?|places?)\b[^()]*\)",
    re.IGNORECASE,
)
"""Matches a bracket that says in what form to answer."""
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")
_FISCAL = re.compile(r"\bFY\s?(?=(?:19|20)\d\d\b)|\bFY\s?'?(?=\d\d\b)")
_QUARTER = re.compile(
    r"\b(?:FY\s?)?(?P<first>(?:20)?\d\d)\s?Q(?P<one>[1-4])\b"
    r"|\bQ(?P<other>[1-4])(?:\s+of)?(?:\s+fiscal(?: year)?)?\s*(?:FY\s?)?['’]?(?P<last>20\d\d|(?<=['’Y ])\d\d)\b",
    re.IGNORECASE,
)
_ORDINALS = ("first", "second", "third", "fourth")


def _quarter(found: re.Match[str]) -> str:
    year = found["first"] or found["last"]
    number = int(found["one"] or found["other"])
    return f"{_ORDINALS[number - 1]} quarter {year if len(year) > 2 else '20' + year}"


def without_instructions(question: str) -> str:
    """Remove sentences that say how to answer; return the question itself if nothing would be left."""
    lead = _LEADS_IN.search(question)
    asked = question[lead.end() :] if lead else question
    kept = [part for part in _SENTENCE.split(asked) if not _INSTRUCTS.search(part)]
    found = _FORMAT.sub("", " ".join(kept)).strip()
    return found if found and analyze(found) else question


def without_fiscal(question: str) -> str:
    """Replace `FY2018` by its year, and `Q2 of FY2018`, `FY2018Q2` by its second quarter, as reports write it."""
    question = _QUARTER.sub(_quarter, question)
    return _FISCAL.sub(lambda match: "20" if re.match(r"\d\d\b", question[match.end() :]) else "", question)


def other_names(
    question: str, texts: Iterable[str], share: Share | None, groups: Sequence[Sequence[str]] = ()
) -> dict[str, str]:
    """Map names in the question to those in the documents."""
    joined = list(texts)
    found: dict[str, str] = {}
    for group in groups:
        said = next((name for name in group if re.search(rf"\b{re.escape(name)}\b", question, re.IGNORECASE)), None)
        other = next((n for n in group if n != said and any(n.lower() in text.lower() for text in joined)), None)
        if said and other and other.lower() not in question.lower():
            found[said] = other
    for letters in dict.fromkeys(re.sub(r"['’]?s\Z", "", match) for match in _LETTERS.findall(question)):
        if letters in found:
            continue
        shares = [share(term) for term in analyze(letters, "en")] if share is not None else [1.0]
        if max(shares, default=0.0) > RARE:
            continue  # documents that often have the letters are found by them
        unknown = not any(shares)
        for text in joined:
            if long := _find_definition(letters, text) or (_by_initials(letters, text) if unknown else None):
                if long.lower() not in question.lower():
                    found[letters] = long
                break
    return found


def use_document_names(question: str, names: dict[str, str]) -> str:
    """Replace the question's names by the documents'."""
    for said, other in names.items():
        question = re.sub(rf"\b{re.escape(said)}\b", lambda _, other=other: other, question, flags=re.IGNORECASE)  # type: ignore[misc]
    return question


def _find_definition(letters: str, text: str) -> str | None:
    """Find what letters stand for by a bracket in the text: `Acme Board (AB)` or `AB (Acme Board)`."""
    if letters not in text:
        return None
    for match in re.finditer(_BRACKETED.format(letters=re.escape(letters)), text):
        if long := _with_initials(letters, match[1].split()):
            return long
    for match in re.finditer(_EXPLAINED.format(letters=re.escape(letters)), text):
        if long := _with_initials(letters, match[1].split()):
            return long
    return None


def _with_initials(letters: str, words: list[str]) -> str | None:
    """Return the last words of a run that have these initials."""
    for count in range(1, min(len(words), LONGEST + 2) + 1):
        tail = words[-count:]
        if _initials(tail) == _plain(letters):
            return " ".join(tail).strip(" ,;“\"'")
    return None


def _by_initials(letters: str, text: str) -> str | None:
    """Find words of the text with these initials, if there are at least three letters."""
    wanted = _plain(letters)
    if len(wanted) < 3:
        return None
    for line in re.split(r"[.;:!?\n]", text):
        words = line.split()
        for start in range(len(words)):
            for count in range(1, LONGEST + 1):
                run = words[start : start + count]
                if len(run) == count and _initials(run) == wanted and run[0].lower() not in _JOINING:
                    return " ".join(run).strip(" ,;()“”\"'")
    return None


def _initials(words: Sequence[str]) -> str:
    """Return the first letters of words and of their parts, without joining words."""
    parts = [part for word in words for part in re.split(r"[-/]", word) if _WORD.search(part)]
    return "".join(_WORD.search(part)[0][0] for part in parts if part.lower() not in _JOINING).lower()  # type: ignore[index]


def _plain(letters: str) -> str:
    return re.sub(r"[^a-z]", "", letters.lower())


FEW = 2
"""A name may mean up to this many documents even if everything found is from them."""
IN_PASSING = 0.2
"""The maximum share of other documents' passages that mention what a document is named after."""


def named_documents(question: str, hits: Sequence[Hit]) -> set[str]:
    """Return the documents whose file name or title has a name of the question that no other hit mentions.

    `Best Buy` names `BESTBUY_2023_10K.pdf`. A name that other documents also mention is a subject, not a document.
    """
    named: set[str] = set()
    for name in document_names(question):
        mine = {hit.document_id for hit in hits if name in words_joined(f"{hit.filename} {hit.title}")}
        others = [name in words_joined(hit.text) for hit in hits if hit.document_id not in mine]
        if sum(others) <= IN_PASSING * len(others):
            named |= mine
    found = {hit.document_id for hit in hits}
    return named if len(named) < len(found) or len(named) <= FEW else set()


_STATEMENTS = {
    r"cash flows?(?: statements?)?\b|statements? of cash flows?|capital expenditures?|capex": "consolidated statements of cash flows operating investing financing activities",
    r"balance sheets?|\bPP&?N?E\b|statements? of financial position|total (?:current )?(?:assets|liabilities)|payables?": "balance sheet current assets inventories accounts receivable accounts payable total current liabilities total liabilities and equity",
    r"income statements?|statements? of (?:income|operations|earnings)|P&L|gross (?:profit|margins?)|net income|operating income|COGS|\brevenues?\b": "consolidated statements of income operations net sales cost of sales net income per share",
}


def statements_named(question: str) -> list[str]:
    """Return what to search if a question names one of the statements that every report has, or a line of one."""
    return [found for named, found in _STATEMENTS.items() if re.search(named, question, re.IGNORECASE)]


def file_names(question: str, hits: Sequence[Hit], documents: Iterable[str]) -> set[str]:
    """Return the words of these documents' file names that the question has, as the files write them."""
    wanted, among = document_names(question), set(documents)
    parts = {part for hit in hits if hit.document_id in among for part in re.findall(r"[^\W_]+", hit.filename)}
    return {part for part in parts if part.lower() in wanted and not part.isdigit()}


def without_names(question: str, names: Iterable[str]) -> str:
    """Remove the names of documents from a question: their passages need not repeat them."""
    for name in names:
        apart = r"\s?".join(map(re.escape, name))
        question = re.sub(rf"\b{apart}(?:['’]s)?(?!\w)", " ", question, flags=re.IGNORECASE)
    return question


def document_names(question: str) -> set[str]:
    """Return the names in a question as a file may spell them: single words, and neighbours joined."""
    words = [re.sub(r"['’]s?\Z", "", word) for word in re.findall(r"[\w&'’-]+", question)]
    capital = [word for word in words if re.match(r"[A-Z]|\d+[A-Z]", word) and word.lower() not in _ASKING]
    pairs = [f"{one}{other}" for one, other in pairwise(words) if one in capital and other in capital]
    return {name.lower() for name in (*capital, *pairs) if len(name) > 1}


@lru_cache(maxsize=512)
def words_joined(text: str) -> frozenset[str]:
    """Return the words of a text in lower case, and neighbours joined."""
    words = re.findall(r"[^\W_]+", text.lower())
    return frozenset(words).union(f"{one}{other}" for one, other in pairwise(words))


_ASKING = frozenset(
    "what which who whose when where why how is are was were do does did can could should will would has have in on at for"
    " of the a an if as among assume give".split()
)


# ── dates documents ───────────────────────────────────────────────────────────────────────────────────────────


_STATED = ("modified", "created", "date")
_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)(?:[-_.]?(0[1-9]|1[0-2])(?:[-_.]?([0-2]\d|3[01]))?)?(?!\d)")


def when_written(document: Document) -> str:
    """Return a text that sorts by date: that of the file, else one in its name or title, else that of ingestion."""
    for key in _STATED:
        if isinstance(stated := document.metadata.get(key), str) and _DAY.match(stated):
            return stated
    if found := _DAY.search(f"{document.filename} {document.title}"):
        return "-".join(part for part in found.groups() if part)
    return document.updated_at


# ── corrects a misspelled question by the library's own words ─────────────────────────────────────────────────


SHORTEST, SHORTEST_TWICE = 4, 7
"""The minimum letters of a word that may have one error, and two."""
_WHOLE_WORD = re.compile(r"[^\W\d_]++(?!['’][^\W\d_])")
"""Matches a whole word: `shouldn` in `shouldn't` is none."""


def correct_spelling(question: str, texts: Iterable[str], frequency: Callable[[str], float]) -> str:
    """Replace each word that no document has by one of the passages at most two errors away, if there is one."""
    unknown = [word for word in dict.fromkeys(_WHOLE_WORD.findall(question)) if _is_unknown(word, frequency)]
    if not unknown:
        return question
    known = Counter(word.lower() for text in texts for word in _WHOLE_WORD.findall(text))
    for word in unknown:
        if other := _nearest(word.lower(), known):
            question = re.sub(rf"\b{re.escape(word)}\b", other, question)
    return question


def _is_unknown(word: str, frequency: Callable[[str], float]) -> bool:
    terms = [term for term in analyze(word, "en") if term not in function_terms()]
    return len(word) >= SHORTEST and bool(terms) and not any(frequency(term) for term in terms)


def _nearest(word: str, known: Counter[str]) -> str | None:
    """Return the most frequent of the nearest words with the same first letter."""
    found: tuple[int, int, str] | None = None
    for other, count in known.items():
        if other[:1] != word[:1] or abs(len(other) - len(word)) > 2 or len(other) < SHORTEST:
            continue
        slips = distance(word, other)
        allowed = 2 if min(len(word), len(other)) >= SHORTEST_TWICE else 1
        if 0 < slips <= allowed and (found is None or (slips, -count) < found[:2]):
            found = (slips, -count, other)
    return found[2] if found else None


def distance(one: str, other: str) -> int:
    """Count the letters to add, drop, change or swap with the next (Damerau 1964)."""
    rows = [list(range(len(other) + 1))]
    for at, letter in enumerate(one, 1):
        row = [at]
        for place, there in enumerate(other, 1):
            cost = min(rows[-1][place] + 1, row[-1] + 1, rows[-1][place - 1] + (letter != there))
            if at > 1 and place > 1 and letter == other[place - 2] and one[at - 2] == there:
                cost = min(cost, rows[-2][place - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]
