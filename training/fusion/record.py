"""Take the sets into libraries, ask every question, and keep what both legs said of each candidate.

    python training/fusion/record.py --data ../shared/data --work DIR [NAME …]

Learning then reads the records alone, and takes seconds.
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sets import LEARNT, MEASURED, write_set

from footnotes.evaluate.golden import Question, read_golden
from footnotes.evaluate.golden import Names
from footnotes.index import Vector
from footnotes.library import Library
from footnotes.retrieve.retriever import Retriever, SearchOptions
from footnotes.settings import Settings
from footnotes.store import SearchView
from footnotes.store.views import Candidates
from footnotes.store.views import Question as Asked
from footnotes.types import SearchResult


@dataclass(frozen=True, slots=True)
class Record:
    """A question, what the legs know of its candidates, and which documents were to be found."""

    question: str
    terms: dict[str, tuple[float, int]]
    lexical: NDArray[np.float64]
    dense: NDArray[np.float64]
    lexical_ranks: NDArray[np.int64]
    dense_ranks: NDArray[np.int64]
    bound: float
    words: float
    chunks: int
    vectors: NDArray[np.float16]
    documents: NDArray[np.int64]
    grades: NDArray[np.int64]
    ideal: tuple[int, ...]
    """The grades of all that should be found, best first, whether it is among the candidates or not."""


class RecordingView:
    """A view that keeps what its last search found."""

    def __init__(self, view: SearchView) -> None:
        self._view = view
        self.asked: Asked
        self.found: Candidates

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    def candidates(self, question: Asked) -> Candidates:
        self.asked, self.found = question, self._view.candidates(question)
        return self.found


class RecordingRetriever(Retriever):
    """Searches as ever, and keeps the candidates of the last question."""

    def search(
        self, view: SearchView, query: str, options: SearchOptions, embed: Callable[[str], Vector]
    ) -> SearchResult:
        self.view = RecordingView(view)
        return super().search(self.view, query, options, embed)  # type: ignore[arg-type]


def record(library: Library, questions: Sequence[Question]) -> list[Record]:
    retriever = RecordingRetriever()
    library._searcher._retriever = retriever
    names, found = Names(library), []
    for question in questions:
        result = library.search(question.text, limit=10)
        view = retriever.view
        if view.found.lexical.scores is None or view.found.dense.scores is None:
            continue
        found.append(_record(result.query, names.grades(question), view))
    return found


def _record(question: str, judged: Any, view: RecordingView) -> Record:
    found = view.found
    places = found.places(list(found.keys))
    ids = {row.key: row.document_id for row in view.hits(list(found.keys))}
    terms = view.asked.terms or {}
    return Record(
        question,
        {term: (weight, view.document_frequency(term)) for term, weight in terms.items()},
        found.lexical.scores,
        np.nan_to_num(found.dense.scores),
        found.lexical.ranks,
        found.dense.ranks,
        found.bound,
        found.words,
        found.chunks,
        np.asarray(found.vectors, dtype=np.float16),
        np.array([places[key][0] for key in found.keys], dtype=np.int64),
        np.array([judged.get(ids[key], 0) for key in found.keys], dtype=np.int64),
        tuple(sorted((grade for grade in judged.values() if grade > 0), reverse=True)),
    )


def load(work: Path, name: str) -> list[Record]:
    return pickle.loads((work / name / "records.pickle").read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    for name in arguments.names or [*LEARNT, *MEASURED]:
        folder = arguments.work / name
        if not (folder / "golden.jsonl").exists():
            write_set(name, arguments.data, folder)
        with Library(folder / "library", settings=Settings(embedder_variant="fast")) as library:
            library.add(folder / "documents")
            library.settle()
            records = record(library, read_golden(folder / "golden.jsonl"))
        (folder / "records.pickle").write_bytes(pickle.dumps(records))
        print(f"{name}: {len(records)} questions", flush=True)


if __name__ == "__main__":
    main()
