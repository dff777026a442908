"""Order and scores: the guarantees of hits."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from footnotes.retrieve import retriever
from footnotes.testing.suite.harness import StoreHarness
from footnotes.testing.suite.strings import numbered

_TEXTS = [
    "Apples and pears grow on trees. Apples are red.",
    "Pears are green. A pear is not an apple.",
    "Trees have leaves, and in autumn the leaves fall.",
    "The train leaves the station at nine.",
    "Red trains and green trains pass the apple trees.",
]
_DEFINING = '''class SealBox:
    """Holds what was sealed."""

    def check_seal(self, given):
        """Whether nobody has broken it, and a good deal more that is said here about wax, string and stamps."""
        wax, string, stamp = self.wax(given), self.string(given), self.stamp(given)
        return wax and string and stamp
'''


class Ranking:
    """Higher is better, everywhere; the same question has the same answer; limits are respected."""

    def test_hits_come_in_order_with_the_ranks_of_their_legs(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            for number, text in enumerate(_TEXTS):
                library.add_text(text, filename=f"{number}.txt")
            for mode in ("lexical", "dense", "hybrid"):
                hits = library.search("red apples on trees", mode=mode, limit=10).hits
                scores = [hit.score for hit in hits]
                assert hits and scores == sorted(scores, reverse=True) and all(map(math.isfinite, scores))
                for leg in ("lexical", "dense"):
                    found = [getattr(hit.scores, leg) for hit in hits if getattr(hit.scores, leg) is not None]
                    ranked = sorted((score for score in found if score.rank is not None), key=lambda score: score.rank)
                    values = [score.score for score in ranked]
                    assert values == sorted(values, reverse=True) and all(map(math.isfinite, values))
                    assert len({score.rank for score in ranked}) == len(ranked)

    def test_the_same_question_has_the_same_answer(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            for number in range(8):
                library.add_text(numbered(number), filename=f"{number}.txt")
            first = library.search("word31 word62 marker3", limit=20)
            for _ in range(3):
                again = library.search("word31 word62 marker3", limit=20)
                assert [(hit.chunk_id, hit.score) for hit in again.hits] == [(h.chunk_id, h.score) for h in first.hits]

    def test_limits_are_kept(self, harness: StoreHarness) -> None:
        with harness.open(chunker="window", chunker_options={"size": 200, "overlap": 0}) as library:
            for number in range(5):
                text = "\n\n".join(f"shared {numbered(number * 10 + n, 30)}" for n in range(6))
                library.add_text(text, filename=f"{number}.txt")
            assert len(library.search("shared", limit=3).hits) == 3
            one = [hit.document_id for hit in library.search("shared words", limit=10, per_document=1).hits]
            assert len(one) == len(set(one)) == 5
            many = [hit.document_id for hit in library.search("shared words", limit=30, per_document=3).hits]
            assert max(many.count(document) for document in many) == 3

    def test_a_long_document_may_give_several_chunks_and_a_short_one_gives_one(self, harness: StoreHarness) -> None:
        with harness.open(chunker="window", chunker_options={"size": 200, "overlap": 0}) as library:
            library.add_text("\n\n".join(f"shared {numbered(n, 30)}" for n in range(20)), filename="long.txt")
            library.add_text("\n\n".join(f"shared {numbered(50 + n, 30)}" for n in range(2)), filename="short.txt")
            hits = [hit.filename for hit in library.search("shared words", limit=40).hits]
            assert hits.count("short.txt") == 1 < hits.count("long.txt")

    def test_a_document_is_found_by_its_file_name(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            for name in ("minutes", "quagga_census-2021", "letters"):
                library.add_text(f"# Notes\n\n{numbered(len(name))}", filename=f"{name}.md")
            found = library.search("quagga census", mode="lexical").hits
            assert [hit.filename for hit in found] == ["quagga_census-2021.md"]

    def test_the_document_a_question_names_is_searched_for_the_rest_of_it(self, harness: StoreHarness) -> None:
        parties = ["Aldgate Ltd", "Brixton Corp", "Camden Inc", "Dalston Plc", "Euston LLC", "Fulham Ltd"]
        with harness.open(chunker="window", chunker_options={"size": 150, "overlap": 0}) as library:
            for one, other in pairwise(parties):
                clauses = [f"{n}. {numbered(n, 18)}" for n in range(8)]
                fee = f"The fee that ends it early is {len(one) * 1000} euros, paid within thirty days of the notice."
                text = "\n\n".join([f"MERGER AGREEMENT between {one} and {other}", *clauses, fee])
                library.add_text(text, filename=f"{one[:3]}-{other[:3]}.txt")
            question = (
                "Consider the merger agreement between Camden Inc and Dalston Plc; what is the fee for an early end?"
            )
            hits = library.search(question, limit=4).hits
            assert {hit.filename for hit in hits[:2]} == {"Cam-Dal.txt"} and "fee that ends" in hits[0].text
            assert hits[0].scores.reason and [hit.score for hit in hits] == sorted(
                (h.score for h in hits), reverse=True
            )
            within = library.search(question, limit=4, where={"filename": "Ald-Bri.txt"}).hits
            assert within and {hit.filename for hit in within} == {"Ald-Bri.txt"}, "the filter stays as it is"
            one_each = library.search(question, limit=4, per_document=1).hits
            assert len({hit.document_id for hit in one_each}) == len(one_each) == 4

    def test_a_rare_word_weighs_more_than_a_common_one(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            for number in range(8):
                library.add_text(f"common words here, number {number}.", filename=f"{number}.txt")
            library.add_text("One uncommon quagga stands alone.", filename="quagga.txt")
            assert library.search("common quagga", mode="lexical").hits[0].filename == "quagga.txt"

    def test_what_defines_a_name_comes_first_then_what_uses_it(self, harness: StoreHarness) -> None:
        with harness.open(candidates=5) as library:
            for number in range(30):
                uses = f"def caller{number}(given):\n    return check_seal(given) and check_seal(check_seal(given))\n"
                library.add_text(uses, filename=f"use{number}.py", metadata={"layer": "api"})
            library.add_text(_DEFINING, filename="seal.py", metadata={"layer": "domain"})
            library.add_text("A seal is checked with care; seals are animals.", filename="seal.txt")
            for question in ("check_seal", "what does `check_seal` do?", "SealBox.check_seal()", "x.check_seal(1)"):
                for mode in ("hybrid", "lexical"):
                    hits = library.search(question, mode=mode, limit=4).hits
                    assert hits[0].filename == "seal.py" and "defines" in hits[0].scores.reason, (question, mode)
                    assert all(hit.filename.startswith("use") for hit in hits[1:]), (question, mode)
                    assert all("uses" in hit.scores.reason for hit in hits[1:])
                    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
            inside = library.search("check_seal layer:api", limit=3).hits
            assert inside and all(hit.filename != "seal.py" for hit in inside)
            assert library.search("check_seal", mode="dense", limit=3).hits[0].scores.boost == 0

    def test_names_that_nothing_defines_change_nothing(
        self, harness: StoreHarness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with harness.open() as library:
            library.add_text(_DEFINING, filename="seal.py")
            for number, text in enumerate(_TEXTS):
                library.add_text(text, filename=f"{number}.txt")
            library.settle()
            questions = ["red apples on trees", "apples in snake_case on trees", "Apple.trees()", "iPhone trees"]
            now = [library.search(question).hits for question in questions]
            monkeypatch.setattr(retriever, "find_names", lambda question: ())
            assert [library.search(question).hits for question in questions] == now
            assert all(hit.scores.boost == 0 and not hit.scores.reason for hits in now for hit in hits)
