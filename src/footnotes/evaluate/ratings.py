"""Turns ratings of answers into questions of a golden set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from footnotes.evaluate.golden import Question
from footnotes.library import Library
from footnotes.types import KeptTurn


def questions_of_ratings(library: Library) -> Iterator[Question]:
    """Build questions from ratings. Quotes of a good answer are expected results. A bad one has only its question.

    The ids of the latter begin with `down-`: the editor of the set adds the expected results.
    """
    names = {document.id: document.filename for document in library.documents()}
    for place, turn in enumerate(library.conversations.rated(library.settings.user), start=1):
        if turn.rating == "down":
            yield Question(f"down-{place}", turn.question)
        elif turn.answer is not None:
            yield _good(f"up-{place}", turn, names)


def _good(name: str, turn: KeptTurn, names: dict[str, str]) -> Question:
    answer: Any = turn.answer
    quoted = [one for one in answer["citations"] if one["document_id"] in names]
    documents = dict.fromkeys((names[one["document_id"]] for one in quoted), 1)
    passages = tuple(dict.fromkeys(one["quote"] for one in quoted))
    return Question(name, turn.question, documents, passages, answer=turn.text, answerable=not answer["abstained"])
