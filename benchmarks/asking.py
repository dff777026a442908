"""What answering costs beside the model: everything but the model's own time, at any size of library.

    python benchmarks/asking.py --chunks 100000 [--json]

The library is that of `benchmarks/engine.py` with sentences of fifteen words. The model is a scripted server on
loopback that answers at once with five sentences of the passages it was shown and one it invented, so that what is
measured is searching, reading, building the context, streaming and checking every sentence. The memory for repeated
questions is off but for its own figure. Processor time, of all threads and of the scripted server too, is what a
question takes when nothing else runs: wall time on a machine that is shared says little.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from engine import PER_DOCUMENT, QUESTIONS, VOCABULARY, WORDS, GivenVectors, make_vectors, make_words

from footnotes.library import Library
from footnotes.settings import Settings

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from provider import Asked, ScriptedProvider, replies

SENTENCE = 15


def write_prose(folder: Path, count: int, rng: np.random.Generator) -> list[str]:
    """Text files of numbered paragraphs in sentences; returns questions of eight of a sentence's words."""
    words = make_words(rng)
    weights = 1 / np.arange(1, VOCABULARY + 1) ** 1.07
    cumulative = np.cumsum(weights / weights.sum())
    questions: list[str] = []
    asked = set(rng.integers(0, count, QUESTIONS).tolist())
    for start in range(0, count, PER_DOCUMENT):
        numbers = range(start, min(start + PER_DOCUMENT, count))
        drawn = words[np.minimum(np.searchsorted(cumulative, rng.random((len(numbers), WORDS))), VOCABULARY - 1)]
        paragraphs = []
        for number, row in zip(numbers, drawn, strict=True):
            sentences = [" ".join(row[at : at + SENTENCE]).capitalize() for at in range(0, WORDS, SENTENCE)]
            paragraphs.append(f"Text x{number} {'. '.join(sentences)}.")
            if number in asked:
                questions.append(" ".join(rng.choice(row[:SENTENCE], size=8, replace=False)))
        (folder / f"{start // PER_DOCUMENT:07}.txt").write_text("\n\n".join(paragraphs) + "\n")
    return questions


def five_sentences(asked: Asked) -> str:
    """What a good model does, at once: five sentences of the first passage, cited, and one invented."""
    passages = asked.prompt.partition("\n[1] ")[2]
    sentences = re.findall(r"[A-Z][^.\n]{40,}\.", passages)[:5]
    return " ".join(f"{sentence[:-1]} [1]." for sentence in sentences) + " Nothing of this was ever invented [9]."


def timed(call: Callable[[str], object], questions: list[str]) -> dict[str, float]:
    took, busy = [], []
    for number, question in enumerate(questions):
        began, used = time.perf_counter(), time.process_time()
        call(f"q{number} {question}")
        took.append((time.perf_counter() - began) * 1000)
        busy.append((time.process_time() - used) * 1000)
    return {
        "p50_ms": round(float(np.median(took)), 2),
        "p95_ms": round(float(np.percentile(took, 95)), 2),
        "cpu_p50_ms": round(float(np.median(busy)), 2),
    }


def measure(count: int) -> dict[str, object]:
    rng = np.random.default_rng(5)
    vectors, queries = make_vectors(count, rng)
    with tempfile.TemporaryDirectory() as folder, ScriptedProvider(replies(five_sentences)) as provider:
        documents = Path(folder) / "documents"
        documents.mkdir()
        questions = write_prose(documents, count, rng)[:QUESTIONS]
        chunker = {"chunker": "rules", "chunker_options": {"tokens": 220, "overlap": 0}}
        settings = Settings(query_cache=0, openai_base_url=provider.base_url, **chunker)
        with Library(Path(folder) / "library", settings=settings, embedder=GivenVectors(vectors, queries)) as library:
            library.add(documents)
            library.settle()
            library.ask(f"q0 {questions[0]}")
            library.ask(f"q0 {questions[0]}", model="openai:scripted")
            figures = {
                "search": timed(lambda q: library.search(q, limit=6, per_document=6), questions),
                "extractive": timed(library.ask, questions),
                "model": timed(lambda q: library.ask(q, model="openai:scripted"), questions),
                "deep": timed(lambda q: library.ask(q, deep=True), questions[:50]),
            }
            chunks = library.status()["chunks"]
        remembering = Settings(**chunker)
        with Library(
            Path(folder) / "library", settings=remembering, embedder=GivenVectors(vectors, queries)
        ) as library:
            for number, question in enumerate(questions[:50]):
                library.ask(f"q{number} {question}")
            figures["repeated"] = timed(library.ask, questions[:50])
    return {"chunks": chunks, **figures}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure(options.chunks)
    if options.json:
        print(json.dumps(figures))
        return
    print(f"| {figures.pop('chunks'):,} chunks | p50 ms | p95 ms | p50 of processor time |\n| --- | --- | --- | --- |")
    for name, each in figures.items():
        print(f"| {name} | {' | '.join(map(str, each.values()))} |")  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
