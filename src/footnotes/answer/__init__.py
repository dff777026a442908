"""hits → cited answer.

`Answerer(settings)` turns a question and the hits found for it into an `Answer`:

    answerer = Answerer(settings)
    answer = answerer.answer(question, hits, legs=result.legs, degraded=result.degraded,
                             embed=embedder.embed, document_frequency=share_of_chunks)

`embed` and `document_frequency` are optional and make the extractive answer better: the first is an embedder's
`embed`, used where the setting `answer_vectors` is on; the second gives the share of chunks (0 to 1) that hold a
term as `footnotes.text.analysis` spells it.
Hits that carry `page_starts` in their metadata, a list of `[page, start]`, give exact pages where a chunk
spans several.
"""

from __future__ import annotations

from footnotes.answer.answerer import Answerer

__all__ = ["Answerer"]
