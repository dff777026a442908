"""Turns hits into cited answers.

`Answerer(settings)` turns a question and its hits into an `Answer`, or into a stream of `Event`s that ends in one:

    answerer = Answerer(settings)
    answer = answerer.answer(question, hits, legs=result.legs, degraded=result.degraded,
                             embed=embedder.embed, document_frequency=share_of_chunks, read=library_text)
    for event in answerer.stream(question, hits, ...same...): ...

All but `legs` and `degraded` are optional (see `Findings`): `embed` is an embedder's `embed`, used if the setting
`answer_vectors` is on; `document_frequency` gives the share of chunks (0 to 1) that hold a term as
`footnotes.text.analysis` spells it; `read(document_id, start, end)` returns canonical text, to join neighbours.
Hits with `page_starts` in their metadata, a list of `[page, start]`, give exact pages if a chunk spans
several.
"""

from __future__ import annotations

from footnotes.answer.answerer import Answerer, Findings, last_answer

__all__ = ["Answerer", "Findings", "last_answer"]
