"""Texts to put into a store under test."""

from __future__ import annotations

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
