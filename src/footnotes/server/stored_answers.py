"""Stored answers: passages are stored as spans, and their text is read from the documents when shown."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from footnotes.errors import FootnotesError
from footnotes.library import Library
from footnotes.types import Answer, KeptTurn
from footnotes.wire import to_json

_NOT_KEPT = ("prompt", "log")
_DIGEST = "text_digest"


def strip_passages(answer: Answer) -> dict[str, object]:
    """Return an answer as JSON without the prompt, the log and the text of its passages."""
    content: dict[str, Any] = to_json(answer)
    for name in _NOT_KEPT:
        content[name] = [] if name == "log" else ""
    content["hits"] = [{**hit, "text": "", _DIGEST: _digest(hit["text"])} for hit in content["hits"]]
    content["steps"] = [{**step, "tool_output": None} for step in content["steps"]]
    return content


def restore_passages(turn: KeptTurn, library: Library) -> KeptTurn:
    """Return a turn with the text of its passages. Omits passages that were deleted or have changed."""
    if turn.answer is None:
        return turn
    hits: Any = turn.answer.get("hits") or []
    found: Any = [hit_json for hit in hits if (hit_json := _restore_hit(hit, library)) is not None]
    return replace(turn, answer={**turn.answer, "hits": found})


def _restore_hit(hit: Mapping[str, Any], library: Library) -> dict[str, Any] | None:
    try:
        text = library.text(hit["document_id"], hit["start"], hit["end"])
    except FootnotesError:
        return None
    if _digest(text) != hit[_DIGEST]:
        return None
    return {**{name: value for name, value in hit.items() if name != _DIGEST}, "text": text}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
