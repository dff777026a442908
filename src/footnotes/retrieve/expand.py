"""Expands a question into several searches, on request: synonyms, rephrased questions, or an imagined answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path

from footnotes.errors import ConfigError, OptionError
from footnotes.retrieve.fuse import RRF_K
from footnotes.text.analysis import analyze
from footnotes.types import Hit, Mode

Say = Callable[[str, str], str]
"""Calls a chat model with system and user text."""

WAYS = ("synonyms", "multi", "hyde")
QUESTIONS = 3

_MULTI = (
    f"Write {QUESTIONS} other ways to ask the question, in other words and with the terms a document would use. "
    "One a line, nothing else."
)
_HYDE = (
    "Write a short passage, of three sentences at most, as it might stand in a document that answers the question. "
    "Nothing else."
)


@dataclass(frozen=True, slots=True)
class Variant:
    """An additional search, and a sentence on what it adds."""

    query: str
    mode: Mode | None
    added: str


def variants_of(question: str, ways: Sequence[str], *, synonyms: str = "", say: Say | None = None) -> list[Variant]:
    """Return the additional searches for a question."""
    found: list[Variant] = []
    for way in ways:
        if way not in WAYS:
            raise OptionError(f"there is no expansion {way!r}; use {', '.join(WAYS)}")
        if way == "synonyms":
            found += _by_synonyms(question, load_synonyms(synonyms))
        elif say is None:
            raise ConfigError(f"the expansion {way!r} needs a chat model", remedy="Name one in the setting `model`.")
        elif way == "multi":
            found += _by_other_questions(question, say)
        else:
            found += _by_imagined_answer(question, say)
    return found


def load_synonyms(path: str = "") -> list[list[str]]:
    """Load groups of synonyms: those in the user's file, then the built-in ones.

    One group per line, separated by commas; # starts a comment.
    """
    if not path:
        return _load_built_in()
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the synonyms file {path} cannot be read: {error}") from error
    return _groups(text) + _load_built_in()


@cache
def _load_built_in() -> list[list[str]]:
    return _groups(resources.files("footnotes.retrieve").joinpath("data/synonyms.txt").read_text(encoding="utf-8"))


def _groups(text: str) -> list[list[str]]:
    groups = [re.split(r"\s*[,=]\s*", line.partition("#")[0].strip()) for line in text.splitlines()]
    return [[word for word in group if word] for group in groups if len(group) > 1]


def merged_hits(lists: Sequence[Sequence[Hit]], limit: int) -> list[Hit]:
    """Merge searches by reciprocal rank fusion (Cormack et al. 2009), scored as a share of the best possible."""
    totals: dict[str, float] = {}
    hits: dict[str, Hit] = {}
    for group in lists:
        for rank, hit in enumerate(group, 1):
            totals[hit.chunk_id] = totals.get(hit.chunk_id, 0.0) + (RRF_K + 1) / (RRF_K + rank) / len(lists)
            hits.setdefault(hit.chunk_id, hit)
    order = sorted(hits, key=lambda chunk: -totals[chunk])[:limit]
    return [replace(hits[chunk], score=totals[chunk]) for chunk in order]


def _by_synonyms(question: str, groups: Sequence[Sequence[str]]) -> list[Variant]:
    terms = analyze(question)
    added: list[str] = []
    for group in groups:
        if any(_is_meant(word, question, terms) for word in group):
            added += [word for word in group if not _holds(terms, analyze(word)) and word not in added]
    if not added:
        return []
    return [Variant(f"{question} {' '.join(added)}", None, f"Synonyms added: {', '.join(added)}.")]


def _is_meant(word: str, question: str, terms: list[str]) -> bool:
    """Return whether a question has a word. Two capitals must match in case: "US" is not "us"."""
    if len(word) == 2 and word.isupper():
        return re.search(rf"\b{word}\b", question) is not None
    return _holds(terms, analyze(word))


def _holds(terms: list[str], phrase: list[str]) -> bool:
    size = len(phrase)
    return bool(phrase) and any(terms[at : at + size] == phrase for at in range(len(terms) - size + 1))


def _by_other_questions(question: str, say: Say) -> list[Variant]:
    response = say(_MULTI, f"Question: {question}")
    lines = [re.sub(r"^\s*(?:[-*•]|\d+[.)])\s*", "", line).strip() for line in response.splitlines()]
    questions = [line[:500] for line in dict.fromkeys(lines) if line and line != question][:QUESTIONS]
    return [Variant(line, None, f"Also searched for: {line}") for line in questions]


def _by_imagined_answer(question: str, say: Say) -> list[Variant]:
    """Gao et al., "Precise zero-shot dense retrieval without relevance labels" (HyDE), ACL 2023."""
    imagined = " ".join(say(_HYDE, f"Question: {question}").split())[:2_000]
    if not imagined:
        return []
    return [Variant(f"{question} {imagined}", "dense", f"Also searched for passages like: {imagined[:200]}")]
