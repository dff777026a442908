"""Extends an answering sentence to the whole it belongs to: an introduction with its list, a step with its code."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from textwrap import dedent

from footnotes.answer.candidates import LONGEST_TITLE, Candidate
from footnotes.answer.context import ReadText
from footnotes.answer.hints import goes_on, is_next_step
from footnotes.answer.passages import message_of
from footnotes.answer.plain import LITERAL_BLOCK, plain_text
from footnotes.answer.questions import DOING, Form
from footnotes.errors import FootnotesError
from footnotes.text.sentences import sentence_spans
from footnotes.text.turns import turn_spans

BACK, AHEAD = 1_500, 2_500
"""How far before and after a sentence its list or code is searched."""
LONGEST = 2_400
"""A longer list or code is not included, so the sentence stays alone."""
FURTHER_LINES, FURTHER_PARAGRAPHS = 8, 2
"""How far below a sentence that names the subject its list may be introduced."""
REST, STEPS_REST = 320, 700
"""The maximum characters that follow a sentence in its paragraph; more if they are the next steps."""
_APART = re.compile(r"\n[ \t]*(?:\n|[-*+•]\s|\d{1,3}[.)]\s|#|\||`{3})")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\(?\d{1,3}[.)])[ \t]+\S")
_INDENTED = re.compile(r"(?:[ ]{2,}|\t)\S")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_LITERAL = re.compile(r"[ \t]*\.\. (?:code|code-block|sourcecode|prompt)::|[ \t]*::[ \t]*\Z")
"""A line of reStructuredText above code; so is one that ends in `::`."""
_INTRODUCES = re.compile(r"[:：][\"'”’»)\]*_]*\s*\Z")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")
_NO_ANTECEDENT = re.compile(r"\s*(?:#|\||>|```|[-*+•]\s|\d{1,3}[.)]\s)")
LONGEST_ANTECEDENT, LONGEST_ITEM = 600, 400
_SKIPPED = re.compile(r"[ \t]*(?:/{3,}.*|:{3,}.*|\{[*%!].*[*%!]\}[ \t]*)\Z")


def extend_candidate(candidate: Candidate, form: Form, read: ReadText | None = None) -> Candidate:
    """Add the list or code that a candidate introduces, or is part of if the question wants it whole."""
    text, begin = _around(candidate, read)
    start, end = candidate.start - begin, candidate.end - begin
    if text[start:end] != candidate.text:
        return candidate
    lines = _lines(text)
    first = _line_at(lines, start)
    last = _line_at(lines, max(start, end - 1))
    introduces = bool(_INTRODUCES.search(candidate.text)) or _HEADING.match(text, *lines[first]) is not None
    found = _span(text, lines, first, last, form, introduces=introduces)
    if found is None and goes_on(candidate.text):
        return _with_antecedent(candidate, text, begin)
    if found is None and form == "howto" and (steps := steps_around(text, start)):
        found = (*steps, True)
    if found is None:
        found = _item(text, lines, first, last)
    if found is None:
        return candidate
    begins, ends = min(found[0], start) if found[2] else start, max(found[1], end)
    piece = text[begins:ends].rstrip()
    if len(piece) > LONGEST:
        return candidate
    whole = replace(candidate, start=begin + begins, end=begin + begins + len(piece), text=piece)
    # "This includes, for example:" says nothing without the sentence before it.
    return _with_antecedent(whole, text, begin) if goes_on(whole.text) else whole


def with_rest(candidate: Candidate, read: ReadText | None = None) -> Candidate:
    """Add the sentences that follow a candidate in its paragraph, as far as an answer has room."""
    text, begin = _around(candidate, read)
    start, end = candidate.start - begin, candidate.end - begin
    if text[start:end] != candidate.text or message_of(candidate.passage, candidate.start):
        return candidate
    paragraph = next((found.start() for found in _APART.finditer(text, end)), len(text))
    last = end
    for first, sentence_end in sentence_spans(text[start:paragraph]):
        room = STEPS_REST if is_next_step(text[start + first : start + sentence_end]) else REST
        if end <= start + sentence_end <= start + len(candidate.text) + room:
            last = start + sentence_end
    return replace(candidate, end=begin + last, text=text[start:last]) if last > end else candidate


def _item(text: str, lines: list[Line], first: int, last: int) -> tuple[int, int, bool] | None:
    """Return the whole of a sentence's short list item: the meaning and the default of a name are one answer."""
    item = _ITEM.match(text, *lines[first])
    if item is None or first != last or lines[first][1] - lines[first][0] > LONGEST_ITEM:
        return None
    return item.end() - 1, lines[first][1], True


def _with_antecedent(candidate: Candidate, text: str, begin: int, further: int = 1) -> Candidate:
    """Add the sentence before a candidate, in its paragraph or the one above, which says what "it" stands for.

    If that one also points back, add `further` more.
    """
    start = candidate.start - begin
    paragraph = text.rfind("\n\n", 0, len(text[:start].rstrip())) + 2 if "\n\n" in text[:start].rstrip() else 0
    spans = sentence_spans(text[paragraph:start])
    if not spans or (paragraph == 0 and begin > 0):
        return candidate
    first = paragraph + spans[-1][0]
    before = text[first:start]
    if (
        len(before) > LONGEST_ANTECEDENT
        or _NO_ANTECEDENT.match(before)
        or not before.rstrip().endswith((".", "!", ":"))
    ):
        return candidate
    whole = replace(candidate, start=begin + first, text=text[first : start + len(candidate.text)])
    return _with_antecedent(whole, text, begin, further - 1) if further and goes_on(before) else whole


def format_text(text: str) -> str:
    """Format text for an answer: without markup; list items and code on separate lines."""
    written: list[str] = []
    fence = ""
    joins = False
    for line in _open_fence(_fenced(text)).split("\n"):
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark[1]
            written.append(line.strip())
            joins = False
        elif fence:
            written.append(line.rstrip())
        else:
            joins = _add_line(written, line, joins=joins)
    if fence:
        written.append(fence)
    return "\n".join(written).strip()


def _fenced(text: str) -> str:
    """Put the code of reStructuredText between fences."""
    if "```" in text or "~~~" in text or "::" not in text:
        return text

    def block(found: re.Match[str]) -> str:
        above = found[2] or ""
        above = f"{found[1]}{above.rstrip()}" if above.endswith((" ", "\t")) or not above else f"{found[1]}{above}:"
        return f"{above}\n\n```\n{dedent(found[3]).strip()}\n```\n"

    return LITERAL_BLOCK.sub(block, text)


def _open_fence(text: str) -> str:
    """Add an opening fence to text that begins inside a block of code and contains its end."""
    lines = text.strip().split("\n")
    fences = sum(_FENCE.match(line) is not None for line in lines)
    closes = lines[-1].strip()
    return f"{closes}\n{text.lstrip()}" if fences % 2 and len(lines) > 1 and closes in ("```", "~~~") else text


def _add_line(written: list[str], line: str, *, joins: bool) -> bool:
    """Add a line of prose: an item begins a new line, any other continues the last one."""
    item = re.match(r"[ \t]*([-*+•]|\(?\d{1,3}[.)])[ \t]+", line)
    plain = "" if _SKIPPED.match(line) else plain_text(line[item.end() if item else 0 :])
    if not plain:
        return joins and bool(line.strip())
    if item:
        mark = item[1] if item[1][:1] in "(0123456789" else "-"
        indent = " " * min(8, item.start(1) - item.start())
        written.append(f"{indent}{mark} {plain}")
    elif joins and written:
        written[-1] += " " + plain
    else:
        written.append(plain)
    return True


def _around(candidate: Candidate, read: ReadText | None) -> tuple[str, int]:
    """Return the text around a candidate, for a chat only its turn, and where that begins."""
    text, begin = _read_around(candidate, read)
    if not candidate.passage.speakers:
        return text, begin
    turns = turn_spans(text, candidate.passage.speakers)
    start, end = next((turn for turn in turns if turn[0] <= candidate.start - begin < turn[1]), (0, len(text)))
    return "\n\n" + text[start:end], begin + start - 2  # a turn begins as a paragraph does


def _read_around(candidate: Candidate, read: ReadText | None) -> tuple[str, int]:
    if read is None:
        return candidate.passage.text, candidate.passage.start
    begin = max(0, candidate.start - BACK)
    try:
        text = read(candidate.passage.document_id, begin, candidate.end + AHEAD)
    except FootnotesError:  # the document was deleted after the search: use what was found
        return candidate.passage.text, candidate.passage.start
    cut = text.find("\n", 0, candidate.start - begin) + 1 if begin else 0  # the first line is not whole
    return text[cut:], begin + cut


Line = tuple[int, int]


def _lines(text: str) -> list[Line]:
    lines, begin = [], 0
    for line in text.splitlines(keepends=True):
        lines.append((begin, begin + len(line.rstrip("\r\n"))))
        begin += len(line)
    return lines or [(0, 0)]


def _line_at(lines: list[Line], offset: int) -> int:
    return max((number for number, (start, _) in enumerate(lines) if start <= offset), default=0)


def _span(
    text: str, lines: list[Line], first: int, last: int, form: Form, *, introduces: bool
) -> tuple[int, int, bool] | None:
    """Return start and end of what belongs to the lines, and whether it may begin before them."""

    def line(number: int) -> str:
        return text[slice(*lines[number])] if 0 <= number < len(lines) else ""

    if _ITEM.match(line(first)) and form in ("list", "howto"):
        return _whole_list(lines, first, line)
    following = last + 1
    while following < len(lines) and (not line(following).strip() or _SKIPPED.match(line(following))):
        following += 1
    if following == len(lines):
        return None
    if form == "list" and not introduces and (introduction := _introduced_below(lines, following, line)):
        return lines[first][0], lines[_list_end(lines, introduction + 1, line)][1], False
    if _ITEM.match(line(following)) and introduces:
        return lines[first][0], lines[_list_end(lines, following, line)][1], False
    if (fence := _FENCE.match(line(following))) and (introduces or form == "howto"):
        closing = following + 1
        while closing < len(lines) and not line(closing).strip().startswith(fence[1]):
            closing += 1
        return (lines[first][0], lines[closing][1], False) if closing < len(lines) else None
    if introduces or form == "howto":
        end = _literal_end(lines, last, following, line)
        return (lines[first][0], lines[end][1], False) if end else None
    return None


def _literal_end(lines: list[Line], last: int, following: int, line: Callable[[int], str]) -> int:
    """Return the last line of the code of reStructuredText that follows a line; 0 for none."""
    marked = bool(_LITERAL.match(line(following)))
    if not marked and not line(last).rstrip().endswith("::"):
        return 0
    margin = _margin(line(following if marked else last))
    end = 0
    for number in range(following + marked, len(lines)):
        if line(number).strip():
            if _margin(line(number)) <= margin:
                break
            end = number
    return end


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())


def _introduced_below(lines: list[Line], place: int, line: Callable[[int], str]) -> int:
    """Return the last line before a list introduced a paragraph or two below, under the same heading; 0 for none."""
    prose = 0
    for number in range(place, min(len(lines) - 1, place + FURTHER_LINES)):
        if _is_heading(line(number)) or _FENCE.match(line(number)) or prose > FURTHER_PARAGRAPHS:
            return 0
        below = number + 1 if line(number + 1).strip() else number + 2
        if _INTRODUCES.search(line(number)) and below < len(lines) and _ITEM.match(line(below)):
            return below - 1
        prose += bool(line(number).strip())
    return 0


def _is_heading(line: str) -> bool:
    """Return whether a line is marked as a heading, or has few words and no stop, like unmarked headings."""
    plain = line.strip()
    marked, bare = plain.startswith("#"), plain[-1:].isalnum() and len(plain.split()) <= LONGEST_TITLE
    return marked or (bare and not _ITEM.match(line) and "|" not in line)


def _whole_list(lines: list[Line], place: int, line: Callable[[int], str]) -> tuple[int, int, bool]:
    style = _style(line(place))

    def belongs(number: int) -> bool:
        return number >= 0 and (_style(line(number)) == style or bool(_INDENTED.match(line(number))))

    first = place
    while belongs(first - 1) or (not line(first - 1).strip() and belongs(first - 2)):
        first -= 1
    above = first - 1
    while above > 0 and not line(above).strip():
        above -= 1
    if above >= 0 and _INTRODUCES.search(line(above)):
        first = above
    return lines[first][0], lines[_list_end(lines, place, line)][1], True


def _list_end(lines: list[Line], place: int, line: Callable[[int], str]) -> int:
    """Return the last line of an item's list: items of its style, indented lines, and continued lines."""
    style, last = _style(line(place)), place
    for number in range(place + 1, len(lines)):
        text = line(number)
        if _style(text) == style or _INDENTED.match(text):
            last = number
        elif text.strip() and (_style(text) or number > last + 1):
            break
        elif text.strip():
            last = number
    return last


def _style(line: str) -> str:
    """Return the mark of a list item, `1` for numbers; empty if the line is no item."""
    item = _ITEM.match(line)
    return "" if item is None else "1" if any(char.isdigit() for char in item[0][:-1]) else item[0].strip()[0]


# ── finds steps that are no list: consecutive paragraphs that each say what to do ─────────────────────────────


LONGEST_STEP = 300
_PARAGRAPHS_APART = re.compile(r"\n[ \t]*\n\s*")
_STEP = re.compile(rf"[*_`\s]*(?:(?:then|first|next|now|finally|and|also),? )*{DOING}", re.IGNORECASE)

Span = tuple[int, int]


def steps_around(text: str, start: int) -> Span | None:
    """Return start and end of the run of such paragraphs at a position; None if there is none or only one."""
    paragraphs = _paragraphs(text)
    place = next((number for number, (begin, end) in enumerate(paragraphs) if begin <= start < end), None)
    if place is None or not _is_step(text, paragraphs[place]):
        return None
    first = last = place
    while first > 0 and _is_step(text, paragraphs[first - 1]):
        first -= 1
    while last + 1 < len(paragraphs) and _is_step(text, paragraphs[last + 1]):
        last += 1
    return (paragraphs[first][0], paragraphs[last][1]) if last > first else None


def _paragraphs(text: str) -> list[Span]:
    bounds = [0, *(place for found in _PARAGRAPHS_APART.finditer(text) for place in found.span()), len(text)]
    return [span for number, span in enumerate(pairwise(bounds)) if number % 2 == 0]


def _is_step(text: str, span: Span) -> bool:
    return span[1] - span[0] <= LONGEST_STEP and _STEP.match(text, *span) is not None
