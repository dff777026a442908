"""Order and scores: what a search promises of its hits."""

from __future__ import annotations

import math

from footnotes.testing.suite.shelf import Shelf
from footnotes.testing.suite.texts import numbered

_TEXTS = [
    "Apples and pears grow on trees. Apples are red.",
    "Pears are green. A pear is not an apple.",
    "Trees have leaves, and in autumn the leaves fall.",
    "The train leaves the station at nine.",
    "Red trains and green trains pass the apple trees.",
]


class Ranking:
    """Higher is better, everywhere; the same question has the same answer; limits are kept."""

    def test_hits_come_in_order_with_the_ranks_of_their_legs(self, shelf: Shelf) -> None:
        with shelf.open() as library:
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

    def test_the_same_question_has_the_same_answer(self, shelf: Shelf) -> None:
        with shelf.open() as library:
            for number in range(8):
                library.add_text(numbered(number), filename=f"{number}.txt")
            first = library.search("word31 word62 marker3", limit=20)
            for _ in range(3):
                again = library.search("word31 word62 marker3", limit=20)
                assert [(hit.chunk_id, hit.score) for hit in again.hits] == [(h.chunk_id, h.score) for h in first.hits]

    def test_limits_are_kept(self, shelf: Shelf) -> None:
        with shelf.open(chunker="window", chunker_options={"size": 200, "overlap": 0}) as library:
            for number in range(5):
                text = "\n\n".join(f"shared {numbered(number * 10 + n, 30)}" for n in range(6))
                library.add_text(text, filename=f"{number}.txt")
            assert len(library.search("shared", limit=3).hits) == 3
            one = [hit.document_id for hit in library.search("shared words", limit=10, per_document=1).hits]
            assert len(one) == len(set(one)) == 5
            many = [hit.document_id for hit in library.search("shared words", limit=30, per_document=3).hits]
            assert max(many.count(document) for document in many) == 3

    def test_a_rare_word_weighs_more_than_a_common_one(self, shelf: Shelf) -> None:
        with shelf.open() as library:
            for number in range(8):
                library.add_text(f"common words here, number {number}.", filename=f"{number}.txt")
            library.add_text("One uncommon quagga stands alone.", filename="quagga.txt")
            assert library.search("common quagga", mode="lexical").hits[0].filename == "quagga.txt"
