"""The candidate sentences of an extractive answer, with their features."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from footnotes.answer.hints import header_rows, item_above, points_back
from footnotes.answer.passages import (
    Passage,
    headings_at,
    message_of,
    question_before,
    release_at,
    spans_in,
    without_number,
)
from footnotes.answer.plain import LITERAL_BLOCK, plain_text
from footnotes.answer.questions import (
    ELSEWHERE,
    INSTRUCTS,
    defines_at_once,
    form_of,
    has_symbol,
    listed_thing,
    names_kind,
)
from footnotes.answer.speakers import addresses, is_of_itself, is_of_others, is_relative, named_in
from footnotes.answer.terms import ASKS, UNSPACED, Question, function_terms, words_alike
from footnotes.text.analysis import analyze
from footnotes.text.turns import Head

MAX_SENTENCE = 1_200
BEFORE = 3
HEADED = 0.5
"""The weight of a word in the heading, relative to one in the sentence, if the sentence is of the requested kind."""
ON_THE_MATTER, IN_RELEASE_NOTES = 0.8, -3.0
"""Log odds for a sentence under headings that name the subject of the question, and for one in release notes."""
BY_THE_ASKED, BESIDE_IT, BY_ANOTHER, TO_THE_ASKED = 0.8, -1.0, -3.0, -1.0
"""Log odds for a chat sentence by the speaker in question, on the subject or off it; by another who does not name that
speaker; and by another who addresses somebody."""
LEAST_ON_A_NAME = 4
"""The minimum words of a sentence that says something about a speaker it names: "Hey Milo!" does not."""
IN_REFERENCES = -2.0
"""Log odds for an entry in a list of references, which names the subject of another paper."""
BEHIND = 60
"""Characters after an entry's title that are searched for its journal."""
SAYS_IT = {"definition": 1.2, "reason": 0.8, "version": 1.2}
"""Log odds for a sentence that says what something is, or why, or since which version, if the question asks that."""
_RELEASE_NOTES = re.compile(
    r"release[ _-]?notes|change[ _-]?log|\bchanges\b|what.?s[ _-]new|\bhistory\.(?:md|rst|txt)", re.I
)
_OF_RELEASES = re.compile(
    r"\b(?:version|release[ds]?|changed?|changes|changelog|added|introduced|removed|deprecated|fixed|new in|since when"
    r"|when (?:was|were|did))\b|\d+\.\d+",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"[a-z.)\]]\s+\(?(?:19|20)\d\d\)?[;,: ]+\d{1,4}(?:\(\d{1,4}\))?[:;, ]+[eS]?\d{1,6}\s*[-–, ]\s*[eS]?\d{1,6}\b"
    r"|,\s*\d{1,4}\s*\(\d{1,3}\),\s*\d+\s*[-–]\s*\d+|\bdoi:\s?10\.",
    re.IGNORECASE,
)
INSTRUCTED, SAID_ELSEWHERE = 0.6, -1.5
"""Log odds for a sentence that says what to do if the question asks that, and for one that refers elsewhere."""
ON_IT = 0.2
"""The share of the question that a sentence and its heading must cover before its wording counts."""
INTRODUCES = {"list": 2.0, "howto": 0.8}
"""Log odds for a sentence that introduces a list or code if the question wants all of it."""
LISTS_OTHERS = 0.5
"""The share of them that remains if the sentence does not name the things to list."""
HAS_SYMBOL = 1.5
"""Log odds for a sentence that has the code symbols in the question."""
AT_ONCE, ASKED_ABOVE, ALIKE = 2.0, 2.0, 0.5
"""Log odds for a sentence or list entry that begins with the subject and says what it is; for the first sentences under
a heading that asks the same; and the share of words, either way, that counts as the same."""
TITLE, LONGEST_TITLE = -3.0, 12
"""Log odds for a title alone above a paragraph, and its maximum number of words."""
OPENS, OPENING = 1.0, 2
"""Log odds for the first sentences under a heading that is the whole question, and how many count as first."""
_TITLED = re.compile(r"\s*\n[ \t]*\n\s*\S")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*$", re.MULTILINE)
_BELOW = re.compile(r"[:：]\s*(?:[-*+•]\s|\d{1,3}[.)]\s|`{3,}|~{3,}|\{\*)")
_DIRECTIVE = re.compile(r"\s*(?::::|///|\{[*%]|\$ \S|\.\. [\w:-]+::|\.\. _)")
_LEAD = re.compile(r"\s*(?:(?:[-*+•‣◦]|\d{1,3}[.)]|>+|\|)\s+)*")
_HEADING = re.compile(r"\s*#{1,6}\s+")
_CODE_BELOW = re.compile(r"[ \t]*\n\s*(?:`{3,}|~{3,})")
_UNDERLINED = re.compile(r"\s*([^\n]{1,200})\n[ \t]*(([=~^\"'`*+#:.<>_-])\3{2,})[ \t]*(?:\n|\Z)")
_PLAIN_WORD = re.compile(rf"(?<![^\s\"'“‘«(*_\[|])[^\W\d_]{{2,}}(?![^\s\"'”’»)*_\].,;:!?…|-])|{UNSPACED.pattern}")
_ROWS = re.compile(r"\t[^\n]*\n[^\n]*\t")
_RULE = re.compile(r"[\s|:=_*+-]*\Z")
_TITLE = re.compile(r"[A-Z][\w’'-]*(?:[,;:]? (?:[A-Z(][\w’'&)-]*|and|of|the|for|in|to|on|or|a|by|with|from|&|[—–-]))*")
"""A line whose words are all capitalised: a heading that its print did not reveal."""
_PAGE_LINE = re.compile(
    r"\A[^|\n]+\|[^|\n]*\b(?:Form|Report|Page)\b[^|\n]*(?:\|\s*\d{1,4})?\Z|\|\s*Page \d+\Z", re.IGNORECASE
)
"""Matches the footer of every page."""
_ENDED = re.compile(r"[.!?…。！？؟۔:;|][\"'”’»)\]*_]*\s*\Z")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of a passage. The features are all between 0 and 1; `cosine` is None until measured."""

    passage: Passage
    start: int
    end: int
    text: str
    terms: frozenset[str]
    coverage: float  # of the question by the sentence
    context: float  # by the sentence, the three before it, the headings and the title
    around: float  # by the whole passage
    pairs: float  # neighbouring terms of the question that are neighbours here
    kind: float  # names the kind of thing asked for
    relative: float  # the passage's score relative to the best
    carried: float  # coverage added by its heading and the sentence it points back to
    lead: float = 0.0  # the passage's score relative to the best of the others
    cosine: float | None = None
    chosen: float = 0.0  # a sixth of the log odds that a reader gives the sentence
    window: float = 0.0  # and of those it gives its window
    prior: float = 0.0  # log odds for its position, whatever it says
    by_asked: bool = False  # said in a chat by the speaker in question

    def with_cosine(self, cosine: float) -> Candidate:
        return replace(self, cosine=cosine)

    def with_choice(self, sentence: float, window: float) -> Candidate:
        return replace(self, chosen=_log_odds(sentence), window=_log_odds(window))


def _log_odds(chance: float) -> float:
    bounded = min(max(chance, 0.0025), 0.9975)
    return math.log(bounded / (1.0 - bounded)) / 6.0


def candidates_of(question: Question, passages: Sequence[Passage]) -> list[Candidate]:
    """Return every sentence that could be part of an answer, in the order of the passages."""
    top = max((passage.score for passage in passages), default=0.0)
    seen: set[tuple[str, int, int]] = set()
    found = []
    for passage in passages:
        prior = _prior(question, passage)
        others = max((other.score for other in passages if other is not passage), default=0.0)
        lead = min(max((passage.score - others) / top, -1.0), 1.0) if top > 0 else 0.0
        for candidate in _in_passage(question, passage, top, lead, prior):
            key = (passage.document_id, candidate.start, candidate.end)
            if key not in seen:
                seen.add(key)
                found.append(candidate)
    return found


@dataclass(frozen=True, slots=True)
class _Place:
    """A stretch of a passage between two ends of sentences. `sentence` is empty if it cannot be part of an answer."""

    start: int
    span: tuple[int, int]  # without the white space around
    sentence: str
    ordered: list[str]
    asked: frozenset[str]
    head: Head | None
    headings: tuple[str, ...]
    header: str
    version: str
    opening: int  # sentences since the last heading


def _in_passage(question: Question, passage: Passage, top: float, lead: float, prior: float) -> Iterator[Candidate]:
    terms = analyze(passage.text)
    said = question.among(terms)
    meant = question.alike(terms) - said
    around = question.covered(said | meant | _named_terms(question, passage.title))
    before: deque[frozenset[str]] = deque(maxlen=BEFORE)
    last_head: Head | None = None
    for place in _places_in(question, passage, meant):
        if place.sentence:
            head = place.head
            headed = place.asked | _named_terms(question, " ".join(place.headings[-1:]))
            replies = head is not None and question_before(passage, passage.start + place.start) is not None
            subject = headed | before[-1] if before and points_back(place.sentence) else headed
            earlier = before[-1] if head and before and head == last_head else frozenset()
            subject = subject.union(*before) if replies else subject  # a question may itself refer to "it"
            named = " ".join((place.header, passage.title, *place.headings))
            widened = headed.union(*before) | _named_terms(question, named)
            own = question.covered(place.asked)
            kind = _kind_share(question, place.version + place.sentence, in_chat=bool(head))
            spoken = _by_whom(question, head.name, place.sentence, question.covered(subject | earlier)) if head else 0.0
            yield Candidate(
                passage,
                passage.start + place.span[0],
                passage.start + place.span[1],
                place.sentence,
                frozenset(place.ordered),
                coverage=own + HEADED * kind * (question.covered(headed) - own),
                context=question.covered(widened),
                around=around,
                pairs=_pair_share(question, place.ordered),
                kind=kind,
                relative=passage.score / top if top > 0 else 1.0,
                carried=question.covered(subject) - own,
                lead=lead,
                prior=prior + _place_odds(question, passage, place, headed, kind, whole=prior >= 0) + spoken,
                by_asked=head is not None and head.name in question.speakers,
            )
        before.append(place.asked)
        last_head = place.head


def _places_in(question: Question, passage: Passage, meant: frozenset[str]) -> Iterator[_Place]:
    """Yield every sentence of a passage with what it has of the question, and where it stands."""
    spans = spans_in(passage)
    headers = header_rows(passage.text, spans)
    opening = 0 if passage.start == 0 else OPENING
    code = code_in(passage.text)
    for number, (start, end) in enumerate(spans):
        text, at = passage.text[start:end], passage.start + start
        ordered = analyze(text)
        asked = question.among(ordered) - question.only_in_names(text)
        asked |= question.alike(ordered) & meant if meant else frozenset()
        heads_code = is_heading_of_code(passage.text, start, end, code)
        span = _trim(passage.text, start, end, keep_heading=heads_code)
        asked |= _named_terms(question, item_above(passage.text, span[0])) if span else frozenset()
        opening = 0 if _HEADING.match(passage.text, start, end) else opening + 1
        head, headings = message_of(passage, at), headings_at(passage, at)
        version = f"{release_at(passage, at)} " if question.kind == "version" else ""
        told = head is not None or number in headers or bool(version) or _tells(question, text, ordered)
        told = told and not is_in_code(code, start)
        is_said = heads_code or (told and headers.get(number) != number)
        sentence = passage.text[slice(*span)] if span and is_said else ""
        titled = bool(passage.hits[0].pages) and _TITLE.fullmatch(sentence) is not None
        if titled or (head is not None and _is_of_another(question, head.name, sentence)):
            sentence = ""
        if sentence and not heads_code and not _can_answer(question, sentence, headings, version):
            sentence = ""
        header = passage.text[slice(*spans[headers[number]])] if number in headers else ""
        yield _Place(start, span or (start, end), sentence, ordered, asked, head, headings, header, version, opening)


def _place_odds(
    question: Question, passage: Passage, place: _Place, headed: frozenset[str], kind: float, *, whole: bool
) -> float:
    """Return log odds for where a sentence stands and how it is put. Without `whole` its manner counts nothing."""
    sentence, headings, span = place.sentence, place.headings, place.span
    covered = question.covered(headed)
    at_once = question.kind == "definition" and _at_once(question, sentence, passage, headings)
    opens = place.opening <= OPENING
    return (
        ON_THE_MATTER * question.covered(_named_terms(question, " ".join(headings)))
        + (SAYS_IT.get(question.kind, 0.0) if kind else 0.0)
        + (AT_ONCE if at_once else 0.0)
        + (ASKED_ABOVE if opens and _is_asked_above(question, headings) else 0.0)
        + (TITLE if _is_title(passage.text, *span) else 0.0)
        + (_manner(question, sentence, covered) if whole else 0.0)
        + _introduces(question, sentence, passage.text, span[1], covered)
        + (OPENS if opens and _is_named(question, headings) else 0.0)
        + (HAS_SYMBOL if has_symbol(sentence, question.symbols) else 0.0)
        + (IN_REFERENCES if _is_reference(passage.text, *span) else 0.0)
    )


def _prior(question: Question, passage: Passage) -> float:
    """Lower the odds of release notes, which mention everything once, unless the question is about releases."""
    named = f"{passage.filename} {passage.title} {' '.join(passage.headings[:1])}"
    return IN_RELEASE_NOTES if _RELEASE_NOTES.search(named) and not _OF_RELEASES.search(question.text) else 0.0


def _is_of_another(question: Question, name: str, sentence: str) -> bool:
    """Return whether a speaker other than the one in question talks about themselves."""
    if not question.speakers or name in question.speakers or is_of_others(question.text):
        return False
    return is_of_itself(sentence) and not named_in(sentence, question.speakers)


def _by_whom(question: Question, name: str, sentence: str, said: float) -> float:
    """Return log odds for the speaker of a chat sentence that covers the share `said` of the question."""
    if name in question.speakers:
        return BY_THE_ASKED if said >= ON_IT else BESIDE_IT
    named = named_in(sentence, question.speakers) and len(sentence.split()) >= LEAST_ON_A_NAME
    if not question.speakers or named or is_of_others(question.text):
        return 0.0
    return TO_THE_ASKED if addresses(sentence) else BY_ANOTHER


def _manner(question: Question, sentence: str, headed: float) -> float:
    """Return log odds for a sentence that says what to do if that is asked, or that only refers elsewhere."""
    if ELSEWHERE.search(plain_text(sentence)):
        return SAID_ELSEWHERE
    is_step = headed >= ON_IT and form_of(question.text) == "howto" and INSTRUCTS.match(sentence)
    return INSTRUCTED if is_step else 0.0


def _introduces(question: Question, sentence: str, text: str, end: int, headed: float) -> float:
    """Return log odds for a sentence that ends in a colon right above a list or code."""
    bonus = 0.0 if question.kind == "definition" or headed < ON_IT else INTRODUCES.get(form_of(question.text), 0.0)
    if not bonus or not _BELOW.match(text, end - 1):
        return 0.0
    things = frozenset(analyze(listed_thing(question.text), "en"))
    terms = analyze(sentence, "en")
    named = not things or things & {*terms, *(word for term in terms for word in words_alike().get(term, ()))}
    return bonus if named else LISTS_OTHERS * bonus


def _is_named(question: Question, headings: tuple[str, ...]) -> bool:
    """Return whether the heading right above a sentence names the subject of the question and nothing else."""
    asks = question.is_name or question.kind == "definition"
    terms = frozenset(analyze(without_number(headings[-1]))) - function_terms() if headings and asks else frozenset()
    return bool(terms) and question.among(terms) >= question.weights.keys() and len(terms) <= len(question.weights)


def _at_once(question: Question, sentence: str, passage: Passage, headings: tuple[str, ...]) -> bool:
    return defines_at_once(sentence, question.text, f"{passage.title} {passage.filename} {' '.join(headings)}")


def _is_asked_above(question: Question, headings: tuple[str, ...]) -> bool:
    """Return whether the heading right above a sentence asks the same: each has most of the other's words."""
    if not headings or not headings[-1].endswith("?"):
        return False
    asked = frozenset(analyze(headings[-1])) - function_terms()
    said = question.among(asked)
    return question.covered(said) >= ALIKE and len(said) >= ALIKE * len(asked)


def is_in_code(code: Sequence[tuple[int, int]], at: int) -> bool:
    return any(begin <= at < end for begin, end in code)


def is_heading_of_code(text: str, start: int, end: int, code: Sequence[tuple[int, int]]) -> bool:
    """Return whether a span is a heading right above a block of code: it then says what the code does."""
    if is_in_code(code, start) or _HEADING.match(text, start, end) is None:  # in code, `#` begins a comment
        return False
    return _CODE_BELOW.match(text, start + len(text[start:end].rstrip())) is not None


def code_in(text: str) -> list[tuple[int, int]]:
    """Find the blocks of code: those of reStructuredText, and those between two fences, of which one may begin before
    the text, or end after it."""
    bounds = [place for fence in _FENCE.finditer(text) for place in (fence.start(), fence.end())]
    if len(bounds) % 4:
        ends_first = _closes(text, bounds[1])
        bounds = [0, 0, *bounds] if ends_first else [*bounds, len(text), len(text)]
    literal = [found.span(3) for found in LITERAL_BLOCK.finditer(text)]
    return [*literal, *zip(bounds[::4], bounds[3::4], strict=True)]


def _closes(text: str, end: int) -> bool:
    """Return whether nothing or a blank line follows a fence: it is then the closing one."""
    return re.match(r"[ \t]*(?:\n[ \t]*(?:\n|\Z)|\Z)", text[end:]) is not None


def _is_title(text: str, start: int, end: int) -> bool:
    """Return whether a few words without a stop are alone above a paragraph: a caption, the title of a note."""
    alone = (start == 0 or text[:start].endswith("\n\n")) and _TITLED.match(text, end) is not None
    words = text[start:end].split()
    return alone and len(words) <= LONGEST_TITLE and not _ENDED.search(text[start:end]) and ":" not in text[start:end]


def _is_reference(text: str, start: int, end: int) -> bool:
    """Return whether a journal with its year, volume and pages is in a sentence, or after it on its line."""
    line = text.find("\n", end)
    return _REFERENCE.search(text, start, min(end + BEHIND, line if line >= 0 else len(text))) is not None


def _named_terms(question: Question, text: str) -> frozenset[str]:
    return question.among(analyze(text)) if text else frozenset()


def _pair_share(question: Question, ordered: list[str]) -> float:
    if not question.pairs:
        return 0.0
    here = set(pairwise(term for term in ordered if term not in function_terms()))
    return len(question.pairs & here) / len(question.pairs)


def _kind_share(question: Question, text: str, *, in_chat: bool = False) -> float:
    if question.kind == "any":
        return 0.5
    if question.kind == "date" and in_chat and is_relative(text):
        return 1.0
    return 1.0 if names_kind(text, question.kind, question.text) else 0.0


def _trim(text: str, start: int, end: int, *, keep_heading: bool) -> tuple[int, int] | None:
    """Trim list marks and white space from a span; None if nothing is left."""
    if not keep_heading and (_HEADING.match(text, start, end) or _is_underlined(text, start, end)):
        return None
    lead = (_HEADING if keep_heading else _LEAD).match(text, start, end)
    begin = lead.end() if lead else start
    finish = begin + len(text[begin:end].rstrip(" \t\r\n|"))
    return (begin, finish) if finish > begin else None


def _is_underlined(text: str, start: int, end: int) -> bool:
    """Return whether a span is a title above the line that marks it as one, as in reStructuredText."""
    found = _UNDERLINED.match(text, start)
    if found is None or end > found.end() or _ENDED.search(found[1]):
        return False
    return len(found[2]) >= len(found[1].strip())


def _tells(question: Question, sentence: str, ordered: Sequence[str]) -> bool:
    """Return whether a sentence has a word the question lacks; `Cell culture.` does not say how cells were cultured."""
    if form_of(question.text) == "yesno" or sentence.rstrip().endswith((":", "：")) or not ASKS.search(question.text):
        return True  # a list's introduction may say no more than the question; keywords look for sentences with them
    known = function_terms() | frozenset(analyze(question.text))
    return any(term not in known and not question.among((term,)) for term in ordered)


def _can_answer(question: Question, sentence: str, headings: tuple[str, ...], named: str = "") -> bool:
    """Reject a heading, a rule of a table, a question, or a run too long to be a sentence.

    Also reject a sentence about another time than the question, and, if the question asks for a colour or a version,
    one without any, unless `named`, the release it belongs to, has one.
    """
    if len(sentence) > MAX_SENTENCE or _RULE.match(sentence) or _DIRECTIVE.match(sentence):
        return False
    if any(heading.endswith(sentence) for heading in headings):
        return False  # a heading, or what follows its number
    if sentence.endswith(("?", "？", "؟")) or question.otherwise(sentence):
        return False
    if question.kind in ("colour", "version") and not names_kind(named + sentence, question.kind, question.text):
        return False
    if not _PLAIN_WORD.search(sentence) or _ROWS.search(sentence):
        return False  # a path, a macro, a line of code; rows of a table run together
    return not _PAGE_LINE.search(sentence) and (bool(_ENDED.search(sentence)) or len(analyze(sentence)) >= 3)
