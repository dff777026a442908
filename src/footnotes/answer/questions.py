# ruff: noqa: E501 (patterns read better whole)
"""Analyses what a question asks for: its terms, and the kind of thing an answer must name.

The tables cover English, German, Spanish, French, Chinese and Arabic. Other languages only lose a little accuracy:
their function words are detected by their frequency in the library instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from footnotes.answer.forms import guess_kind
from footnotes.text.languages import detect

Kind = Literal["number", "date", "name", "colour", "version", "reason", "definition", "any"]
Form = Literal["yesno", "howto", "list", "comparison", "plain"]
"""The form of an answer: one or a few sentences, or the whole that a question of that form needs."""

_FUNCTION_WORDS = """
    a about after all also am an and any are as at be been before being between but by can could did do does doing
    during each either else for from had has have having he her here hers him his how i if in into is it its just
    many may me might more most much must my no nor not of off on once only or other our out over own same shall she
    should so some such than that the their them then there these they this those through to too under until up us
    very was wat we were what whats when where which while who whom whos whose why will with within would you your kind type
    aber alle als am an auch auf aus bei bin bis da das dass dem den der des die doch du durch ein eine einem einen
    einer eines er es für hat hatte hatten ich ihr im in ist ja kann mit nach nicht noch nur oder sich sie sind über
    um und unter viel viele vom von vor wann war waren warum was welche welchem welchen welcher welches wem wen wenn
    wer werden wessen wie wieso wird wo wurde wurden zu zum zur
    al como con cual cuales cuando cuanta cuantas cuanto cuantos de del donde el ella en entre era eran es esta está
    este fue fueron ha han hay la las le lo los más para pero por porque que qué quién quien quienes se ser si sin
    sobre son su sus también un una uno unos y cuál cuáles cuándo cuánta cuántas cuánto cuántos cómo dónde
    au aux avec ce ces combien comment dans des du elle est et il ils je leur les lui mais ne ou où par pas pour
    pourquoi quand que quel quelle quelles quels qui quoi sa ses son sont sur une été était
    什么 是什 么是 么时 时候 多少 有多 哪个 哪些 哪里 哪一 哪种 一个 谁是 是谁 如何 为什 怎么 怎样
    的是 是哪 在哪 的什 几个 有几
    هل ما ماذا من متى أين كم كيف لماذا أي هو هي في على إلى عن التي الذي كان كانت
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())

_ASKS = r"(?:^|[,;:.?]|\b(?:and|or|but|at|by|for|from|in|of|on|since|to|until|with))\s*\b"
"""Matches the text before a question word; elsewhere such a word joins a clause: "what happens when it fails"."""
_KINDS: tuple[tuple[Kind, str], ...] = (
    (
        "date",
        rf"{_ASKS}when\b|\bwhen\s*\?|\b(?:what|which) (?:year|date|day|month|century|decade|time)\b"
        r"|\bwann\b|\bwelche[mns]? (?:jahr|tag|datum)|\bcuándo\b|\bqué (?:año|fecha|día)\b"
        r"|\bquand\b|\bquelle (?:année|date)\b|何时|什么时候|哪一?年|متى|في أي عام",
    ),
    (
        "colour",
        r"\b(?:what|which) colou?rs?\b|\bwelche[rns]? farben?\b|\bqué color(?:es)?\b|\bquelles? couleurs?\b|什么颜色",
    ),
    (
        "version",
        r"\b(?:what|which) (?:\w+ )?(?:version|release)s?\b|\bwelche[rns]? version\b|\bqué versión\b|\bquelle version\b",
    ),
    (
        "number",
        r"\bhow (?:many|much|long|old|far|large|big|high|tall|often|fast|deep|wide|heavy|early|late)\b"
        r"|\b(?:what|which) (?:\w+ )?(?:percent\w*|number|amount|proportion|fraction|rate|price|cost|length)\b"
        r"|\b(?:what|which) (?:\w+ )?(?:age|size|limit|score|ratio)\b|\b(?:what|which)(?= (?:\w+ )?(?:status code|port)\b)"
        r"|\bwhat(?:['’]s| is| was) the(?= (?:[\w-]+ ){0,3}(?:age|amount|cost|depth|distance|duration|height|length|limit|number"
        r"|percentage|population|price|rate|ratio|score|size|speed|temperature|weight|width)\b)"
        r"|\bwie ?(?:viele?n?|lange?|alt|hoch|groß|oft|weit|teuer)\b|\bcuánt[oa]s?\b|\bcombien\b|多少|几|多长|多久|كم",
    ),
    (
        "name",
        rf"{_ASKS}(?:who(?:m|se)?|where)\b|\b(?:whom?|where)\s*\?|\b(?:what|which) (?:\w+ )?(?:name|person|player|team|company|country)\b"
        r"|\b(?:what|which) (?:\w+ )?(?:city|state|university|author|president|place)\b"
        r"|\bwer\b|\bwem\b|\bwen\b|\bwessen\b|\bwo\b|\bquién(?:es)?\b|\bdónde\b|\bqui\b|\boù\b|谁|哪里|哪儿|أين",
    ),
)
_KINDS += (
    ("reason", r"\bwhy\b|\bhow come\b|\b(?:what|which) (?:is|are|was|were) the (?:reason|cause|purpose|point)s?\b"
     r"|\bwarum\b|\bwieso\b|\bweshalb\b|\bpor qué\b|\bpourquoi\b|为什么|لماذا"),
    ("definition", r"^\s*what (?:is|are) (?!the\b)(?:an? )?(?:\S+ ){1,2}in \S+\s*\??\s*\Z"
     r"|^\s*(?:wh?at(?:['’]?s| is| are| does| do)|define|explain what)\b"
     r"(?!.*\b(?:of|in|for|during|at|on|to|from|with|between)\b)(?=(?:\s+\S+){1,4}\s*(?:mean|stand for)?\s*\??\s*\Z)"
     r"|^\s*was (?:ist|sind|bedeutet)\b|^\s*qué (?:es|son|significa)\b|什么是"),
)  # fmt: skip
_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)

_NUMBER_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve dozen fifteen twenty thirty forty fifty sixty"
    " seventy eighty ninety hundred thousand million billion half third quarter once twice first second"
    " ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig hundert tausend"
    " dos tres cuatro cinco seis siete ocho nueve diez once doce veinte cien mil"
)
NUMBER = re.compile(
    r"\d+(?:[.,:]\d+)*|[零一二三四五六七八九十百千万亿两]+|\b(?:" + "|".join(_NUMBER_WORDS.split()) + r")\b", re.I
)
DATE = re.compile(
    r"\b1\d{3}\b|\b20\d\d\b|\b\d{1,2}(?:st|nd|rd|th)\b|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d+年|\d+月"
    r"|\b(?:jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)[a-zä]*\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|\b(?:century|decade|jahrhundert|siglo|siècle)\b",
    re.I,
)
VERSION = re.compile(
    r"(?<![\w.])v?\d+\.\d+\.\d+\w*|\b(?:[Vv]ersion|[Rr]elease|[A-Z]\w+) v?\d+(?:\.\d+)*\b|\bv\d+(?:\.\d+)*\b"
)
COLOUR = re.compile(
    r"\b(?:black|white|gr[ae]y|red|green|blue|yellow|orange|brown|purple|violet|pink|gold(?:en)?|silver|turquoise|beige"
    r"|ivory|crimson|scarlet|schwarz|weiß|grau|rot|grün|blau|gelb|braun|lila|rosa|negr[oa]|blanc[oa]|gris|roj[oa]|verde"
    r"|azul|amarill[oa]|marrón|noire?|blanche?|rouge|verte?|bleue?|jaune)(?:e[mnrs]?|s)?\b|[黑白灰红绿蓝黄橙棕紫粉金银]色",
    re.IGNORECASE,
)
REASON = re.compile(
    r"\b(?:because(?! of (?:this|that)\b)|since|that['’]s why|this is why|as a result|so that(?!['’]s)|in order to|due to|thanks to|therefore|reason|this way|that way|avoid|prevent|allows?"
    r"|otherwise|weil|damit|denn|deshalb|porque|para que|parce que|afin)\b",
    re.IGNORECASE,
)
DEFINITION = re.compile(
    r"\b(?:(?:is|are)(?! (?:also|actually|already|always|less|more|not|now|often|only|still|then|very)\b)|means?|refers? to|stands? for|defines?|does|ist|sind|bedeutet|es|son|est|sont|converts?|allows?)\b",
    re.IGNORECASE,
)
_CALLED = re.compile(
    r"\b(?:called|defines?|known as|stands? for|means|named|defined as|heißt|llamad[oa])\b", re.IGNORECASE
)
_FORMS: tuple[tuple[Form, re.Pattern[str]], ...] = (
    (
        "comparison",
        re.compile(
            r"\bdifferences?\b.{0,40}\bbetween\b|\bdiffer(?:s|ent)?\b.{0,20}\bfrom\b|\bcompare|\b(?:vs\.?|versus)\s"
            r"|\b(?:better|faster|instead of|rather than)\b.{0,40}\b(?:or|than|of)\b|\bunterschied\b|\bdiferencia",
            re.IGNORECASE,
        ),
    ),
    (
        "howto",
        re.compile(
            r"^\s*(?:how (?:do|can|could|should|would|to|does one|must|shall)\b|(?:what|which) (?:are the )?steps\b"
            r"|(?:what(?:'s| is) the )?(?:best )?way to\b|wie (?:kann|mache|richte)|cómo (?:puedo|se)\b|comment\b)",
            re.IGNORECASE,
        ),
    ),
    (
        "list",
        re.compile(
            r"^\s*(?:list\b|name (?:all|the)\b"
            r"|(?:what|which) (?:\w+ ){0,4}\w+[^siu\W]s (?:are|can|do|does|exist|have|is|must|should)\b"
            r"|which (?:\w+ ){0,2}?(?!was|has|does)\w+[a-hj-rtv-z]s (?!is\b|was\b|has\b|of\b)\w+|what are\b|(?:what|which) (?:kinds?|types?|sorts?) of\b|what all\b|welche \w+e[nrs]? (?:gibt|sind)\b)",
            re.IGNORECASE,
        ),
    ),
    (
        "yesno",
        re.compile(
            r"^\s*(?:is|are|am|was|were|do|does|did|can|could|should|shall|will|would|has|have|had|must|may|might|need)\b"
            r"|^\s*(?:ist|sind|kann|darf|muss|hat|haben|gibt)\b",
            re.IGNORECASE,
        ),
    ),
)
DOING = (
    r"(?:add|call|choose|click|configure|copy|create|declare|define|disable|download|enable|enter|import|include|inherit|install|make"
    r"|mount|open|pass|press|put|replace|return|run|select|set|start|turn|use|write)\b(?!\s*:)"
)
"""Matches a verb that opens an instruction."""
INSTRUCTS = re.compile(
    r"\W*(?:(?:then|first|next|now|finally|so|and|just),? )*(?:you (?:just )?(?:can|could|should|must|need to|have to|will need to)\b"
    r"|to \w+ [^.]{3,80}, (?:you|use|run|set|add|call|pass|import|declare|open|press|choose)\b"
    rf"|{DOING})",
    re.IGNORECASE,
)
"""Matches a sentence that says what to do."""
ELSEWHERE = re.compile(
    r"\b(?:for (?:more|additional|further) (?:info|information|details)|(?:read|learn|know|find) (?:out )?more\b|see (?:the|also|(?:part|item|note|section) [\dIVX]+)\b|please (?:refer|see)\b|refer to the\b|have a look at|check (?:out )?the\b"
    r"|you (?:have )?(?:\w+ )?(?:saw|seen|read) how|(?:later|next) you will (?:see|learn|read)|you can (?:later )?read"
    r"|you (?:\w+ )?(?:read|saw|have seen) (?:before|above|earlier|previously)|in the (?:next|previous) (?:chapter|section|page)s?\b"
    r"|\Alater,.{0,60}\byou(?: will|['’]ll) (?:see|learn|read)|there(?: is|['’]s) an? (?:\w+ )?(?:tutorial|guide|chapter|section|page) (?:on|about|for|that)\b)",
    re.IGNORECASE,
)
"""Matches a sentence that says where to read about something."""
NAME = re.compile(r"(?<![.!?:\n] )(?<!^)\b[A-ZÀ-ÖØ-ÞА-Я][\w'’-]+")
DIGITS = re.compile(r"\d[\d.,:]*")
WORD = re.compile(r"\w+")


_POINTS_AT_TEXT = re.compile(
    r",?\s*\b(?:as (?:\w+ly )?)?(?:described|detailed|discussed|documented|given|mentioned|outlined|presented|referenced|reported|stated)"
    r" (?:in|by|within) (?:the|this|these|your|my) (?:\w+ )?(?:articles?|conversations?|documents?|files?|papers?|passages?|reports?|texts?)\b"
    r"|,?\s*\b(?:according to|based on|from|in) (?:the|this|these) (?:\w+ )?(?:articles?|documents?|passages?|texts?)\b(?=\s*[,?.]|\s*\Z)"
    r"|,?\s*\b(?:according to|based on|from|in) (?:the|this|these) (?:(?:above|current|described|discussed|given|mentioned|present|provided|reported) )?"
    r"(?:authors?|conversations?|papers?|publications?|reports?|research|stud(?:y|ies))\b(?=\s*[,?.]|\s*\Z)"
    r"|\A\s*according to (?:the|this|these) (?:articles?|authors?|documents?|papers?|passages?|reports?|research|stud(?:y|ies)|texts?),?\s+",
    re.IGNORECASE,
)


def without_pointers(question: str) -> str:
    """Remove phrases that only point to the documents: "according to the text"."""
    left = _POINTS_AT_TEXT.sub("", question).lstrip(" ,")
    return left if any(word not in FUNCTION_WORDS for word in WORD.findall(left.lower())) else question


def subject_of(question: str) -> tuple[Kind, str]:
    """Return what an answer must name, and the question without the words that ask ("how long", "in what year")."""
    for kind, pattern in _PATTERNS:
        if found := pattern.search(question):
            if kind == "definition":
                return kind, _MEANS.sub("", question)
            return kind, question[: found.start()] + " " + question[found.end() :]
    if any(pattern.search(question) for _, pattern in _FORMS):
        return "any", question
    guess = _KINDS_GUESSED.get(_guess(question), "any")
    return "any" if guess == "definition" and _WHAT.match(question) else guess, question


_WHAT = re.compile(r"\s*what\b", re.IGNORECASE)
_MEANS = re.compile(r"\s+(?:means?|stands? for)\s*\??\s*\Z", re.IGNORECASE)
_SYMBOLS = re.compile(r"[`\"'‘“]([^\w\s`\"'‘’“”]{1,5})[`\"'’”]")
_CODE = re.compile(r"`([^`]+)`")
_LISTED = re.compile(
    r"^\s*(?:what|which) (?:are )?(?:all )?(?:of )?(?:the )?((?:[\w-]+ ){0,4}?[\w-]+s)"
    r"(?= (?:of|for|in|are|can|could|do|does|exist|have|must|should|to|that|there|you|may)\b|\s*\?|\s*\Z)",
    re.IGNORECASE,
)


def symbols_in(question: str) -> tuple[str, ...]:
    """Find symbols in code or between quotation marks in a question: `...`, `->`."""
    return tuple(dict.fromkeys(_SYMBOLS.findall(question)))


def has_symbol(sentence: str, symbols: Sequence[str]) -> bool:
    """Return whether a sentence has one of these symbols in code or, without code, apart from its words."""
    code = "".join(f" {each} " for each in _CODE.findall(sentence))
    if code:
        return any(symbol in code for symbol in symbols)
    return any(re.search(rf"(?<![\w.]){re.escape(symbol)}(?![\w.])", sentence) for symbol in symbols)


def listed_thing(question: str) -> str:
    """Return the word for the things to list: options, in "what are all the options of the tool"."""
    found = _LISTED.match(question)
    return found[1].split()[-1] if found else ""


def _defines(sentence: str, question: str) -> bool:
    """Return whether a sentence defines the last word of the subject, or gives something that name."""
    asked = _asked_words(question)
    if not asked:
        return False
    if defines_at_once(sentence, question):
        return True
    at = sentence.lower().find(asked[-1].removesuffix("s"))
    if at < 0:
        return False
    if _MEANS.search(question) and re.match(rf"\W*{re.escape(asked[-1])}\W*(?::| [-–—])\s", sentence, re.IGNORECASE):
        return True  # a list entry: `name`: what it means
    after = DEFINITION.search(sentence, at + len(asked[-1]) - 1)
    soon = after is not None and at <= _SOON and after.start() - at <= 2 * _SOON
    longer = _LONGER_NAME.match(sentence, at + len(asked[-1])) or _COMPOUND.match(sentence, at + len(asked[-1]) - 1)
    return (soon and not longer) or ((called := _CALLED.search(sentence)) is not None and called.start() < at)


def defines_at_once(sentence: str, question: str, above: str = "") -> bool:
    """Return whether a sentence or list entry begins with the subject of the question and says what it is.

    The text `above` it, heading and title, may name the rest of the subject.
    """
    asked = _asked_words(question)
    found = _ENTRY_HEAD.match(sentence)
    if found is None or not asked:
        return False
    said = f"{sentence} {above}".lower()
    if any(_stem(word) not in said for word in asked):
        return False
    head, colon, _ = sentence.partition(": ")
    if colon and len(head) <= 2 * _SOON and asked[-1] in WORD.findall(head.lower()):
        return True
    head = sentence[found.end() :].lower()
    at = head.find(_stem(asked[-1]))
    if at < 0 or len(WORD.findall(head[:at])) > len(asked):
        return False
    after = head[at + len(_stem(asked[-1])) :]
    return _SAYS_AT_ONCE.match(after) is not None


def _stem(word: str) -> str:
    return word.removesuffix("s") if len(word) > 3 else word


def _asked_words(question: str) -> list[str]:
    subject = _WITHIN.sub("", question.lower())
    return [word for word in WORD.findall(subject) if word not in FUNCTION_WORDS and word not in _ASKING]


_ENTRY_HEAD = re.compile(r"\W*(?:(?:the|an?|in \w+,?) )?", re.IGNORECASE)
_SAYS_AT_ONCE = re.compile(
    r"s?\W{0,3}(?: \([^()]{2,60}\))?(?:,[^,.]{2,80},)?(?: (?:command|option|flag|function|method|directive|statement|tool))?"
    r"\s*(?::\s|[-–—] |\b(?:(?:is|are)(?! (?:also|actually|already|always|less|more|not|now|often|only|still|then|used|very)\b)|means?|refers?|stands?|defines?|does|allows?|lets?|provides?|describes?|\w{3,}s(?= (?:the|an?|all|you|your|how|that|whether|its|one|two)\b))\b)"
)
_ASKING = frozenset({"mean", "means", "stand", "define", "explain"})
_WITHIN = re.compile(r"(?<=\w) in \S+\s*\??\s*\Z")
_LONGER_NAME = re.compile(r"s? +[A-Z][a-z]")
"""Matches the rest of a longer name: Garden Club is no garden."""
_COMPOUND = re.compile(
    r"\w?s? +(?!(?:class|command|decorator|framework|function|library|method|model|module|object|operation|parameter|protocol|standard"
    r"|system|term|tool|type|which|that|also|just|in|or|and)\b)[a-z]+ (?:is|are|was|were)\b"
)
"""Matches a word that turns the subject into something else: a garden gate is no garden."""
_SOON = 40
"""The maximum characters before the thing that a sentence defines."""


@lru_cache(maxsize=256)
def form_of(question: str) -> Form:
    """Return the form of an answer to the question: what its words say, or else what they make likely."""
    said: Form | None = next((form for form, pattern in _FORMS if pattern.search(question)), None)
    return said or (_FORMS_GUESSED.get(_guess(question), "plain") if subject_of(question)[0] == "any" else "plain")


def is_english(question: str) -> bool:
    """Return whether a question is English. The models of answers were trained on English."""
    letters = [char for char in question if char.isalpha()]
    return detect(question.split()) == "en" and sum(char.isascii() for char in letters) >= 0.8 * len(letters)


def _guess(question: str) -> str:
    """Return what a question asks for by the model of forms, if it is sure; else nothing."""
    if not is_english(question):
        return ""
    kind, chance = guess_kind(question)
    return kind if chance >= _SURE.get(kind, 1.0) else ""


_SURE = {"howto": 0.5, "comparison": 0.5, "list": 0.4, "yesno": 0.6, "why": 0.6, "definition": 0.55, "numeric": 0.55}
"""How likely a guess must be."""
_FORMS_GUESSED: dict[str, Form] = {"howto": "howto", "comparison": "comparison", "list": "list", "yesno": "yesno"}
_KINDS_GUESSED: dict[str, Kind] = {"why": "reason", "definition": "definition", "numeric": "number"}


_PERIODS = re.compile(
    r"\b(?:(?:first|second|third|fourth) (?:and (?:first|second|third|fourth) )?(?:fiscal )?(?:quarters?|half)|first (?:three|six|nine) months"
    r"|(?:three|six|nine|twelve) months ended(?: \w+ \d{1,2},)?|(?:Form )?10-[QK]|(?:fiscal|calendar)(?: years?)?)\b(?:,? (?:of )?(?:fiscal )?(?:years? )?(?:19|20)\d\d(?: and (?:19|20)\d\d)?)?",
    re.IGNORECASE,
)


def without_periods(sentence: str) -> str:
    """Remove quarters and fiscal years from a sentence: their numbers are no figures."""
    return _PERIODS.sub(" ", sentence)


def names_kind(sentence: str, kind: Kind, question: str) -> bool:
    """Return whether the sentence names something of that kind that is not in the question."""
    if kind == "any":
        return True
    if kind == "number":
        sentence = without_periods(sentence)
    if kind == "reason":
        return REASON.search(sentence) is not None
    if kind == "definition":
        return _defines(sentence, question)
    pattern = {"number": NUMBER, "date": DATE, "name": NAME, "colour": COLOUR, "version": VERSION}[kind]
    known = {word.casefold() for word in WORD.findall(question)}
    return any(found.casefold() not in known for found in pattern.findall(sentence))
