"""What becomes of every file of a folder, as a table; and how much of FinanceBench's evidence is on its page.

python benchmarks/formats.py FOLDER              one line a file
python benchmarks/formats.py --financebench FOLDER
python benchmarks/formats.py --recovered FOLDER  words against other readers (pip install pdfminer.six)
python benchmarks/formats.py --truncated N FOLDER
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import mean, median

from footnotes.errors import FootnotesError
from footnotes.parse import Source
from footnotes.parse.open import parse_document
from footnotes.parse.sniff import sniff
from footnotes.types import Part, Report

LEAST_WORDS = 5


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


def truncated(folder: Path, times: int) -> None:
    """Every file cut off at random places: how many gave text, how many an error and of which code."""
    counts: Counter[str] = Counter()
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as home:
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size > 1):
            cut = Path(home) / path.name
            for _ in range(times):
                with path.open("rb") as file:
                    cut.write_bytes(file.read(chance.randrange(1, path.stat().st_size)))
                try:
                    parsed(cut)
                    counts["ready"] += 1
                except FootnotesError as error:
                    counts[error.code] += 1
            cut.unlink()
    print(", ".join(f"{count} {code}" for code, count in counts.most_common()))


def recovered(folder: Path) -> None:
    """Words of our text against those of another reader of the same file: the truth beside it, else pdfminer.six."""
    print("| file | against | words | recall | precision |\n| --- | --- | --- | --- | --- |")
    totals: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        for name, truth in _truths(path):
            try:
                text = "".join(part.text for part in parsed(path)[0])
            except FootnotesError as error:
                text = ""
                name += f" (`{error.code}`)"
            ours, theirs = Counter(units(text)), Counter(units(truth))
            common, count = (ours & theirs).total(), theirs.total()
            if count < LEAST_WORDS:
                continue
            recall, precision = common / count, common / max(1, ours.total())
            totals["OCR" if "ocr" in path.name else name.split(" ")[0]].append((recall, precision))
            print(f"| {path.relative_to(folder)} | {name} | {count:,} | {recall:.3f} | {precision:.3f} |")
    for name, found in totals.items():
        recalls, precisions = zip(*found, strict=True)
        print(f"\n{name}: {len(found)} files, recall mean {mean(recalls):.3f} median {median(recalls):.3f}, "
              f"precision mean {mean(precisions):.3f} median {median(precisions):.3f}")  # fmt: skip


def units(text: str) -> list[str]:
    """Words, and single characters of scripts that write without spaces; not the names of glyphs nobody can read."""
    text = unicodedata.normalize("NFKC", re.sub(r"\(cid:\d+\)", " ", text)).lower()
    return re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+", text)


def _truths(path: Path) -> Iterator[tuple[str, str]]:
    """What others say a file says: a text of the same name in its folder, and pdfminer.six for PDFs."""
    for other in sorted(path.parent.iterdir()):
        same = other.name.startswith(path.stem + ".") and other != path and other.suffix in (".md", ".txt")
        if same and path.suffix not in (".md", ".txt") and path.stem != "test":  # which is two unrelated files
            yield other.name, _plain(other.read_text(encoding="utf-8", errors="replace"))
    if path.suffix.lower() == ".pdf":
        with suppress(Exception):  # it fails on many of these, in many ways
            from pdfminer.high_level import extract_text

            yield "pdfminer.six", extract_text(path, maxpages=50)


def _plain(markdown: str) -> str:
    """Without tags, tables' rules and pictures."""
    return re.sub(r"<[^>]*>|!\[[^]]*\]\([^)]*\)|\|[\s:|-]+\|", " ", markdown)


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
    arguments.add_argument("--truncated", type=int, metavar="N", help="cut every file off at N random places")
    arguments.add_argument("--recovered", action="store_true", help="words against other readers")
    given = arguments.parse_args()
    if given.truncated:
        truncated(given.folder, given.truncated)
    elif given.recovered:
        recovered(given.folder)
    else:
        (financebench if given.financebench else outcomes)(given.folder)
