"""Gives a model with unsupported sentences one more attempt: it is told which ones, and writes again."""

from __future__ import annotations

from collections.abc import Sequence

from footnotes.answer.citations import Cited
from footnotes.answer.models import ChatRequest, Message
from footnotes.answer.prompt import escaped

_ASKS = (
    "These sentences of your answer are not supported by the passages:\n{findings}\n\n"
    "Write the whole answer again. Leave out what the passages do not say, or say it as they do, a condition together "
    "with its consequence. Reply with the answer alone."
)


def findings_of(cited: Cited) -> list[str]:
    """Return the sentences that are unsupported or doubted."""
    return [" ".join(cited.text[start:end].split()) for start, end in (*cited.unsupported, *cited.uncertain)]


def repair_request(request: ChatRequest, said: str, cited: Cited) -> ChatRequest:
    """Build the request for a second answer, with the first one and its faults."""
    listed = "\n".join(f"- {escaped(each)}" for each in findings_of(cited))
    asked = (Message("assistant", said), Message("user", _ASKS.format(findings=listed)))
    return ChatRequest(
        messages=(*request.messages, *asked),
        temperature=request.temperature,
        max_tokens=request.max_tokens,
        stop=request.stop,
        seed=request.seed,
    )


def is_better(new: Cited, old: Cited) -> bool:
    """Return whether a second answer is supported and has less in doubt than the first."""
    return bool(new.citations) and _doubts(new) < _doubts(old)


def _doubts(cited: Cited) -> int:
    spans: Sequence[tuple[int, int]] = (*cited.unsupported, *cited.uncertain)
    return sum(end - start for start, end in spans)
