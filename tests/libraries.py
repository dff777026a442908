"""What many tests need: a library with a quick embedder, and documents to put into it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import footnotes
from footnotes.library import Library

HANDBOOK = """# Employee handbook

## Notice period

Either side may end the contract with three months of notice. During probation two weeks are enough.

## Holidays

Every employee has 28 days of paid leave a year. Unused leave expires on 31 March of the following year.
"""

TRAVEL = """Travel policy

Trips under four hours are made by train. Flights need the approval of the head of department.

Hotels may cost up to 140 euros a night. Breakfast is paid separately and needs a receipt.
"""


def quick_library(folder: Path, **settings: Any) -> Library:
    """A library whose embedder needs no model."""
    return footnotes.open(folder, **{"embedder": "hashing", **settings})


def write(folder: Path, **files: str) -> Path:
    """Files named by keyword: `handbook_md` becomes handbook.md."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        stem, _, ending = name.rpartition("_")
        (folder / f"{stem}.{ending}").write_text(content, encoding="utf-8")
    return folder


def words(number: int, count: int = 60) -> str:
    """A paragraph that holds `marker<number>` and is like no other."""
    return f"marker{number} " + " ".join(f"word{(number * 31 + i * 7) % 997}" for i in range(count))
