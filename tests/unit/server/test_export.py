"""Conversations as Markdown and Word, and the modules of the page."""

from __future__ import annotations

import io

import pytest
from docx import Document as WordDocument

from footnotes.server.export.notes import to_markdown
from footnotes.server.pages import bundle_modules
from footnotes.server.routes.exports import to_word
from footnotes.types import KeptTurn


def turn(text: str, cited: dict[str, int], unsupported: tuple[str, ...] = ()) -> KeptTurn:
    def span(words: str) -> list[int]:
        return [text.index(words), text.index(words) + len(words)]

    citations = [
        {"marker": marker, "answer_span": span(words), "filename": "h.pdf", "page": marker, "quote": f"Quote\n{marker}"}
        for words, marker in cited.items()
    ]
    answer = {"citations": citations, "unsupported": [span(words) for words in unsupported]}
    return KeptTurn(1, "How long?", {}, "done", text, answer, None, None, "", "", "")


TURNS = [
    turn("Three **months**. Two weeks.\n\n- Six [sic].", {"Three **months**.": 1, "Two weeks.": 1, "Six [sic].": 2}),
    turn("| a | b |\n| - | - |\n| 1 | 2 |\n\nThe cat\x0b is purple. ", {"| 1 | 2 |": 1}, ("The cat\x0b is purple. ",)),
]


def test_a_conversation_is_taken_away_as_markdown() -> None:
    written = to_markdown("Notice\nperiods", TURNS)
    assert "# Notice periods\n\n## How long?\n\nThree **months**.[^1] Two weeks.[^1]\n\n- Six [sic].[^2]\n" in written
    assert "purple.[?]" in written and written.rstrip().endswith("[?] Nothing in the documents supports this.")
    assert "[^1]: h.pdf, p. 1: “Quote 1”\n[^2]: h.pdf, p. 2: “Quote 2”\n[^3]: h.pdf, p. 1" in written


def test_modules_are_joined_in_the_order_they_need_each_other() -> None:
    modules = {
        "a/main.js": 'import { two as second } from "./b.js";\nexport const x = async () => await import("./c.js");\n',
        "a/b.js": "export async function* two() {}\nexport class Three {}\n",
        "a/c.js": 'import { two } from "./b.js";\nexport { two as four };\n',
    }
    made = bundle_modules("a/main.js", modules)
    assert made.index('modules["a/b.js"]') < made.index('modules["a/main.js"]') < made.index('modules["a/c.js"] =')
    assert 'const { two: second } = modules["a/b.js"];' in made and "four: two" in made
    assert "import " not in made and "export " not in made
    with pytest.raises(ValueError, match="import each other"):
        bundle_modules("a/main.js", modules | {"a/b.js": 'import { x } from "./main.js";\nexport const two = 1;\n'})
    with pytest.raises(ValueError, match="does not export two"):
        bundle_modules("a/main.js", modules | {"a/b.js": "export class Three {}\n"})


def test_a_conversation_is_taken_away_as_word_with_footnotes_of_word() -> None:
    document = WordDocument(io.BytesIO(to_word("Notice", TURNS)))
    texts = [paragraph.text for paragraph in document.paragraphs]
    assert texts[:4] == ["Notice", "How long?", "Three months. Two weeks.1", "Six [sic]."]
    assert texts[-1] == "The cat is purple. [not supported by the documents]"
    assert document.tables[0].cell(1, 1).text.startswith("2")
    (notes,) = [part for part in document.part.package.parts if str(part.partname) == "/word/footnotes.xml"]
    assert notes.blob.count(b"<w:footnoteRef/>") == 3 and "h.pdf, p. 2: “Quote 2”".encode() in notes.blob
    assert document.element.xml.count("<w:footnoteReference ") == 3, "each once; the same again is a number"
