"""Questions that name a document, over documents that are much alike: is the passage found inside the named one?

    python benchmarks/named.py [--data DIR] [--work DIR] [--only NAME …]

The sets are made from `../shared/data`, in the form of LegalBench-RAG (Pipitone and Alami, 2024), whose own texts are
not read here: confidentiality agreements put together from real clauses (ContractNLI) between real companies, privacy
policies by site (PolicyQA), and articles (SQuAD). Prints the share of the exact characters found with 8 passages.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from footnotes.evaluate.compare import compare
from footnotes.evaluate.golden import Names, Question, read_golden, write_golden
from footnotes.evaluate.metrics import span_recall
from footnotes.library import Library

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
PASSAGES = 8
LONGEST_CLAUSE = 1_000
WAYS: dict[str, dict[str, Any]] = {
    "lexical": {"mode": "lexical"},
    "dense": {"mode": "dense"},
    "rrf": {"fusion": "rrf"},
    "hybrid": {},
}
Documents = dict[str, str]
Made = tuple[Documents, list[Question]]

_ASKED = {
    "reverse engineer": "may objects be reverse engineered?",
    "destroy or return": "must confidential information be returned or destroyed when it ends?",
    "grant": "does it grant the receiving party any right to the information?",
    "only include technical": "is confidential information limited to technical information?",
    "expressly identified": "does information have to be marked as confidential?",
    "retain": "may copies be kept after the return or destruction of the information?",
    "solicit": "is hiring or soliciting the other side's people forbidden?",
    "third-parties": "may information be passed on to consultants and advisors?",
    "required by law": "what happens when disclosure is required by law?",
    "acquire information similar": "may similar information come from somebody else?",
    "any purpose other": "for which purposes may the information be used?",
    "verbally": "does what was said orally count as confidential?",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--work", type=Path, default=Path("/tmp/footnotes-named"))
    parser.add_argument("--only", nargs="*", choices=list(SETS))
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        print(f"skipped: there is no data in {arguments.data}")
        return
    print("| set | questions | " + " | ".join(WAYS) + " | hybrid over the better leg |\n" + "| --- " * 7 + "|")
    for name in arguments.only or SETS:
        print(_row(name, arguments.data, arguments.work / name), flush=True)


def _row(name: str, data: Path, work: Path) -> str:
    with filled(work, lambda: SETS[name](data)) as library:
        questions = read_golden(work / "golden.jsonl")
        runs = {way: list(recalls(library, questions, **options)) for way, options in WAYS.items()}
    better = max(("lexical", "dense"), key=lambda way: fmean(runs[way]))
    found = compare(runs[better], runs["hybrid"])
    shown = " | ".join(f"{100 * fmean(run):.1f}" for run in runs.values())
    low, high = 100 * found.low, 100 * found.high
    return f"| {name} | {len(questions)} | {shown} | {100 * found.difference:+.1f} [{low:+.1f}, {high:+.1f}] |"


def recalls(library: Library, questions: list[Question], **options: Any) -> Iterator[float]:
    """The share of the characters to be found, of each question."""
    names = Names(library)
    for question in questions:
        hits = library.search(question.text, limit=PASSAGES, per_document=PASSAGES, **options).hits
        yield span_recall([(hit.document_id, hit.start, hit.end) for hit in hits], names.spans(question))


def filled(work: Path, make: Callable[[], Made]) -> Library:
    """The library of a set, filled when it is new."""
    source = work / "documents"
    if not source.is_dir():
        documents, questions = make()
        source.mkdir(parents=True)
        for name, text in documents.items():
            (source / name).write_text(text, encoding="utf-8")
        write_golden(work / "golden.jsonl", questions)
    library = Library(work / "library")
    library.add(source)
    library.settle()
    return library


# ── the sets


def agreements(data: Path, *, count: int = 30, asked: int = 120) -> Made:
    """Each agreement has a clause of every kind, others between; names stand at the top or in the file name."""
    random = Random("agreements")
    clauses: dict[str, list[str]] = {}
    others: list[str] = []
    for row in _rows(data / "entailment" / "contractnli.jsonl.gz"):
        clause = " ".join(row["premise"].split())
        if len(clause) > LONGEST_CLAUSE:
            continue
        if row["label"] == "unsupported":
            others.append(clause)
        else:
            clauses.setdefault(row["claim"], []).append(clause)
    firms = [row["name"] for row in _rows(data / "training" / "companies" / "companies.jsonl.gz")]
    random.shuffle(firms)
    documents: Documents = {}
    questions: list[Question] = []
    for number in range(count):
        one, other = firms[2 * number : 2 * number + 2]
        top = f"EXECUTION VERSION\n\nNON-DISCLOSURE AGREEMENT\n\nThis agreement is made between {one} and {other}.\n\n"
        name = f"{one} - {other}.txt" if number % 2 else f"agreement-{number:03}.txt"
        top = "EXECUTION VERSION\n\nNON-DISCLOSURE AGREEMENT\n\n" if number % 4 == 1 else top
        name = name.replace("/", " ")
        kinds = list(clauses)
        random.shuffle(kinds)
        text = top
        for at, kind in enumerate(kinds, 1):
            clause = random.choice(clauses[kind])
            text += f"{2 * at - 1}. {random.choice(others)}\n\n{2 * at}. "
            span = (name, len(text), len(text) + len(clause))
            text += f"{clause}\n\n"
            said = next(said for part, said in _ASKED.items() if part in kind)
            question = f"Consider the Non-Disclosure Agreement between {one} and {other}; {said}"
            questions.append(Question("", question, spans=(span,)))
        documents[name] = f"{text}Notices to {one} and to {other} are given in writing."
    return documents, _numbered(random.sample(questions, asked))


def policies(data: Path, *, asked: int = 120) -> Made:
    """Privacy policies, a site each; the name is what comes before the dot."""
    return _joined(
        data / "training" / "policyqa",
        lambda title: f"{title}.txt",
        lambda title, question: f"Consider {title.split('.')[0].capitalize()}'s privacy policy; {question}",
        asked,
    )


def articles(data: Path, *, asked: int = 120) -> Made:
    """Articles, by their title on top."""
    return _joined(
        data / "training" / "squad11_a",
        lambda title: f"{len(title)}{title[:2]}{title[-2:]}.md",
        lambda title, question: f"In the article \u201c{title}\u201d: {question}",
        asked,
        top=lambda title: f"# {title}\n\n",
        most=10,
    )


def _joined(
    folder: Path,
    filename: Callable[[str], str],
    ask: Callable[[str, str], str],
    asked: int,
    *,
    top: Callable[[str], str] = lambda title: "",
    most: int = 1_000,
) -> Made:
    """Passages with the same title as one document."""
    random = Random(folder.name)
    documents: Documents = {}
    places: dict[str, tuple[str, str, int]] = {}
    taken: dict[str, int] = {}
    for row in _rows(folder / "passages.jsonl.gz"):
        title = row["title"]
        taken[title] = taken.get(title, 0) + 1
        if taken[title] > most:
            continue
        name = filename(title)
        text = documents.get(name, top(title))
        places[row["id"]] = (title, name, len(text))
        documents[name] = f"{text}{row['text']}\n\n"
    questions = []
    for row in _rows(folder / "questions.jsonl.gz"):
        if row["passage_id"] in places and row["spans"]:
            title, name, start = places[row["passage_id"]]
            spans = tuple((name, start + first, start + last) for first, last in row["spans"][:1])
            questions.append(Question("", ask(title, row["question"]), spans=spans))
    return documents, _numbered(random.sample(questions, asked))


def _numbered(questions: list[Question]) -> list[Question]:
    return [Question(str(at), each.text, spans=each.spans) for at, each in enumerate(questions)]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


SETS: dict[str, Callable[[Path], Made]] = {"agreements": agreements, "policies": policies, "articles": articles}

if __name__ == "__main__":
    main()
