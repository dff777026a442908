"""Odd strings: stored, found, filtered by, and returned."""

from __future__ import annotations

import pytest

from footnotes.errors import FootnotesError
from footnotes.testing.suite.harness import StoreHarness
from footnotes.types import JsonValue, Metadata

ODD = {
    "quotes": "It's \"quoted\" -- ' OR 1=1; DROP TABLE documents; \\' \\\\ \\n %s %(x)s {0} $1 ?1",
    "right to left": "שלום עולם ומילה אחת zebra עוד",
    "arabic": "مرحبا بالعالم والكتاب",
    "emoji": "Family 👩‍👩‍👧‍👦 and flags 🇩🇪 with zebra 🦓",
    "cjk": "東京都の天気は晴れです。明日も晴れるでしょう。",
    "combining": "Zu\u0308rich and Zürich, e\u0301tude",
    "wide": "ｆｕｌｌｗｉｄｔｈ words and Ⅷ numerals",
    "invisible": "zero\u200bwidth \u202ereversed\u202c and \u00adsoft",
    "tsvector": "'a':1A,2B 'b':3 a & b | !c <-> d:*",
    "long word": "start " + "x" * 5_000 + " end",
}


class Strings:
    """No text, name or value is ever interpreted as anything else."""

    @pytest.mark.parametrize("name", sorted(ODD))
    def test_an_odd_text_is_kept_and_found(self, harness: StoreHarness, name: str) -> None:
        with harness.open() as library:
            added = library.add_text(ODD[name], filename="odd.txt")
            other = library.add_text(TRAVEL, filename="travel.txt")
            assert added.status == "ready" and other.status == "ready"
            text = library.text(str(added.document_id))
            assert "".join(text.split()) == "".join(ODD[name].split())
            hits = library.search(ODD[name], mode="lexical").hits
            assert hits and hits[0].document_id == added.document_id and hits[0].text in text
            assert library.search(ODD[name]).hits and library.verify().ok

    def test_odd_names_and_metadata(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            for number, (name, text) in enumerate(ODD.items()):
                metadata: Metadata = {name: text[:200], f"key {text[:50]}": number, "nested": {"value": text[:50]}}
                added = library.add_text(f"Plain text {number}.", filename=f"{text[:40]}.txt", metadata=metadata)
                document = library.document(str(added.document_id))
                assert document.metadata[name] == text[:200] and document.metadata["nested"] == {"value": text[:50]}
                assert document.filename.endswith(".txt")
            assert len(library.documents()) == len(ODD) and library.verify().ok

    def test_a_nul_is_replaced_or_kept_but_never_an_end(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            metadata: Metadata = {"key\x00": "be\x00fore", "list": ["\x00"]}
            added = library.add_text("before\x00after zebra", filename="nul\x00.txt", metadata=metadata)
            text = library.text(str(added.document_id))
            assert len(text) == len("before\x00after zebra") and text.endswith("after zebra")
            (hit,) = library.search("zebra").hits
            assert hit.text == text and library.verify().ok
            assert library.documents(where={"key\x00": "be\x00fore"})

    def test_what_is_no_unicode_is_a_clear_error_or_is_stored(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            added = library.add_text("lone \ud800 surrogate zebra", filename="lone\ud800.txt", source="s\ud800")
            assert added.status == "ready" and library.search("zebra").hits
            for call in (lambda: library.search("\ud800"), lambda: library.documents(where={"a": "\ud800"})):
                try:
                    call()
                except FootnotesError as error:
                    assert error.code in ("invalid_input", "query_empty", "filter_invalid")

    def test_a_chunk_of_many_thousand_different_words(self, harness: StoreHarness) -> None:
        """More terms than an index entry may have: most of them find it, and nothing fails."""
        with harness.open(chunker="window", chunker_options={"size": 100_000, "overlap": 0}) as library:
            words = [f"term{number:06d}xyz" for number in range(12_000)]
            added = library.add_text(" ".join(words), filename="many.txt")
            assert added.status == "ready"
            found = [bool(library.search(word, mode="lexical").hits) for word in words[:: len(words) // 5]]
            assert any(found) and library.verify().ok

    def test_large_numbers_and_deep_metadata(self, harness: StoreHarness) -> None:
        deep: JsonValue = 1
        for _ in range(50):
            deep = {"in": deep}
        metadata: Metadata = {
            "large": 2**60,
            "small": 1e-300,
            "negative": -1,
            "flag": True,
            "nothing": None,
            "deep": deep,
        }
        with harness.open() as library:
            added = library.add_text(TRAVEL, filename="a.txt", metadata=metadata)
            stored = library.document(str(added.document_id)).metadata
            assert {key: stored[key] for key in metadata} == metadata
            assert library.documents(where="large>1000000") and library.documents(where="negative<0")


# ── texts to put into a store under test ──────────────────────────────────────────────────────────────────────


HANDBOOK = """# Handbook

## Notice

Either side may end the contract with three months of notice. During probation two weeks are enough.

## Leave

Everybody has 28 days of paid leave a year. What is left of it expires on 31 March of the next year.
"""

TRAVEL = "Trips under four hours are made by train. Flights need the approval of the head of department."


def numbered(number: int, words: int = 60) -> str:
    """A paragraph that holds `marker<number>` and is like no other."""
    return f"marker{number} " + " ".join(f"word{(number * 31 + i * 7) % 997}" for i in range(words))


def long_text(paragraphs: int) -> str:
    """Many paragraphs, with characters of two to four bytes among them."""
    return "\n\n".join(f"Paragraph {n}: ü, 日本 and 😀. {numbered(n, 40)}" for n in range(paragraphs))
