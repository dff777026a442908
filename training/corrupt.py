# ruff: noqa: SIM905 (lists of words read better as prose; chance here keeps no secret)
"""True sentences made false in the ways a model makes them false, and reworded in ways that leave them true."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

from footnotes.answer.numbers import numbers_in

Change = Callable[[str, str, Random], str | None]
"""(sentence, its passage, chance) → the sentence changed, or None where this change does not apply."""

_NAME = re.compile(r"\b(?:[A-Z][\w’'-]+|[A-Z]{2,})(?:\s+(?:of\s+|de\s+|van\s+)?[A-Z][\w’'-]+){0,3}")
_CODE = re.compile(r"`[^`\n]{2,60}`|\b\w+(?:[._]\w+)+\b(?:\(\))?|\b\w+\(\)|(?<=\s)--?[a-z][\w-]+")
_NUMBER = re.compile(r"(?<![\w.,])\d[\d,.]*\d|(?<![\w.,])\d(?![\w])")
_OPENS = frozenset(
    "the a an in on at by for from with it its this that these those he she they his her their there as after before"
    " during when while if although however but and or we you i most many some all one two to of such each both also".split()
)
_UNITS = [
    "km miles meters feet", "kilometers miles metres", "million billion thousand", "percent points",
    "seconds minutes hours days", "weeks months years", "second minute hour day", "week month year", "kg pounds tons grams",
    "mm cm inches", "dollars euros pounds yen", "kb mb gb tb", "ms seconds minutes", "degrees radians", "square cubic",
]  # fmt: skip
_TURNS = {
    "may": "must", "might": "will", "can": "must", "could": "will", "should": "must", "must": "may", "some": "all",
    "most": "all", "many": "few", "few": "many", "several": "all", "usually": "always", "often": "always",
    "sometimes": "always", "rarely": "often", "always": "never", "never": "always", "least": "most", "more": "less",
    "fewer": "more", "less": "more", "recommended": "required", "required": "optional", "optional": "required",
    "about": "exactly", "before": "after", "after": "before", "until": "after", "first": "last", "last": "first",
    "above": "below", "below": "above", "increased": "decreased", "decreased": "increased", "higher": "lower",
    "lower": "higher", "partly": "fully", "only": "not only", "possible": "certain", "north": "south",
    "northern": "southern", "east": "west", "eastern": "western", "largest": "smallest", "oldest": "newest", "from": "to",
    "and": "or", "or": "and", "early": "late", "late": "early", "included": "excluded", "without": "with",
    "with": "without", "both": "neither", "every": "no", "all": "no", "any": "no", "because": "although", "if": "unless",
    "unless": "if", "enabled": "disabled", "disabled": "enabled", "true": "false", "false": "true",
}  # fmt: skip
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|will|has|have|had|does|did|do|must|may|should|would|could)\b(?! not\b)"
)
_CONDITION = re.compile(
    r"^(If|When|Because|Since|After|Before|While|Once|Although|Unless) ([^,]{8,90}), ([^,]{8,160})\.$"
)
_FRONTED = re.compile(r"^((?:In|On|During|After|Before|At|By|From|Under|For|Since|Within) [^,]{3,50}), (.{15,})\.$")
OPENERS = (
    "Yes, ", "However, ", "1. ", "2. ", "3) ", "- ", "* ", "In short, ", "According to the document, ",
    "Yes: ", "In addition, ", "Therefore, ", "Also, ", "For example, ", "Note that ", "According to the passage, ",
    "Furthermore, ", "Based on the documents, ", "In summary, ", "**Answer:** ", "As stated, ", "Specifically, ",
)  # fmt: skip


def names_of(text: str) -> list[str]:
    """Runs of capitalised words, without one that only opens a sentence."""
    found = []
    for match in _NAME.finditer(text):
        word = match[0]
        opening = match.start() == 0 or text[: match.start()].rstrip()[-1:] in ".!?:"
        if opening and word.split()[0].lower() in _OPENS:
            word = " ".join(word.split()[1:])
        if word and not (opening and " " not in word and word[1:].islower()):
            found.append(word)
    return list(dict.fromkeys(found))


def others_like(answer: str, text: str) -> list[str]:
    """What else of a text could stand in an answer's place: numbers for a number, names for a name."""
    found = _NUMBER.findall(text) if _NUMBER.fullmatch(answer) else names_of(text) if answer[:1].isupper() else []
    return [each for each in dict.fromkeys(found) if each not in answer and answer not in each]


def _exchanged(text: str, one: str, other: str) -> str | None:
    first, second = text.find(one), text.find(other)
    if first < 0 or second < 0 or one in other or other in one:
        return None
    if re.fullmatch(r"[\s,]*(?:and|or|,|/|with)?[\s,]*(?:the\s)?", text[first + len(one) : second]):
        return None  # "A and B" says the same as "B and A"
    return text.replace(one, "\0").replace(other, one).replace("\0", other)


def swap_names(text: str, passage: str, chance: Random) -> str | None:
    names = names_of(text)
    if len(names) < 2:
        return None
    one, other = sorted(chance.sample(names, 2), key=text.find)
    return _exchanged(text, one, other)


def swap_numbers(text: str, passage: str, chance: Random) -> str | None:
    numbers = list(dict.fromkeys(_NUMBER.findall(text)))
    if len(numbers) < 2:
        return None
    one, other = sorted(chance.sample(numbers, 2), key=text.find)
    return _exchanged(text, one, other)


def change_number(text: str, passage: str, chance: Random) -> str | None:
    numbers = _NUMBER.findall(text)
    if not numbers:
        return None
    number = chance.choice(numbers)
    others = [each for each in _NUMBER.findall(passage) if each not in text]
    if others and chance.random() < 0.4:
        return text.replace(number, chance.choice(others), 1)
    place = chance.choice([at for at, char in enumerate(number) if char.isdigit()])
    digit = str((int(number[place]) + chance.randint(1, 8)) % 10)
    changed = number[:place] + digit + number[place + 1 :]
    return None if changed in passage else text.replace(number, changed, 1)


def change_unit(text: str, passage: str, chance: Random) -> str | None:
    for units in chance.sample(_UNITS, len(_UNITS)):
        for unit in units.split():
            if re.search(rf"\d[\s-]?{unit}\b|\b(?:two|three|four|five|six|ten|few|several) {unit}\b", text):
                other = chance.choice([each for each in units.split() if each != unit])
                return re.sub(rf"\b{unit}\b", other, text, count=1)
    return None


def turn_word(text: str, passage: str, chance: Random) -> str | None:
    words = [word for word in re.findall(r"[A-Za-z]+", text) if word.lower() in _TURNS]
    if not words:
        return None
    word = chance.choice(words)
    turned = _TURNS[word.lower()]
    return re.sub(rf"\b{word}\b", turned.capitalize() if word[0].isupper() else turned, text, count=1)


def negate(text: str, passage: str, chance: Random) -> str | None:
    if re.search(r"\bnot\b|n't\b", text) and chance.random() < 0.8:
        return re.sub(r"\bdo(es)? not |\bnot |\b(\w+)n't\b", lambda m: m[2] or "", text, count=1)
    found = list(_AUXILIARY.finditer(text))
    if not found:
        return None
    match = chance.choice(found[:2])
    return text[: match.end()] + " not" + text[match.end() :]


def swap_clauses(text: str, passage: str, chance: Random) -> str | None:
    match = _CONDITION.match(text)
    if match is None:
        return None
    word, condition, consequence = match.groups()
    return f"{word} {_lowered(consequence)}, {condition}."


def wrong_entity(text: str, passage: str, chance: Random) -> str | None:
    names = names_of(text)
    others = [each for each in names_of(passage) if each not in text and not any(word in text for word in each.split())]
    if not names or not others:
        return None
    return text.replace(chance.choice(names), chance.choice(others))


def swap_code(text: str, passage: str, chance: Random) -> str | None:
    names = list(dict.fromkeys(_CODE.findall(text)))
    others = [each for each in dict.fromkeys(_CODE.findall(passage)) if each not in text]
    if not names:
        return None
    name = chance.choice(names)
    if len(names) > 1 and chance.random() < 0.4:
        return _exchanged(text, *sorted(chance.sample(names, 2), key=text.find))
    if others and chance.random() < 0.5:
        return text.replace(name, chance.choice(others))
    return text.replace(name, _invented(name, chance))


def _invented(name: str, chance: Random) -> str:
    """A name much like another that nobody defined."""
    parts = re.split(r"([._-])", name.strip("`()"))
    place = chance.randrange(0, len(parts), 2)
    other = chance.choice("value name mode items path data key limit type url id options state config check".split())
    if chance.random() < 0.5:
        parts[place] = other
    else:
        parts[place] += "_" + other if parts[place].islower() else other.capitalize()
    return name.replace(name.strip("`()"), "".join(parts))


def antonym_change(folder: Path) -> Change:
    """A word for its opposite, from WordNet."""
    table: dict[str, list[str]] = {}
    with gzip.open(folder / "lexicon_wordnet_antonyms.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            word, other, *_ = line.rstrip("\n").split("\t")
            if " " not in word + other and "_" not in word + other and word.islower():
                table.setdefault(word, []).append(other)

    def change(text: str, passage: str, chance: Random) -> str | None:
        words = [word for word in re.findall(r"\b[a-z]{3,}\b", text) if word in table and word not in _OPENS]
        if not words:
            return None
        word = chance.choice(words)
        return re.sub(rf"\b{word}\b", chance.choice(table[word]), text, count=1)

    return change


def _lowered(text: str) -> str:
    return (
        text
        if text[:2].isupper() or (text[:1].isupper() and text.split()[0] in names_of("x " + text))
        else (text[:1].lower() + text[1:])
    )


# ── honest rewordings ────────────────────────────────────────────────────────────────────────────────────


def reworded(text: str, chance: Random) -> str:
    """The same statement in other words, or after an opening that states nothing."""
    changes = [_front_to_back, _clauses_back, _without_brackets, _digits, _contracted, _first_clause, _date]
    for change in chance.sample(changes, len(changes)):
        changed = change(text, chance)
        if changed and changed != text:
            text = changed
            break
    if chance.random() < 0.45:
        opener = chance.choice(OPENERS)
        text = opener + (_lowered(text) if opener.endswith((", ", "that ")) else text)
    return text


def _front_to_back(text: str, chance: Random) -> str | None:
    match = _FRONTED.match(text)
    return f"{match[2][:1].upper()}{match[2][1:]} {match[1][:1].lower()}{match[1][1:]}." if match else None


def _clauses_back(text: str, chance: Random) -> str | None:
    match = _CONDITION.match(text)
    return f"{match[3][:1].upper()}{match[3][1:]} {match[1].lower()} {match[2]}." if match else None


def _without_brackets(text: str, chance: Random) -> str | None:
    return re.sub(r"\s*\([^()]{2,60}\)", "", text, count=1) or None


def _digits(text: str, chance: Random) -> str | None:
    for number in numbers_in(text):
        if number.written.isalpha() and number.written in (
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "ten",
        ):
            return text[: number.start] + str(int(min(number.values))) + text[number.end :]
    return text.replace("%", " percent", 1) if "%" in text else re.sub(r"(\d),(\d{3})\b", r"\1\2", text, count=1)


def _contracted(text: str, chance: Random) -> str | None:
    return re.sub(r"\b(do|does|did|is|are|was|were|has|have|had) not\b", r"\1n't", text, count=1)


def _first_clause(text: str, chance: Random) -> str | None:
    match = re.match(r"^([^,;]{25,}), (?:and|but|while) (?:it|he|she|they|the|this|its) .+\.$", text)
    return match[1] + "." if match else None


def _date(text: str, chance: Random) -> str | None:
    months = "January|February|March|April|May|June|July|August|September|October|November|December"
    return re.sub(rf"\b({months}) (\d{{1,2}}), (\d{{4}})\b", r"\2 \1 \3", text, count=1)


# ── statements out of questions and their answers ────────────────────────────────────────────────────────

_SUBJECT = re.compile(
    r"^(?:who|what|which(?: \w+){1,3}|what (?!is|are|was|were|do|does|did|year|kind|type)\w+(?: \w+)?)"
    r" ((?:was|were|is|are|has|had|have|can|will|won|led|made|\w+ed|\w+s) .+)\?$",
    re.IGNORECASE,
)


_INVERTED = re.compile(
    r"^(?:was|were|is|are|has|had|have|can|will)\s+(?:the|a|an|his|her|it|he|she|they|there|this|that|these|[A-Z]\S*)\b"
    r"|^\w+ (?:do|does|did|is|are|was|were|has|had|have|can|will)\b|^(?:does|is|was|has)\b(?= (?:it|he|she|the)\b)|^does\b|^did\b"
)


_COPULA = re.compile(r"^(?:what|who|which) (is|are|was|were) (the|an?|his|her|its|their|one) (.+)\?$", re.IGNORECASE)


def statement(question: str, answer: str) -> str | None:
    """`Who founded Rome?`, `Romulus` → `Romulus founded Rome.`; `What is the capital of Italy?`, `Rome` → `The capital …`.

    Only where the question's subject, or what its subject is, is asked."""
    if match := _COPULA.match(question.strip()):
        return f"{match[2].capitalize()} {match[3]} {match[1].lower()} {answer}."
    match = _SUBJECT.match(question.strip())
    if match is None or _INVERTED.search(match[1]):
        return None
    return f"{answer[:1].upper()}{answer[1:]} {match[1]}."
