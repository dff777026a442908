"""What becomes of every file of a folder, as a table; and how much of FinanceBench's evidence is on its page.

python benchmarks/formats.py FOLDER              one line a file
python benchmarks/formats.py --financebench FOLDER
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter, defaultdict
from pathlib import Path

from footnotes.errors import FootnotesError
from footnotes.parse import Source
from footnotes.parse.open import parse_document
from footnotes.parse.sniff import sniff
from footnotes.types import Part, Report


def parsed(path: Path) -> tuple[list[Part], Report]:
    found = sniff(path, path.name)
    items = list(parse_document(Source(path, path.name, found.mime), warnings=found.warnings))
    report = items[-1]
    assert isinstance(report, Report)
    return [item for item in items if isinstance(item, Part)], report


def outcomes(folder: Path) -> None:
    counts: Counter[str] = Counter()
    print("| file | outcome | characters | pages | remarks |\n| --- | --- | --- | --- | --- |")
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder)
        try:
            _, report = parsed(path)
        except FootnotesError as error:
            counts[error.code] += 1
            print(f"| {name} | `{error.code}` | | | {error.message} |")
        else:
            counts["ready"] += 1
            remarks = "; ".join(report.warnings)
            print(f"| {name} | ready | {report.characters:,} | {report.pages or ''} | {remarks} |")
    print("\n" + ", ".join(f"{count} {code}" for code, count in counts.most_common()))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def financebench(folder: Path) -> None:
    pages: dict[tuple[str, int], list[str]] = defaultdict(list)
    began, count = time.perf_counter(), 0
    for path in sorted((folder / "pdfs").glob("*.pdf")):
        parts, report = parsed(path)
        count += report.pages or 0
        for part in parts:
            for block in part.blocks:
                pages[path.stem, block.page or 0].append(part.text[block.start - part.start : block.end - part.start])
    took = time.perf_counter() - began
    shares = []
    for line in (folder / "questions.jsonl").read_text().splitlines():
        question = json.loads(line)
        for evidence in question["evidence"]:
            document = evidence.get("doc_name") or evidence.get("evidence_doc_name") or question["doc_name"]
            needed = Counter(words(evidence["evidence_text"]))
            there = Counter(words(" ".join(pages[document, evidence["evidence_page_num"] + 1])))
            shares.append((needed & there).total() / max(1, needed.total()))
    good = sum(share >= 0.95 for share in shares)
    print(f"{count} pages in {took:.1f} s, {1000 * took / max(1, count):.1f} ms a page")
    print(f"evidence on its page: {good} of {len(shares)}, least share of words {min(shares):.3f}")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--financebench", action="store_true")
    given = arguments.parse_args()
    (financebench if given.financebench else outcomes)(given.folder)
