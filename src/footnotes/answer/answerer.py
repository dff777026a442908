"""One question and its hits through whichever model the settings name."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from footnotes.answer.candidates import DocumentFrequency
from footnotes.answer.extractive import Embed, extract, written
from footnotes.config import Settings
from footnotes.types import Answer, Hit, Leg, Usage

EXTRACTIVE = "extractive"


class Answerer:
    """Answers from hits. Holds nothing but its settings, so that one may serve any number of threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def answer(
        self,
        question: str,
        hits: Sequence[Hit],
        *,
        legs: Mapping[str, Leg],
        degraded: bool,
        embed: Embed | None = None,
        document_frequency: DocumentFrequency | None = None,
    ) -> Answer:
        """The answer with its footnotes, or an abstention when the hits do not support one."""
        began = time.perf_counter()
        extracted = extract(
            question,
            hits,
            limit=self._settings.answer_sentences,
            embed=embed if self._settings.answer_vectors else None,
            document_frequency=document_frequency,
        )
        text, citations = written(extracted)
        return Answer(
            question=question,
            answer=text,
            abstained=not citations,
            citations=citations,
            hits=tuple(hits),
            model=EXTRACTIVE,
            usage=Usage(),
            steps=(),
            legs=legs,
            degraded=degraded,
            took_ms=(time.perf_counter() - began) * 1000,
        )
