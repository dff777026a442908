"""The pairs the verifier is trained on, and those it is measured on.

Only sets whose licence allows a model that ships; docs of each are in the folder's README. What is kept for
development is chosen by a hash of the evidence, so that no passage stands on both sides.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import corrupt
from corrupt import Change

from footnotes.text.sentences import sentence_spans

SUPPORTED, UNSUPPORTED, CONTRADICTED, NOT_SUPPORTED = 0, 1, 2, 3
"""The last: the source does not say which of the two before it is."""

TWO_LABELS = frozenset(
    "attributionbench begin citation_integrity halueval_qa help paws_wiki scone stsb summedits wice".split()  # noqa: SIM905
)
WANTED = {
    "attributionbench": 9999, "wice": 9999, "summedits": 1500, "scifact": 9999, "citation_integrity": 1800, "begin": 9999,
    "halueval_qa": 1400, "paws_wiki": 9999, "scone": 1000, "help": 700, "breaking_nli": 1500, "cad_nli": 5000,
    "conjnli": 1500, "infotabs": 3000, "mnli_matched_dev": 9999, "snli_dev": 6000, "negation_nli": 1500,
    "fever_dev": 9999, "boolq_dev": 1500, "condaqa_dev": 900, "contractnli": 700, "stsb": 600,
}  # fmt: skip
TWICE = frozenset(("attributionbench", "wice", "scifact", "begin"))
"""Small and nearest to what is asked: an answer's sentence against what it cites."""
"""How many pairs of each source are trained on. SICK, ANLI and AVeriTeC forbid commercial use and are left out."""
KEPT = {
    "attributionbench": 30,
    "wice": 30,
    "summedits": 40,
    "scifact": 30,
    "begin": 30,
    "paws_wiki": 8,
    "mnli_matched_dev": 8,
}
"""Percent of the evidence of a source that is kept for development; FEVER Symmetric is kept whole."""


@dataclass(frozen=True)
class Pair:
    """A claim and its evidence."""

    evidence: str
    claim: str
    label: int
    kind: str


def is_kept(text: str, percent: int) -> bool:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") % 100 < percent


def lines(path: Path) -> Iterator[dict[str, Any]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


# ── claims and evidence ──────────────────────────────────────────────────────────────────────────────────


def entailment(folder: Path, chance: Random) -> tuple[list[Pair], list[Pair]]:
    """Published pairs, to train on and to develop on."""
    trained, kept = [], []
    for source, wanted in WANTED.items():
        mine = []
        for line in lines(folder / f"{source}.jsonl.gz"):
            label = {"supported": 0, "unsupported": 1, "contradicted": 2}[line["label"]]
            label = NOT_SUPPORTED if label and source in TWO_LABELS else label
            pair = Pair(line["premise"], line["claim"], label, source)
            (kept if is_kept(pair.evidence, KEPT.get(source, 0)) else mine).append(unmarked(pair))
        trained += _balanced(mine, wanted, chance) * (2 if source in TWICE else 1)
    for line in lines(folder / "fever_symmetric.jsonl.gz"):
        kept.append(Pair(line["premise"], line["claim"], 0 if line["label"] == "supported" else 2, "fever_symmetric"))
    return trained, kept


def unmarked(pair: Pair) -> Pair:
    """A pair without the numbers and addresses of its sources, which no claim of ours has."""
    evidence = re.sub(r"^\[\d+\] https?://\S+\s*", "", pair.evidence, flags=re.MULTILINE)
    return replace(pair, evidence=evidence or pair.evidence, claim=re.sub(r"\s*\[\d+\]", "", pair.claim))


def _balanced(pairs: list[Pair], wanted: int, chance: Random) -> list[Pair]:
    """At most so many, and no label more than twice as often as the supported ones are."""
    chance.shuffle(pairs)
    supported = sum(pair.label == SUPPORTED for pair in pairs)
    room = {label: max(2 * supported, 200) for label in range(1, 4)} | {SUPPORTED: len(pairs)}
    taken = []
    for pair in pairs:
        room[pair.label] -= 1
        if room[pair.label] >= 0:
            taken.append(pair)
    return taken[:wanted]


def documentation() -> Iterator[str]:
    """Text with code names in it: our own pages (Apache-2.0) and the docstrings of Python's library (PSF)."""
    for page in sorted((Path(__file__).parents[1] / "docs").rglob("*.md")):
        text = re.sub(r"```.*?```|^\|.*$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        yield from (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
    for source in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        try:
            tree = ast.parse(source.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                yield from (" ".join(part.split()) for part in re.split(r"\n\s*\n", ast.get_docstring(node) or ""))


def made_pairs(training: Path, entailed: Path, count: int, chance: Random, *, kept: bool = False) -> list[Pair]:
    """Pairs made of plain text: sentences as they are, reworded, and corrupted."""
    prose = [line["text"] for name in ("squad11_a", "squad11_b", "nq_gold_passage", "policyqa") for line in
             lines(training / name / "passages.jsonl.gz")]  # fmt: skip
    code = [text for text in documentation() if "`" in text or "_" in text or "()" in text]
    prose, code = (sorted({each for each in texts if is_kept(each, 6) == kept}) for texts in (prose, code))
    changes: dict[str, Change] = {
        "names": corrupt.swap_names, "numbers": corrupt.swap_numbers, "number": corrupt.change_number,
        "unit": corrupt.change_unit, "turn": corrupt.turn_word, "negation": corrupt.negate,
        "antonym": corrupt.antonym_change(entailed), "condition": corrupt.swap_clauses, "entity": corrupt.wrong_entity,
        "code": corrupt.swap_code,
    }  # fmt: skip
    share = {"names": 3, "numbers": 2, "number": 2, "unit": 1, "turn": 2, "negation": 1, "antonym": 2, "condition": 1,
             "entity": 2, "code": 5, "unrelated": 1, "joined": 1}  # fmt: skip
    kinds = [kind for kind, times in share.items() for _ in range(times)]
    made: list[Pair] = []
    while len(made) < count:
        kind = chance.choice(kinds)
        text = chance.choice(code if kind == "code" and code else prose)
        spans = [text[start:end] for start, end in sentence_spans(text)]
        good = [place for place, each in enumerate(spans) if 30 <= len(each) <= 260 and each.endswith(".")]
        if not good:
            continue
        place = chance.choice(good)
        before, after = (len(spans),) * 2 if chance.random() < 0.2 else chance.choices((0, 0, 1), k=2)
        window = spans[max(0, place - before) : place + 1 + after]
        evidence, sentence = " ".join(window), spans[place]
        false = _falsified(kind, sentence, evidence, spans, window, changes, chance)
        if false is None or false == sentence or false in text:
            continue
        label = CONTRADICTED if kind in ("number", "negation", "antonym") else NOT_SUPPORTED
        if kind in ("unrelated", "joined"):
            label = UNSUPPORTED
        opener = chance.choice(corrupt.OPENERS) if chance.random() < 0.3 else ""
        made.append(Pair(evidence, opener + false, label, "made_" + kind))
        made.append(Pair(evidence, corrupt.reworded(sentence, chance), SUPPORTED, "made_true_" + kind))
    return made


def _falsified(
    kind: str,
    sentence: str,
    evidence: str,
    spans: list[str],
    window: list[str],
    changes: dict[str, Change],
    chance: Random,
) -> str | None:
    if kind in changes:
        return changes[kind](sentence, evidence, chance)
    others = [each for each in spans if each not in window and 30 <= len(each) <= 200]
    if not others:
        return None
    other = chance.choice(others)
    return other if kind == "unrelated" else f"{sentence.rstrip('.')}, and {other[:1].lower()}{other[1:]}"


@dataclass(frozen=True)
class Asked:
    """A question of a passage with its answer, and the answers of other questions on the same passage."""

    question: str
    text: str
    answer: str
    at: int
    elsewhere: tuple[str, ...]

    def others(self, evidence: str) -> list[str]:
        """What else of the evidence could stand in the answer's place, the answers of other questions first."""
        digits = any(map(str.isdigit, self.answer))
        alike = [
            each
            for each in self.elsewhere
            if any(map(str.isdigit, each)) == digits and each in evidence and len(each) < 90
            and each not in self.answer and self.answer not in each and each.lower() not in self.question.lower()
        ]  # fmt: skip
        return alike or corrupt.others_like(self.answer, evidence)


def questions_of(folder: Path, *, kept: bool) -> list[Asked]:
    texts = {line["id"]: line["text"] for line in lines(folder / "passages.jsonl.gz")}
    found = [line for line in lines(folder / "questions.jsonl.gz") if line["answerable"] and line["answers"]]
    answers: dict[str, list[str]] = {}
    for line in found:
        answers.setdefault(line["passage_id"], []).append(line["answers"][0])
    return [
        Asked(line["question"].strip(), texts[line["passage_id"]], line["answers"][0], line["spans"][0][0],
              tuple(dict.fromkeys(answers[line["passage_id"]])))
        for line in found if (line["split"] == "dev") == kept
    ]  # fmt: skip


def statements(training: Path, count: int, chance: Random, *, kept: bool = False) -> list[Pair]:
    """Questions with their answers as statements; false with another answer, name or number of the passage."""
    made: list[Pair] = []
    for name in ("squad11_a", "squad11_b", "squad2_half", "nq_gold_passage"):
        for asked_one in questions_of(training / name, kept=kept):
            claim = corrupt.statement(asked_one.question, asked_one.answer)
            if claim is None:
                continue
            evidence = _around(asked_one.text, asked_one.at, chance.choice((0, 1, 1, 2)))
            made.append(Pair(evidence, claim, SUPPORTED, "made_statement"))
            if others := asked_one.others(evidence):
                false = corrupt.statement(asked_one.question, chance.choice(others))
                made.append(Pair(evidence, str(false), NOT_SUPPORTED, "made_statement_other"))
    chance.shuffle(made)
    return made[:count]


def asked(training: Path, count: int, chance: Random, *, kept: bool = False) -> list[Pair]:
    """A question with its answer behind it; false with another answer of the passage, or beside other sentences."""
    made: list[Pair] = []
    for name in ("squad11_a", "squad11_b", "squad2_half", "nq_gold_passage"):
        for each in questions_of(training / name, kept=kept):
            evidence = _around(each.text, each.at, chance.choice((0, 0, 1, 2)))
            question = each.question.rstrip("?")
            opening = f"{question[:1].upper()}{question[1:]}? "
            right = f"{opening}{each.answer[:1].upper()}{each.answer[1:]}."
            made.append(Pair(evidence, right, SUPPORTED, "made_asked"))
            others = each.others(evidence)
            if others:
                made.append(Pair(evidence, f"{opening}{chance.choice(others)}.", NOT_SUPPORTED, "made_asked_other"))
            away = _away(each.text, each.answer, question)
            if away and chance.random() < 0.4:
                made.append(Pair(away, right, UNSUPPORTED, "made_asked_away"))
    chance.shuffle(made)
    return made[:count]


def _away(text: str, answer: str, question: str) -> str | None:
    """Two neighbouring sentences of a passage that share words with the question and do not hold the answer."""
    spans = sentence_spans(text)
    words = set(re.findall(r"\w{4,}", question.lower()))
    best, most = None, 0
    for (start, _), (_, end) in zip(spans, [*spans[1:], *spans[-1:]], strict=True):
        shared = len(words & set(re.findall(r"\w{4,}", text[start:end].lower())))
        if shared > most and answer.lower() not in text[start:end].lower() and end - start < 500:
            best, most = text[start:end], shared
    return best


def _around(text: str, at: int, beside: int = 1) -> str:
    spans = sentence_spans(text)
    place = next((number for number, (start, end) in enumerate(spans) if start <= at < end), 0)
    first, last = max(0, place - beside), min(len(spans), place + 1 + beside)
    return text[spans[first][0] : spans[last - 1][1]]
