"""Sample questions from documents: from their headings, and from sentences that define something."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from footnotes.library import Library
from footnotes.server.replies import QuestionKind, SampleQuestion
from footnotes.types import Block, Document

MOST = 3
_LOOKED_AT, _BLOCKS, _OF_EACH = 12, 80, 4
_LONGEST_TOPIC, _LONGEST_DEFINITION, _LEAST_WORDS = 60, 2_000, 5
_ORDER: dict[QuestionKind, int] = {"question": 0, "definition": 1, "topic": 2}
_ASKS = re.compile(
    r"^(what|how|why|when|who|where|which) (is|are|was|were|do|does|did|can|should|must|may|will|to)\b"
    r"|^(was|wie|warum|wann|wer) (ist|sind|wird|werden|kann|muss)\b|^(comment|pourquoi|qué|cómo)\b",
    re.IGNORECASE,
)
_UNCLEAR = re.compile(r"\b(hey|it|itself|this|that|these|they|we|you|i|dies|es|cela|esto)\b", re.IGNORECASE)
"""Words that refer to something named before: a question with only them is unclear."""
_INSTRUCTS = re.compile(
    r"^(add|build|call|change|check|choose|configure|connect|convert|create|customi[sz]e|declare|define|delete|deploy|disable"
    r"|enable|export|import|include|inherit|install|mix|mount|open|override|pass|protect|read|remove|rename|replace|return"
    r"|run|send|set|store|test|update|upload|use|validate|write) (?=(?:the|an?|your|custom|multiple|several)\b)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"^(\d+[.)]?)+\s*|^[a-zA-Z][.)]\s+")
_MARKUP = re.compile(r"[`*]|\s*\{[^{}]*\}\s*$")
_SIGNS = re.compile(r"[_(){}<>=|\\/\[\]#*`:$€£%@]|\d{2}|\.\w{1,4}$")
_GENERIC = re.compile(
    r"(abstract|additional features|agenda|appendix|attendees|background|conclusions?|contents|details|examples?"
    r"|general|info(rmation)?|introduction|learn more|license|more info|next (meeting|steps)|notes?|other|overview"
    r"|present|preface|read more|recap|references|related|see also|summary|table of contents|technical details|tips?"
    r"|todo|usage|anhang|beispiele?|einleitung|inhalt|überblick|zusammenfassung|annexe|exemples?|résumé|sommaire|contenido"
    r"|ejemplos?|introducción|resumen|(section|chapter|part|slide|abschnitt|kapitel) \w+)[ .]*",
    re.IGNORECASE,
)
_NAMES_NOTHING = (
    "A|An|All|Also|And|Another|Any|As|At|Both|But|Each|Every|First|For|He|Her|Here|His|I|If|In|It|Its|My|Next|No|Now|On|One|Our|She|So"
    "|Some|That|The|Their|Then|There|These|They|This|Those|To|We|What|When|Where|Which|Who|With|You|Your"
)
_DEFINES = re.compile(
    r"(?:^|(?<=[.!?]\s))((?:The|An?|Der|Die|Das|Le|La|Une?|El)\s+[\w’'-]+(?: [\w’'-]+){0,3}?) "
    r"(?:is|means|ist|est|es) (?:an?|the|ein|eine|un|une|una|any)\b"
)
_DEFINES_FIRST = re.compile(
    rf"^(?!(?:{_NAMES_NOTHING})\b)([A-Z][\w’'-]+(?: [a-z][\w’'-]+){{0,2}}?) is "
    r"(?:(?:an?|the|any) \w+"
    r"|(?!(?:not|only|also|too|very|usually|often|\w+(?:ed|en|ing))\b)\w+ (?:that|which|of|for|made|\w+ed)\b)"
)
"""Without an article only at the beginning of a paragraph: "Spirit varnish is resin dissolved in alcohol"."""
_VAGUE = re.compile(
    r"\b(first|second|third|last|next|same|only|other|following|two|three|four|five|six|result|option)\b", re.IGNORECASE
)
_LETTERS = re.compile(r"[^\W\d_]{2}")


def sample_questions(library: Library, documents: Sequence[Document]) -> list[SampleQuestion]:
    """Interleave the best of each document, so a large one does not take all places."""
    ready = [document for document in documents if document.status == "ready"][:_LOOKED_AT]
    lists = sorted(
        filter(None, (_document_questions(library, document) for document in ready)),
        key=lambda own: _ORDER[own[0].kind],
    )
    rounds = (each[turn] for turn in range(_OF_EACH) for each in lists if turn < len(each))
    return list(islice(distinct(rounds), MOST))


def distinct(questions: Iterable[SampleQuestion]) -> Iterator[SampleQuestion]:
    """Each question once."""
    seen: set[str] = set()
    for question in questions:
        if question.topic.casefold() not in seen:
            seen.add(question.topic.casefold())
            yield question


def is_topic(text: str) -> bool:
    """Whether a heading names something a person would ask about: not a cover's capitals, a form's note or code."""
    if len(text.encode()) < 4 or len(text) > _LONGEST_TOPIC or _SIGNS.search(text):
        return False
    if _GENERIC.fullmatch(text):
        return False
    return (text != text.upper() or text == text.lower()) and bool(_LETTERS.search(text))


def _document_questions(library: Library, document: Document) -> list[SampleQuestion]:
    """Return the questions of one document, the best first."""
    blocks = list(islice(library.blocks(document.id), _BLOCKS))
    name = document.title or document.filename
    questions = [SampleQuestion(kind, topic, document.id, name) for kind, topic in _topics(library, document, blocks)]
    return sorted(questions, key=lambda one: _ORDER[one.kind])[:_OF_EACH]


def _topics(library: Library, document: Document, blocks: Sequence[Block]) -> Iterator[tuple[QuestionKind, str]]:
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if block.kind == "heading":
            if after is not None and after.kind != "heading":  # a heading without distinctive words names no topic
                yield from _heading_questions(block, document.title or "")
        elif block.kind == "paragraph":
            text = library.text(document.id, block.start, min(block.end, block.start + _LONGEST_DEFINITION))
            whole = " ".join(_MARKUP.sub("", text).split())
            found = _DEFINES_FIRST.search(whole) or _DEFINES.search(whole)
            topic = found.group(1) if found else ""
            if topic and is_topic(topic) and not _VAGUE.search(topic) and not _UNCLEAR.search(topic):
                yield "definition", topic


def _heading_questions(block: Block, title: str) -> Iterator[tuple[QuestionKind, str]]:
    topic = _NUMBERED.sub("", _MARKUP.sub("", block.headings[-1] if block.headings else "").strip())
    if not is_topic(topic) or topic.casefold() == title.casefold():
        return
    if _UNCLEAR.search(topic):
        return
    if topic.endswith(("?", "？", "؟")) or (_ASKS.match(topic) and len(topic.split()) >= _LEAST_WORDS):
        yield "question", topic
    elif verb := _INSTRUCTS.match(topic):
        yield "question", f"How do I {verb.group(1).lower()}{topic[verb.end(1) :]}?"
    elif not _ASKS.match(topic):
        yield "topic", topic
