# ruff: noqa: SIM905 (lists of words read better as prose)
"""Finds sentences by rules, in one pass.

Each candidate is checked once with a bounded amount of context, so the time is linear in the length of any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Span = tuple[int, int]

_CLOSERS = "\"'”’»›)\\]}*_"
_CANDIDATE = re.compile(
    rf"(?P<stop>[.!?…؟۔।‼⁇⁈⁉]++)[{_CLOSERS}]*+(?P<space>\s*+)"
    r"|(?P<wide>[。！？｡]++)[」』”’）】》〉\"')\]]*+\s*+"
    r"|(?P<line>\n)\s*+"
)
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+•‣◦▪·–—]|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})[.)]|#{1,6}|\|)[ \t]")
_ROLE = re.compile(r"(?::[a-z][\w:+.-]{0,40}:|\{[a-z][\w:+.-]{0,40}\})`[^`\n]+`(?!`)")
"""Matches a name as reStructuredText and MyST mark it: `:meth:`open``, `{option}`--all``."""
_NEXT_WORD = re.compile(r"[\"'“‘«‹„¿¡(\[{*_]{0,8}(\w{0,24})")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]\Z")

_BEFORE_WORD = "\"'“‘«‹„¿¡([{*_-–—/"
_LOOKBACK = 24
_WRAPPED_LINE = 45
"""A line of at least this many characters without a full stop continues on the next line."""


def sentence_spans(text: str) -> list[Span]:
    """Return the exact spans of the sentences of a text, in order, without the white space around them.

    Every character that is not white space is in exactly one span.
    """
    return list(_trim(text, _cuts(text)))


def _trim(text: str, cuts: Iterator[int]) -> Iterator[Span]:
    start = 0
    for cut in cuts:
        piece = text[start:cut]
        bare = piece.strip()
        if bare:
            first = start + len(piece) - len(piece.lstrip())
            yield first, first + len(bare)
        start = cut


def _cuts(text: str) -> Iterator[int]:
    """Yield offsets where a sentence ends and the next may begin."""
    line_start = 0
    for match in _CANDIDATE.finditer(text):
        begin, end = match.span()
        if match["wide"]:
            yield end
        elif match["line"]:
            if _line_ends(text, line_start, begin, end):
                yield end
            line_start = end
        elif space := match["space"]:
            if _stop_ends(text, match, line_start) or ("\n" in space and _line_ends(text, line_start, begin, end)):
                yield end
            if "\n" in space:
                line_start = end
    yield len(text)


def _line_ends(text: str, line_start: int, newline: int, following: int) -> bool:
    """Return whether a sentence ends with a line that has no full stop."""
    if following >= len(text) or text.count("\n", newline, following) > 1:
        return True
    if _LIST_ITEM.match(text, text.rfind("\n", newline, following) + 1, following + 12):
        return True
    if text[following].islower():
        return False
    if _goes_on_with_role(text, line_start, newline, following):
        return False
    if text[line_start:newline].rstrip()[-1:] in (",", ";", "-", "–", "("):
        return False
    return newline - line_start < _WRAPPED_LINE


def _goes_on_with_role(text: str, line_start: int, newline: int, following: int) -> bool:
    """Return whether prose goes on with a line that begins with a role. Titles, terms and lists of roles do not."""
    if not _ROLE.match(text, following):
        return False
    begin = text.rfind("\n", 0, newline) + 1
    whole = text[begin:newline]
    margin = len(whole) - len(whole.lstrip())
    is_term = following - text.rfind("\n", 0, following) - 1 > margin and not _LIST_ITEM.match(whole)
    line = text[line_start:newline].strip()
    return line[-1:].isalnum() and not line.startswith("#") and not _ROLE.match(line) and not is_term


def _stop_ends(text: str, match: re.Match[str], line_start: int) -> bool:
    """Return whether a run of stops, with the closing quotes and brackets after it, ends a sentence."""
    end = match.end()
    if end >= len(text):
        return True
    following = _NEXT_WORD.match(text, end)
    word = following[1] if following else ""
    if match["stop"] != ".":
        return not word[:1].islower()
    begin = match.start()
    return _full_stop_ends(_word_before(text, begin), word, begin - line_start)


def _word_before(text: str, end: int) -> str:
    words = text[max(0, end - _LOOKBACK) : end].split()
    if not words or text[end - 1].isspace():
        return ""
    return words[-1].lstrip(_BEFORE_WORD)


def _full_stop_ends(before: str, after: str, column: int) -> bool:
    """Return whether a full stop between two words ends a sentence. `column` is its offset in its line."""
    lowered = before.lower().strip("'’")
    opens = after.lower() in OPENERS and after[:1].isupper()
    if before.isdigit():
        return _number_ends(before, after, column)
    if lowered in BEFORE_NUMBER and after[:1].isdigit():
        return False
    if lowered in NEVER_FINAL:
        return False
    if lowered in OFTEN_FINAL:
        return opens or (lowered in ("etc", "usw") and after[:1].isupper())
    if len(before) == 1 and before.isalpha():
        return column > 2 and opens
    if _INITIALS.match(before):
        return opens
    if after[:1].islower():
        # People who write without capitals still end sentences, but a short word is more often an abbreviation.
        return len(before) > 3 and before.isalpha() and before.islower()
    return True


def _number_ends(before: str, after: str, column: int) -> bool:
    if column <= len(before) + 1:
        return False
    if len(before) <= 2 and after.lower() in MONTHS:
        return False
    return not after[:1].islower()


# Words before a full stop that do not end a sentence: English, German, Spanish and French.
#
# All are written in lower case without their last stop. One-letter words and words with inner stops (`U.S`, `z.B`)
# are recognised by their shape and need no entry.


NEVER_FINAL = frozenset(
    """
    mr mrs ms mx dr prof rev gen col maj capt lt sgt cmdr adm gov sen pres amb st mt ft
    messrs mmes mme mlle mgr sr sra srta srs dra lic arq fray hr fr hrn dipl priv doz
    vs cf viz al ca approx resp esp incl excl fig figs eq eqs sect ch chap eds
    vol vols nos pp bzw bspw vgl evtl ggf sog inkl exkl zzgl abzgl bzgl kap
    abb abs aufl bd bde hrsg hg nr nrn tel ggü einschl mind insb insbes u.a d.h z.b e.g i.e
    p.ej núm págs pág cap ap avda c/ ej aprox av boul éd num réf cie
    """.split()
)
"""Abbreviations before a name, a number or an example: they never end a sentence."""

OFTEN_FINAL = frozenset(
    """
    art arts par para app tab ref refs ed min max gem rep hon sec str env hab ing mag mm
    etc inc ltd co corp llc plc bros dept univ assn jr esq phd md ba ma bsc msc mba est
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
    ave blvd rd sq hwy usw usf gmbh ag eur usd mio mrd std tsd ust jh jhd okt dez mrz
    ud uds vd vds ee.uu cía s.a janv févr avr juil déc
    oz lb lbs in cm km kg hrs mins secs
    """.split()
)
"""Abbreviations that end a sentence if a common first word follows."""

BEFORE_NUMBER = frozenset("no p s n §".split())
"""Abbreviations only before a number."""

MONTHS = frozenset(
    """
    januar jänner februar märz april mai juni juli august september oktober november dezember
    jahrhundert jahrhunderts auflage stock platz
    """.split()
)
"""Words that make a number before them an ordinal: `3. Oktober`, `19. Jahrhundert`."""

OPENERS = frozenset(
    """
    the this that these those it its he she they we you his her their our my there here then when while where
    what who why how if in on at as for from after before although because since however but and so thus
    to a an no yes not all some many most each every both one two by with during under
    der die das dies diese dieser dieses es er sie wir ihr ich ein eine im in am auf bei mit nach für seit wenn
    als aber und doch auch so dann da dort hier man nur wie was wer warum wo zum zur
    el la los las un una unos unas lo este esta estos estas ese esa eso esto se su sus en con por para al del
    cuando como si no pero y aunque según desde entre hay
    le les un une des ce cet cette ces il elle ils elles nous vous je on dans en au aux pour par avec sur sous
    mais et quand comme si après avant depuis selon
    """.split()
)
"""Words that often begin a sentence and are rarely names."""
