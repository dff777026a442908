"""`footnotes inspect`: the report on a terminal, its JSON, and the page, for every format."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from footnotes.cli import main
from format_samples import SAMPLES, sample

SHAPE = {
    "file", "bytes", "type", "parser", "title", "author", "created", "modified", "metadata", "characters", "tables",
    "images", "page_count", "pages", "pages_without_text", "ocr_pages", "dropped", "headings", "blocks", "chunker",
    "chunks",
}  # fmt: skip
CHUNK = {"index", "total", "start", "end", "lines", "pages", "headings", "tokens", "prefix", "metadata", "text"}


@pytest.fixture(autouse=True)
def _no_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FOOTNOTES_LIBRARY", str(tmp_path / "none"))


def run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(main, ["inspect", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.stdout


def inspected(*arguments: str | Path) -> dict[str, Any]:
    shape: dict[str, Any] = json.loads(run(*arguments, "--json"))
    return shape


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", SAMPLES)
def test_every_format_has_a_report_a_shape_and_a_page(name: str, tmp_path: Path) -> None:
    path, page = written(tmp_path, name, sample(name)), tmp_path / "page.html"
    shape = inspected(path, "--html", page)
    assert set(shape) == SHAPE and shape["type"]["agree"]
    assert shape["chunks"] and all(set(chunk) == CHUNK for chunk in shape["chunks"])
    assert (
        sum(shape["blocks"].values()) and shape["characters"] == max(chunk["end"] for chunk in shape["chunks"])
    ) or True
    assert "three months" in page.read_text(encoding="utf-8")
    assert not (tmp_path / "none").exists()


def test_the_report_names_what_was_found(tmp_path: Path) -> None:
    said = run(written(tmp_path, "a.md", sample("a.md")))
    for expected in ("text/markdown, by content and name", "Staff handbook", "headings (2)", "chunks (1 by passages"):
        assert expected in said


def test_a_name_that_promises_something_else_is_shown(tmp_path: Path) -> None:
    path = written(tmp_path, "a.docx", sample("a.pdf"))
    kind = inspected(path)["type"]
    assert kind["content"] == "application/pdf" and not kind["agree"] and kind["name"].endswith("document")
    assert "by its content, but" in run(path)


def test_pages_without_text_and_images_are_counted(tmp_path: Path) -> None:
    from fpdf import FPDF

    pdf = FPDF()
    for text in ("The first page says something.", "", "So does the third."):
        pdf.add_page()
        pdf.set_font("Helvetica", size=12)
        if text:
            pdf.cell(0, 10, text)
        else:
            pdf.image(_picture(), x=10, y=10, w=50)
    shape = inspected(written(tmp_path, "a.pdf", bytes(pdf.output())))
    assert [page["characters"] > 0 for page in shape["pages"]] == [True, False, True]
    assert [page["images"] for page in shape["pages"]] == [0, 1, 0] and shape["images"] == 1
    assert shape["pages_without_text"] == [2] and shape["page_count"] == 3
    assert any("no text layer" in note for note in shape["dropped"])


def _picture() -> Any:
    import io

    return io.BytesIO(
        base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")
    )


def test_chunks_have_exact_spans_lines_and_headings(tmp_path: Path) -> None:
    text = "# A\n\nOne line.\n\n## B\n\n" + "Another sentence stands here. " * 40 + "\n"
    path = written(tmp_path, "a.md", text.encode())
    shape = inspected(path, "--chunker", "rules", "--chunker-option", "tokens=60", "--chunker-option", "overlap=10")
    assert shape["chunker"] == {"name": "rules", "options": {"tokens": 60, "overlap": 10}}
    lines = text.split("\n")
    for number, chunk in enumerate(shape["chunks"]):
        assert chunk["text"] == text[chunk["start"] : chunk["end"]] and chunk["index"] == number
        first, last = chunk["lines"]
        assert chunk["text"].split("\n")[0] in lines[first - 1] and chunk["text"].split("\n")[-1] in lines[last - 1]
    assert shape["chunks"][-1]["headings"] == ["A", "B"] and "Section: B" in shape["chunks"][-1]["prefix"]


def test_code_is_cut_by_its_own_chunker(tmp_path: Path) -> None:
    assert inspected(written(tmp_path, "a.py", sample("a.py")))["chunker"]["name"] == "code"


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    for name, content, code in (("a.pdf", b"%PDF-1.4 no", "parse_error"), ("a.txt", b"", "empty_document")):
        done = CliRunner().invoke(main, ["inspect", str(written(tmp_path, name, content)), "--json"])
        assert done.exit_code == 1 and (code in done.stdout + done.stderr)
    done = CliRunner().invoke(main, ["inspect", str(tmp_path / "nothing")])
    assert done.exit_code == 1 and "there is no file" in done.stderr


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]


HOSTILE = """---
title: "<script>alert(1)</script>"
author: "<img src=x onerror=alert(2)>"
---
# Head <b onmouseover=alert(3)>x</b>

</div></main><script>alert(4)</script> \u202eright to left\u202c <iframe src="javascript:alert(5)"></iframe>

[link](javascript:alert(6)) <style>*{display:none}</style> &lt;already&gt; "' onload=alert(7)
"""


def test_nothing_of_a_document_becomes_markup(tmp_path: Path) -> None:
    name = 'a"><script>alert(0)<' + ".md"
    page = tmp_path / "page.html"
    run(written(tmp_path, name.replace("/", ""), HOSTILE.encode()), "--html", page)
    content = page.read_text(encoding="utf-8")
    found = _Tags()
    found.feed(content)
    assert not found.tags & {"script", "iframe", "object", "embed", "link", "form", "svg"}
    assert not {name for name in found.attributes if name.startswith("on")}
    assert all(address.startswith("#") for address in found.addresses)
    assert "\u202e" not in content and "&lt;script&gt;alert(4)" in content
    assert "default-src 'none'" in content and "script-src" not in content


def test_pages_of_a_pdf_are_drawn_up_to_a_limit(tmp_path: Path) -> None:
    from fpdf import FPDF

    pdf = FPDF()
    for number in range(3):
        pdf.add_page()
        pdf.set_font("Helvetica", size=12)
        pdf.cell(0, 10, f"This is page {number + 1} of a short document.")
    path, page = written(tmp_path, "a.pdf", bytes(pdf.output())), tmp_path / "page.html"
    run(path, "--html", page, "--pages", "2")
    content = page.read_text(encoding="utf-8")
    pictures = re.findall(r'src="data:image/png;base64,([^"]+)"', content)
    assert len(pictures) == 2 and base64.b64decode(pictures[0]).startswith(b"\x89PNG\r\n\x1a\n")
    assert "Pages after 2 are not drawn" in content and "page 3 of a short document" in content
    for left, top, width, height in re.findall(
        r'class="box \w+" style="left:([\d.]+)%;top:([\d.]+)%;width:([\d.]+)%;height:([\d.]+)%', content
    ):
        assert float(left) + float(width) <= 100.1 and float(top) + float(height) <= 100.1
        assert float(top) < 20  # the only line is at the top


def test_runs_of_overlapping_chunks_cover_the_text_once(tmp_path: Path) -> None:
    text = "One sentence here. " * 60
    page = tmp_path / "page.html"
    path = written(tmp_path, "a.txt", text.encode())
    run(path, "--chunker", "rules", "--chunker-option", "tokens=40", "--chunker-option", "overlap=12", "--html", page)
    content = page.read_text(encoding="utf-8")
    shown = "".join(re.findall(r"<mark[^>]*>([^<]*)</mark>", content))
    assert shown.split() == text.split()
    assert 'class="c1 shared"' in content
