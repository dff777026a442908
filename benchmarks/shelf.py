"""A small exact retriever for benchmarks of the answer stage: BM25, and cosine where an embedder is given."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from labelled import Source

from footnotes.answer.extractive import Embed
from footnotes.text.analysis import analyze
from footnotes.text.sentences import sentence_spans
from footnotes.types import Hit, LegScore, Scores

CHUNK_CHARACTERS = 1_600


class Shelf:
    """Documents cut at sentences, searched exactly. Scores are the share of BM25's upper bound, and the cosine."""

    def __init__(self, sources: Sequence[Source], embed: Embed | None = None) -> None:
        self._chunks = [(source, *span) for source in sources for span in chunk_spans(source.text)]
        self._embed = embed
        counts = [Counter(analyze(source.text[start:end])) for source, start, end in self._chunks]
        self._lengths = [sum(count.values()) for count in counts]
        self._average = sum(self._lengths) / len(counts)
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, count in enumerate(counts):
            for term, times in count.items():
                self._postings[term].append((number, times))
        texts = [source.text[start:end] for source, start, end in self._chunks]
        self._vectors = embed(texts, role="passage") if embed else None

    def share(self, term: str) -> float:
        """The share of chunks that hold a term."""
        return len(self._postings.get(term, ())) / len(self._chunks)

    def search(
        self, question: str, limit: int, without: tuple[str, Sequence[tuple[int, int]]] | None = None
    ) -> list[Hit]:
        """The best chunks; those that overlap the spans of `without` are left out as if they had never been added."""
        lexical = self._lexical(question)
        dense = self._dense(question)
        fused = 0.3 * lexical + 0.7 * dense if dense is not None else lexical
        order = [int(number) for number in np.argsort(-fused, kind="stable") if fused[number] > 0]
        kept = [number for number in order if not (without and self._overlaps(number, *without))][:limit]
        return [self._hit(number, lexical, dense, float(fused[number])) for number in kept]

    def _lexical(self, question: str) -> np.ndarray:
        """BM25 (Robertson and Zaragoza 2009) as a share of its upper bound for this question."""
        scores, bound = np.zeros(len(self._chunks)), 0.0
        for term in set(analyze(question)):
            postings = self._postings.get(term, [])
            idf = math.log(1 + (len(self._chunks) - len(postings) + 0.5) / (len(postings) + 0.5))
            bound += idf * 2.2
            for number, times in postings:
                length = 1.2 * (0.25 + 0.75 * self._lengths[number] / self._average)
                scores[number] += idf * times * 2.2 / (times + length)
        return scores / bound if bound else scores

    def _dense(self, question: str) -> np.ndarray | None:
        if self._embed is None or self._vectors is None:
            return None
        return np.asarray(self._vectors @ self._embed([question], role="query")[0], dtype=float)

    def _overlaps(self, number: int, name: str, spans: Sequence[tuple[int, int]]) -> bool:
        source, start, end = self._chunks[number]
        return source.name == name and any(start < last and first < end for first, last in spans)

    def _hit(self, number: int, lexical: np.ndarray, dense: np.ndarray | None, fused: float) -> Hit:
        source, start, end = self._chunks[number]
        scores = Scores(
            LegScore(None, float(lexical[number])),
            LegScore(None, float(dense[number])) if dense is not None else None,
            fused,
        )
        text = source.text[start:end]
        name = source.name
        return Hit(str(number), name, name, "", "default", text, start, end, None, (), number, {}, fused, scores)


def chunk_spans(text: str) -> list[tuple[int, int]]:
    """Whole sentences up to the size, without overlap."""
    spans: list[tuple[int, int]] = []
    for start, end in sentence_spans(text):
        if spans and end - spans[-1][0] <= CHUNK_CHARACTERS:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans
