"""How well footnotes hold: are true sentences supported, and changed ones caught?

    python benchmarks/citations.py [--set xquad|chunking] [--json] [--show KIND]

Claims are made from the labelled questions. True ones: the sentence that answers (`verbatim`), the same without
its last clause (`shortened`), and the question's own words with its answer (`reworded`: people wrote the
questions without copying the text), and the first behind what a model opens a sentence with (`1. …`, `Yes, …`,
`However, …`). False ones: the first with a number, a name or a negation changed, two names or two numbers exchanged,
a word turned into its opposite or its modality, the last with the answer of another question on the same paragraph
(`swapped`), and a sentence of a paragraph that was not retrieved (`invented`). Precision and recall are those of the
flag `unsupported`. Thresholds were chosen on the first half of the groups; the figures come from the second unless
`--first` is given.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench_library import BenchLibrary
from labelled import DATA, Case, Source, chunking, halves_of, xquad

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))
import corrupt

from footnotes.answer.align import Aligner
from footnotes.answer.passages import passages_of
from footnotes.answer.questions import FUNCTION_WORDS, subject_of
from footnotes.answer.reader import Reader
from footnotes.text.sentences import sentence_spans

PASSAGES = 4
TRUE = ("verbatim", "shortened", "reworded", "1. …", "Yes, …", "However, …")
FALSE = (
    "number", "name", "negation", "names exchanged", "numbers exchanged", "opposite", "turned", "condition", "swapped",
    "invented",
)  # fmt: skip
_AUXILIARY = re.compile(r"\b(is|are|was|were|has|have|had|will|can|could|must|may|did|does|do)\b")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}\b")


@dataclass(frozen=True)
class Claim:
    """A sentence an answer might hold, and whether the passages support it."""

    text: str
    kind: str
    case: Case

    @property
    def true(self) -> bool:
        return self.kind in TRUE


class Maker:
    """Makes claims from cases; the same seed makes the same claims."""

    def __init__(self, sources: Sequence[Source], cases: Sequence[Case]) -> None:
        self._texts = {source.name: source.text for source in sources}
        self._answers: dict[str, list[str]] = defaultdict(list)
        for case in cases:
            self._answers[case.source] += [self._texts[case.source][start:end] for start, end in case.spans]
        self._names = sorted({name for text in self._texts.values() for name in _NAME.findall(text)})
        self._random = random.Random(7)
        self._opposite = corrupt.antonym_change(DATA / "entailment")

    def claims(self, case: Case, retrieved: set[str]) -> Iterator[Claim]:
        text = self._texts[case.source]
        start, end = case.spans[0]
        sentence = next((text[a:b] for a, b in sentence_spans(text) if a <= start < b), "")
        if len(sentence.split()) < 5:
            return
        made = {
            "verbatim": sentence,
            "shortened": self._shortened(sentence),
            "reworded": self._reworded(case, text[start:end]),
            "number": self._other_number(sentence),
            "name": self._other_name(sentence),
            "negation": self._negated(sentence),
            "1. …": "1. " + sentence,
            "Yes, …": "Yes, " + sentence[:1].lower() + sentence[1:],
            "However, …": "However, " + sentence[:1].lower() + sentence[1:],
            "names exchanged": corrupt.swap_names(sentence, text, self._random),
            "numbers exchanged": corrupt.swap_numbers(sentence, text, self._random),
            "opposite": self._opposite(sentence, text, self._random),
            "turned": corrupt.turn_word(sentence, text, self._random),
            "condition": corrupt.swap_clauses(sentence, text, self._random),
            "swapped": self._swapped(case, text[start:end]),
            "invented": self._invented(case, retrieved),
        }
        yield from (
            Claim(claim, kind, case) for kind, claim in made.items() if claim and (claim != sentence or kind in TRUE)
        )

    def _shortened(self, sentence: str) -> str:
        head, comma, tail = sentence.rpartition(", ")
        return head + "." if comma and len(head.split()) > 5 and len(tail.split()) > 2 else ""

    def _reworded(self, case: Case, answer: str) -> str:
        if len(answer.split()) > 12:
            return ""
        subject = subject_of(case.question)[1].strip(" ?")
        words = [
            word for word in subject.split() if word.lower() not in ("what", "which", "who", "did", "does", "do", "how")
        ]
        return f"It is {answer}: {' '.join(words)}."

    def _other_number(self, sentence: str) -> str:
        numbers = list(re.finditer(r"\d+", sentence))
        if not numbers:
            return ""
        chosen = self._random.choice(numbers)
        changed = str(int(chosen[0]) + self._random.randint(1, 9))
        return sentence[: chosen.start()] + changed + sentence[chosen.end() :]

    def _other_name(self, sentence: str) -> str:
        names = [match for match in _NAME.finditer(sentence) if match[0].lower() not in FUNCTION_WORDS]
        if not names:
            return ""
        chosen = self._random.choice(names)
        other = self._random.choice([name for name in self._names if name not in sentence])
        return sentence[: chosen.start()] + other + sentence[chosen.end() :]

    def _negated(self, sentence: str) -> str:
        if re.search(r"\b(not|no|never|nor)\b|n't", sentence) or not (verb := _AUXILIARY.search(sentence)):
            return ""
        return sentence[: verb.end()] + " not" + sentence[verb.end() :]

    def _swapped(self, case: Case, answer: str) -> str:
        digits = any(char.isdigit() for char in answer)
        others = [
            other
            for other in self._answers[case.source]
            if any(char.isdigit() for char in other) == digits and other not in answer and answer not in other
        ]
        return self._reworded(case, self._random.choice(others)) if others else ""

    def _invented(self, case: Case, retrieved: set[str]) -> str:
        absent = sorted(set(self._texts) - retrieved)
        # Paragraphs of the same article speak of the same things, which makes it harder.
        related = [name for name in absent if name.rpartition("-")[0] == case.source.rpartition("-")[0]]
        if not absent:
            return ""
        text = self._texts[self._random.choice(related or absent)]
        sentences = [text[start:end] for start, end in sentence_spans(text) if end - start > 40]
        return self._random.choice(sentences) if sentences else ""


Outcome = tuple[Claim, bool, bool, float, bool]


def outcomes(library: BenchLibrary, maker: Maker, cases: Sequence[Case], reader: Reader | None) -> Iterator[Outcome]:
    """Every claim with whether it passed as supported and certain, whether its footnote holds the answer, the
    milliseconds, and whether it is certain. A true claim that is not certain passed: it keeps its footnote."""
    for case in cases:
        hits = library.search(case.question, PASSAGES)
        (start, end), *_ = case.spans
        if not any(hit.filename == case.source and hit.start <= start and end <= hit.end for hit in hits):
            continue
        aligner = Aligner(passages_of(hits), reader=reader)
        for claim in maker.claims(case, {hit.filename for hit in hits}):
            began = time.perf_counter()
            supports = aligner.align(claim.text)
            took = (time.perf_counter() - began) * 1000
            exact = any(s.passage.filename == case.source and s.start <= start and end <= s.end for s in supports)
            certain = bool(supports) and all(support.certain for support in supports)
            yield claim, bool(supports) if claim.true else certain, exact, took, certain


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("xquad", "chunking"), default="xquad")
    parser.add_argument("--language", default="en")
    parser.add_argument("--first", action="store_true", help="measure the half the thresholds were chosen on")
    parser.add_argument("--show", metavar="KIND", help="print the claims of a kind that were judged wrongly")
    parser.add_argument("--questions", type=int, default=10_000, help="questions to make claims from, taken evenly")
    parser.add_argument("--without-reader", action="store_true", help="judge by words alone")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sources, cases = xquad(options.language) if options.set == "xquad" else chunking()
    half = halves_of(cases, lambda case: case.group)[0 if options.first else 1]
    with BenchLibrary.of_sources(sources, mode="lexical") as library:
        step = max(1, len(half) // options.questions)
        found = list(
            outcomes(library, Maker(sources, cases), half[::step], None if options.without_reader else Reader())
        )
    for claim, supported, *_ in found:
        if claim.kind == options.show and supported != claim.true:
            print(f"{claim.kind}: {claim.case.question}\n    {claim.text}")
    show(found, options.json)


def _recall(found: Sequence[Outcome]) -> float:
    false = [row for row in found if not row[0].true]
    return sum(not row[1] for row in false) / max(1, len(false))


def show(found: Sequence[Outcome], as_json: bool) -> None:
    by_kind = {kind: [row for row in found if row[0].kind == kind] for kind in (*TRUE, *FALSE)}
    supported = {kind: sum(row[1] for row in rows) / max(1, len(rows)) for kind, rows in by_kind.items()}
    flagged = [row for row in found if not row[1]]
    figures = {
        "claims": len(found),
        "supported": supported,
        "precision": sum(not row[0].true for row in flagged) / max(1, len(flagged)),
        "recall": _recall(found),
        "recall_but_swapped": _recall([row for row in found if row[0].kind != "swapped"]),
        "span_holds_answer": sum(row[2] for row in by_kind["reworded"])
        / max(1, sum(row[1] for row in by_kind["reworded"])),
        "p50_ms": sorted(row[3] for row in found)[len(found) // 2],
    }
    if as_json:
        print(json.dumps(figures))
        return
    print("| kind | claims | judged supported | certain |\n| --- | --- | --- | --- |")
    for kind, rows in by_kind.items():
        certain = sum(row[4] for row in rows) / max(1, len(rows))
        truth = "true" if kind in TRUE else "false"
        print(f"| {kind} ({truth}) | {len(rows)} | {supported[kind]:.3f} | {certain:.3f} |")
    print(", ".join(f"{name} {value:.3f}" for name, value in figures.items() if isinstance(value, float)))


if __name__ == "__main__":
    main()
