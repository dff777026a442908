"""What is kept of a page: our rules for its main content against trafilatura, on pages whose text is known.

python benchmarks/main_content.py SITE DOCS: SITE is what mkdocs made of the Markdown in DOCS, without directory urls.
Words of a page are compared with the words of the Markdown it was made of, as bags.
"""

from __future__ import annotations

import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import trafilatura
from lxml import html
from markdown_it import MarkdownIt

from footnotes.ingest.sources.main_content import main_content, page_tree

_WORDS = re.compile(r"\w+")
_UNSEEN = ("script", "style", "noscript", "svg", "template")


def bag(text: str) -> Counter[str]:
    return Counter(_WORDS.findall(text.lower()))


def shown(raw: bytes) -> str:
    tree = html.document_fromstring(raw)
    for element in list(tree.iter(*_UNSEEN)):
        element.drop_tree()
    body = tree.find("body")
    return " ".join((tree if body is None else body).itertext())


def ours(raw: bytes) -> str:
    return shown(main_content(page_tree(raw, "utf-8")))


def theirs(raw: bytes) -> str:
    return trafilatura.extract(raw, include_comments=False, include_tables=True) or ""


def theirs_recall(raw: bytes) -> str:
    return trafilatura.extract(raw, include_comments=False, include_tables=True, favor_recall=True) or ""


def unmarked(raw: bytes) -> bytes:
    """The page as one would be that does not say which of its parts is which."""
    tree = html.document_fromstring(raw)
    for element in tree.iter("main", "article", "nav", "header", "footer", "aside"):
        element.tag = "div"
    for element in tree.xpath("//*[@role]"):
        del element.attrib["role"]
    return bytes(html.tostring(tree, encoding="utf-8"))


def measured(extract: Callable[[bytes], str], pages: list[tuple[bytes, Counter[str]]]) -> str:
    precision, recall, scores, began = [], [], [], time.perf_counter()
    for raw, truth in pages:
        found = bag(extract(raw))
        both = sum((found & truth).values())
        right, got = both / max(1, sum(found.values())), both / max(1, sum(truth.values()))
        precision.append(right)
        recall.append(got)
        scores.append(2 * right * got / max(1e-9, right + got))
    took = (time.perf_counter() - began) * 1000 / len(pages)
    values = (statistics.mean(each) for each in (precision, recall, scores))
    return " ".join(f"{value:.3f}" for value in values) + f" worst F1 {min(scores):.3f}  {took:.1f} ms a page"


def main(site: Path, docs: Path) -> None:
    pages = []
    for source in sorted(docs.rglob("*.md")):
        page = site / source.relative_to(docs).with_suffix(".html")
        if source.stem == "README":
            page = page.with_name("index.html")
        truth = bag(
            shown(f"<html><body>{MarkdownIt().enable('table').render(source.read_text())}</body></html>".encode())
        )
        if page.exists() and sum(truth.values()) >= 50:
            pages.append((page.read_bytes(), truth))
    print(f"{site.name}: {len(pages)} pages; precision, recall, F1")
    for said, given in (("", pages), (" unmarked", [(unmarked(raw), truth) for raw, truth in pages])):
        for name, extract in (("whole", shown), ("ours", ours), ("trafilatura", theirs), ("recall", theirs_recall)):
            print(f"  {name + said:22} {measured(extract, given)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
