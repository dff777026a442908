"""The questions and stretches of sentences the chooser is trained on, and those it is measured on.

Each question has the stretch that answers and, for most, one that does not: of the same passage, of the passage of the
same article that has most of the question's words, or of the whole set. A stretch that does not answer is cut where
it is nearest to the question, as the windows of `answer/windows.py` are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from random import Random
from typing import Any

from data import is_kept, lines

from footnotes.text.sentences import sentence_spans

WINDOW_CHARACTERS, SENTENCE_CHARACTERS = 480, 400
SIBLING, AWAY, FAR = 0.6, 0.3, 0.15
"""How often a question is also read with a passage of its article, another part of its passage, a passage of the set."""
CHOSEN_FROM = {"squad11_a": 10300, "squad2_half": 3600, "nq_gold_passage": 2262, "squad11_b": 3400, "policyqa": 1200}
"""How many questions of each set are trained on. Sets without a stated licence or for research only are left out."""
HARD = 0.6
"""How often the passage of the article is the nearest of twenty, and not of two."""
MEDQUAD, ANSWERING = 1800, 2
"""Questions of MedQuAD, and the first sentences of its long answers that are taken to answer."""
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True)
class Passage:
    """A question, the sentences of a passage, and which of them answer it."""

    question: str
    title: str
    sentences: tuple[str, ...]
    answers: tuple[bool, ...]
    kind: str


class Articles:
    """The passages of a set, by article, and which is nearest to a question."""

    def __init__(self, passages: Sequence[dict[str, Any]]) -> None:
        self.texts = {line["id"]: line for line in passages}
        self.words = {key: _words(line["text"]) for key, line in self.texts.items()}
        self.counts = Counter(word for words in self.words.values() for word in words)
        self.by_title: dict[str, list[str]] = {}
        for key, line in self.texts.items():
            self.by_title.setdefault(line.get("title") or "", []).append(key)

    def siblings(self, key: str) -> list[str]:
        title = self.texts[key].get("title") or ""
        return [other for other in self.by_title[title] if other != key] if title else []

    def nearest(self, question: str, keys: Sequence[str], answers: Sequence[str]) -> dict[str, Any] | None:
        """The passage that has most of the question's words, the rarer the heavier, and none of its answers."""
        words = _words(question)
        best, most = None, 0.0
        for key in keys:
            text = self.texts[key]["text"].lower()
            worth = sum(log(len(self.texts) / self.counts[word]) for word in words & self.words[key])
            if worth > most and not any(answer.lower() in text for answer in answers if answer):
                best, most = self.texts[key], worth
        return best


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def passages(training: Path, chance: Random, *, kept: bool = False) -> list[Passage]:
    """Questions with the stretch that answers, or does not, and with others on the same matter."""
    made: list[Passage] = []
    for name, wanted in CHOSEN_FROM.items():
        articles = Articles(list(lines(training / name / "passages.jsonl.gz")))
        asked = [line for line in lines(training / name / "questions.jsonl.gz") if (line["split"] == "dev") == kept]
        chance.shuffle(asked)
        for line in asked[:wanted]:
            made += _asked(articles, line, name, chance)
    return made + list(_abstracts(training, chance, kept)) + list(_medical(training, chance, kept))


def _asked(articles: Articles, line: dict[str, Any], name: str, chance: Random) -> Iterator[Passage]:
    question, answers = line["question"], line["answers"]
    home = articles.texts[line["passage_id"]]
    yield _stretch(question, home, line["spans"], name, chance)
    if line["spans"] and chance.random() < AWAY and (away := _elsewhere(question, home, line["spans"], name, chance)):
        yield away
    keys = articles.siblings(line["passage_id"])
    if keys and chance.random() < SIBLING:
        looked_at = 20 if chance.random() < HARD else 2
        other = articles.nearest(question, chance.sample(keys, min(looked_at, len(keys))), answers)
        if other is not None:
            yield _stretch(question, other, [], name + "_sibling", chance)
    if chance.random() < (FAR if keys else SIBLING):
        keys = chance.sample(sorted(articles.texts), min(150, len(articles.texts)))
        other = articles.nearest(question, [key for key in keys if key != line["passage_id"]], answers)
        if other is not None:
            yield _stretch(question, other, [], name + "_far", chance)


def _abstracts(training: Path, chance: Random, kept: bool) -> Iterator[Passage]:
    """The questions of PubMedQA: the conclusion of an abstract answers, its background and methods do not."""
    articles = Articles(list(lines(training / "pubmedqa" / "passages.jsonl.gz")))
    for line in lines(training / "pubmedqa" / "questions.jsonl.gz"):
        if (line["split"] == "dev") != kept or not line["answerable"]:
            continue
        text = articles.texts[line["passage_id"]]["text"].rstrip()
        whole = {"text": f"{text} {line['long_answer']}", "title": ""}
        spans = [[len(text) + 1, len(whole["text"])]]
        yield _stretch(line["question"], whole, spans, "pubmedqa", chance)
        half = {"text": text[: len(text) * 2 // 3], "title": ""}
        yield _stretch(line["question"], half, [], "pubmedqa_away", chance)
        keys = [key for key in chance.sample(sorted(articles.texts), 150) if key != line["passage_id"]]
        other = articles.nearest(line["question"], keys, [])
        if other is not None:
            yield _stretch(line["question"], other, [], "pubmedqa_far", chance)


def _medical(training: Path, chance: Random, kept: bool) -> Iterator[Passage]:
    """The questions of MedQuAD: the first sentences of the answer, against answers to other questions on the matter."""
    folder = training / "medquad"
    corpus = [{**line, "id": line["_id"]} for line in lines(folder / "corpus.jsonl.gz")]
    articles = Articles([line for line in corpus if 80 < len(line["text"]) < 6_000])
    rows = (folder / "qrels.tsv").read_text().splitlines()[1:]
    homes = {row.split("\t")[0]: row.split("\t")[1] for row in rows}
    asked = [line for line in lines(folder / "queries.jsonl") if is_kept(line["text"], 6) == kept]
    chance.shuffle(asked)
    for line in asked[: 200 if kept else MEDQUAD]:
        if (key := homes[line["_id"]]) not in articles.texts:
            continue
        question, home = line["text"].replace(" (are)", "").replace(" ?", "?"), articles.texts[key]
        bounds = sentence_spans(home["text"])[:ANSWERING]
        yield _stretch(question, home, [list(bounds[0]), list(bounds[-1])], "medquad", chance)
        siblings = articles.siblings(key)
        if siblings and chance.random() < SIBLING:
            yield _stretch(question, articles.texts[chance.choice(siblings)], [], "medquad_sibling", chance)


def _elsewhere(
    question: str, home: dict[str, Any], spans: Sequence[Sequence[int]], kind: str, chance: Random
) -> Passage | None:
    """The longer part of a passage before or after what answers, if it is long enough."""
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    bounds = sentence_spans(home["text"])
    before = [end for _, end in bounds if end <= first]
    after = [start for start, _ in bounds if start >= last]
    parts = [home["text"][: before[-1]] if before else "", home["text"][after[0] :] if after else ""]
    text = max(parts, key=len)
    return _stretch(question, {**home, "text": text}, [], kind + "_away", chance) if len(text) > 160 else None


def _stretch(question: str, home: dict[str, Any], spans: Sequence[Sequence[int]], kind: str, chance: Random) -> Passage:
    """Sentences about as long as one window, with the answer anywhere in it, or where most of the question's words are."""
    text = home["text"]
    bounds = sentence_spans(text)
    held = [any(min(end, last) > max(start, first) for first, last in spans) for start, end in bounds]
    words = _words(question)
    if True in held:
        place = held.index(True)
    else:
        place = max(range(len(bounds)), key=lambda at: len(words & _words(text[slice(*bounds[at])])))
    first = max(0, place - chance.randint(0, 3))
    sentences, answers, size = [], [], 0
    for (start, end), answer in list(zip(bounds, held, strict=True))[first:]:
        size += min(end - start, SENTENCE_CHARACTERS)
        if sentences and size > WINDOW_CHARACTERS and not (len(sentences) <= place - first):
            break
        sentences.append(" ".join(text[start : min(end, start + SENTENCE_CHARACTERS)].split()))
        answers.append(answer)
    title = home.get("title") or "" if chance.random() < 0.7 else ""
    return Passage(question, title, tuple(sentences), tuple(answers), kind)


def answer_sentences(training: Path, name: str, split: str) -> list[Passage]:
    """Every question of a set with its whole passage, for measuring."""
    texts = {line["id"]: line for line in lines(training / name / "passages.jsonl.gz")}
    made = []
    for line in lines(training / name / "questions.jsonl.gz"):
        if line["split"] == split:
            home = texts[line["passage_id"]]
            bounds = sentence_spans(home["text"])
            held = tuple(any(min(e, b) > max(s, a) for a, b in line["spans"]) for s, e in bounds)
            sentences = tuple(home["text"][s:e] for s, e in bounds)
            made.append(Passage(line["question"], home.get("title") or "", sentences, held, name))
    return made
