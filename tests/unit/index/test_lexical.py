from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from footnotes.index import Allowed, Change, Entry, IndexDamaged, lexical_reader
from footnotes.index.lexical import LexicalIndex

K1, B = 1.2, 0.75


def body(number: int) -> list[str]:
    rng = random.Random(number)
    return [f"t{min(int(rng.paretovariate(0.7)), 300)}" for _ in range(rng.randint(5, 60))]


def entry(number: int) -> Entry:
    return Entry(number, number // 3, " ".join(body(number)), facets=(f"parity\x1f{number % 2}",))


def make(folder: Path, numbers: range) -> LexicalIndex:
    index = LexicalIndex(folder, "me")
    changes = [Change(1, n // 3, [entry(n)]) for n in numbers if n % 3 == 0]
    changes = [Change(1, document, [entry(n) for n in numbers if n // 3 == document]) for document in
               sorted({n // 3 for n in numbers})]  # fmt: skip
    index.apply(changes, position=7)
    return index


def bm25(terms: list[str], numbers: range) -> dict[int, float]:
    """Robertson's formula over plain counts; tantivy rounds document lengths, hence the tolerance in the tests."""
    counts = {n: Counter(body(n)) for n in numbers}
    lengths = {n: sum(counts[n].values()) for n in numbers}
    average = sum(lengths.values()) / len(numbers)
    scores = dict.fromkeys(numbers, 0.0)
    for term in terms:
        frequency = sum(term in counts[n] for n in numbers)
        idf = math.log(1 + (len(numbers) - frequency + 0.5) / (frequency + 0.5))
        for n in numbers:
            tf = counts[n][term]
            scores[n] += idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * lengths[n] / average))
    return scores


def test_scores_are_bm25(tmp_path: Path) -> None:
    numbers = range(300)
    index = make(tmp_path / "i", numbers)
    expected = bm25(["t1", "t5", "t40"], numbers)
    found = index.search({"t1": 1.0, "t5": 1.0, "t40": 1.0}, 20)
    assert len(found.keys) == 20
    for key, score in zip(found.keys, found.scores, strict=True):
        assert score == pytest.approx(expected[key], rel=0.06)
    assert index.score({"t1": 1.0, "t5": 1.0, "t40": 1.0}, found.keys) == pytest.approx(
        dict(zip(found.keys, found.scores, strict=True)), rel=1e-4
    )


def test_a_filter_by_facets_and_by_keys_is_the_same(tmp_path: Path) -> None:
    index = make(tmp_path / "i", range(200))
    odd = np.arange(1, 200, 2, dtype=np.int64)
    terms = {"t1": 1.0, "t2": 1.0, "t3": 2.0}
    by_keys = index.search(terms, 30, Allowed(odd))
    by_facet = index.search(terms, 30, Allowed(odd, (("parity\x1f1",),)))
    everything = index.search(terms, 200)
    expected = [key for key in everything.keys if key % 2][:30]
    assert by_keys.keys == by_facet.keys == expected
    scores = dict(zip(everything.keys, everything.scores, strict=True))
    assert by_keys.scores == pytest.approx([scores[key] for key in expected], rel=1e-4)


def test_the_budget_finds_the_same_best_as_all_terms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = make(tmp_path / "i", range(600))
    terms = dict.fromkeys(["t1", "t2", "t3", "t30", "t45", "t77"], 1.0)
    exact = index.search(terms, 10)
    monkeypatch.setattr(lexical_reader, "POSTINGS_BUDGET", 60)
    budgeted = index.search(terms, 10)
    assert len(set(exact.keys) & set(budgeted.keys)) >= 8
    for key, score in zip(budgeted.keys, budgeted.scores, strict=True):
        assert score == pytest.approx(index.score(terms, [key])[key], rel=1e-4)


def test_applying_a_change_twice_changes_nothing(tmp_path: Path) -> None:
    index = make(tmp_path / "i", range(30))
    index.apply([Change(8, 2, [entry(6), entry(7), entry(8)])], position=8)
    assert index.keys().tolist() == list(range(30))


def test_removed_documents_are_not_found(tmp_path: Path) -> None:
    index = make(tmp_path / "i", range(30))
    index.apply([Change(8, 2, [], [(6, 3)])], position=8)
    assert set(index.keys().tolist()) == set(range(30)) - {6, 7, 8}


def test_another_reader_sees_a_commit_after_refresh(tmp_path: Path) -> None:
    writer = make(tmp_path / "i", range(9))
    reader = LexicalIndex(tmp_path / "i", "me")
    writer.apply([Change(9, 3, [entry(9)])], position=9)
    assert reader.refresh() == 9
    assert reader.count() == 10


def test_a_foreign_index_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "i", range(9))
    with pytest.raises(IndexDamaged):
        LexicalIndex(tmp_path / "i", "somebody else")


def test_words_that_look_like_syntax_are_words(tmp_path: Path) -> None:
    index = LexicalIndex(tmp_path / "i", "me")
    odd = ['c++"', "near(", "body:x", "*", "^a", "a-b", "don't", "\U0001f600", "日本"]
    index.apply([Change(1, n, [Entry(n, n, word)]) for n, word in enumerate(odd, start=1)], position=1)
    for number, word in enumerate(odd, start=1):
        assert index.search({word: 1.0}, 5).keys == [number], word


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_a_filter_of_any_width_gives_the_exact_top(tmp_path: Path, share: float) -> None:
    index = LexicalIndex(tmp_path / "l", "me")
    chance = random.Random(7)
    words = ["harbour", "ledger", "quay", "mast", "anchor", "sail"]
    texts = [" ".join(chance.choices(words, k=9)) for _ in range(3_000)]
    index.apply([Change(1, n, [Entry(n, n, body=text)]) for n, text in enumerate(texts, start=1)], position=1)
    allowed = np.array(sorted(chance.sample(range(1, 3_001), int(share * 3_000))), dtype=np.int64)
    terms = {"ledger": 1.0, "mast": 1.0}
    found = index.search(terms, 40, Allowed(allowed))
    exact = index.score(terms, allowed.tolist())
    assert set(found.keys) <= set(allowed.tolist())
    assert found.scores == pytest.approx(sorted(exact.values(), reverse=True)[:40], rel=1e-5)
    assert found.scores == pytest.approx([exact[key] for key in found.keys], rel=1e-5)
