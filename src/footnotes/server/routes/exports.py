"""/v1/conversations/{id}/export: downloads of a conversation."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

from docx import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml.ns import qn
from docx.oxml.parser import OxmlElement, parse_xml
from fastapi import APIRouter, Path, Query
from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.token import Token
from starlette.responses import Response

from footnotes.server.export.notes import Note, add_notes, to_markdown
from footnotes.server.openapi import errors, file_response
from footnotes.server.state import Reader, ReadLibrary
from footnotes.server.strict import StrictRoute
from footnotes.types import KeptTurn

# A conversation as a Word document with real Word footnotes.


MIME = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_FOOTNOTES = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_MARK = re.compile("\ue000(\\d+)\ue001")
_DOUBT = "\ue002"
_DOUBT_TEXT = " [not supported by the documents]"
_STYLES = {"bullet_list_open": "List Bullet", "ordered_list_open": "List Number"}
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_NOTE = (
    f'<w:footnote xmlns:w="{_W}" w:id="{{number}}"><w:p><w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'
    "<w:footnoteRef/></w:r><w:r><w:t/></w:r></w:p></w:footnote>"
)
_HEAD = (
    f'<w:footnotes xmlns:w="{_W}"><w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p>'
    '</w:footnote><w:footnote w:type="continuationSeparator" w:id="0"><w:p><w:r><w:continuationSeparator/></w:r></w:p>'
    "</w:footnote></w:footnotes>"
)
router = APIRouter(prefix="/v1/conversations", tags=["conversations"], route_class=StrictRoute)
_SANDBOX = {"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff"}
_LONGEST_NAME = 80


def to_word(title: str, turns: Iterable[KeptTurn]) -> bytes:
    document = Document()
    document.add_heading(_clean(title), level=0)
    made = add_notes(turns, lambda number: f"\ue000{number}\ue001", _DOUBT)
    seen: set[int] = set()
    for turn in made:
        document.add_heading(_clean(turn.question), level=1)
        _Writer(document, seen).set(_clean(turn.text))
    _add_notes(document, [note for turn in made for note in turn.notes])
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


class _Writer:
    """Writes Markdown into a document as paragraphs, headings, lists, tables and code."""

    def __init__(self, document: Any, seen: set[int]) -> None:
        self._document = document
        self._seen = seen
        self._lists: list[str] = []
        self._level = 0
        self._rows: list[list[Token]] | None = None

    def set(self, text: str) -> None:
        for token in MarkdownIt("commonmark").enable("table").parse(text):
            self._take(token)

    def _take(self, token: Token) -> None:
        kind = token.type
        if kind in _STYLES:
            self._lists.append(_STYLES[kind])
        elif kind in ("bullet_list_close", "ordered_list_close"):
            self._lists.pop()
        elif kind in ("heading_open", "heading_close"):
            self._level = int(token.tag[1:]) + 1 if kind == "heading_open" else 0
        elif kind in ("fence", "code_block", "html_block"):
            self._add_runs(self._document.add_paragraph(), [(token.content.rstrip("\n"), frozenset({"code"}))])
        elif kind == "table_open":
            self._rows = []
        elif kind == "tr_open" and self._rows is not None:
            self._rows.append([])
        elif kind == "table_close":
            self._add_table()
        elif kind == "inline" and self._rows:
            self._rows[-1].append(token)
        elif kind == "inline":
            self._add_paragraph(token)

    def _add_paragraph(self, token: Token) -> None:
        if self._level:
            paragraph = self._document.add_heading(level=min(self._level, 6))
        else:
            paragraph = self._document.add_paragraph(style=self._lists[-1] if self._lists else None)
        self._add_runs(paragraph, _spans(token.children or ()))

    def _add_table(self) -> None:
        rows, self._rows = self._rows or [], None
        width = max(map(len, rows), default=0)
        if not width:
            return
        table = self._document.add_table(rows=len(rows), cols=width, style="Table Grid")
        for line, row in zip(table.rows, rows, strict=True):
            for cell, token in zip(line.cells, row, strict=False):
                self._add_runs(cell.paragraphs[0], _spans(token.children or ()))

    def _add_runs(self, paragraph: Any, spans: Iterable[tuple[str, frozenset[str]]]) -> None:
        for text, holds in spans:
            for index, piece in enumerate(_MARK.split(text)):
                if index % 2:
                    self._add_reference(paragraph, int(piece))
                elif piece:
                    run = paragraph.add_run(piece.replace(_DOUBT, _DOUBT_TEXT))
                    run.bold, run.italic = "strong" in holds or None, "em" in holds or None
                    if "code" in holds:
                        run.font.name = "Courier New"

    def _add_reference(self, paragraph: Any, number: int) -> None:
        """Add a reference. Word numbers each footnote once: a second reference is only the number."""
        run = paragraph.add_run(str(number) if number in self._seen else "")
        run.font.superscript = True
        if number not in self._seen:
            self._seen.add(number)
            reference = OxmlElement("w:footnoteReference")
            reference.set(qn("w:id"), str(number))
            run._r.append(reference)


def _spans(tokens: Sequence[Token]) -> list[tuple[str, frozenset[str]]]:
    """Split inline tokens into texts with their styles: strong, em, code."""
    found: list[tuple[str, frozenset[str]]] = []
    holds: list[str] = []
    for token in tokens:
        if token.type in ("strong_open", "em_open"):
            holds.append(token.type.removesuffix("_open"))
        elif token.type in ("strong_close", "em_close"):
            holds.remove(token.type.removesuffix("_close"))
        elif token.type == "code_inline":
            found.append((token.content, frozenset({*holds, "code"})))
        elif token.type in ("softbreak", "hardbreak"):
            found.append((" " if token.type == "softbreak" else "\n", frozenset(holds)))
        elif token.content:
            found.append((token.content, frozenset(holds)))
    return found


def _add_notes(document: Any, notes: Sequence[Note]) -> None:
    """Add the part of the file that holds the footnotes, which python-docx lacks."""
    if not notes:
        return
    root = parse_xml(_HEAD)
    for note in notes:
        root.append(parse_xml(_NOTE.format(number=note.number)))
        text = root[-1].find(f".//{qn('w:t')}")
        text.text = f" {_clean(note.place)}: “{_clean(note.quote)}”"
        text.set(_SPACE, "preserve")
    body = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
    part = Part(PackURI("/word/footnotes.xml"), _FOOTNOTES, body, document.part.package)
    document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)


def _clean(text: str) -> str:
    """Remove characters that XML cannot hold."""
    return _CONTROL.sub("", text)


@router.get(
    "/{conversation}/export",
    response_class=Response,
    summary="Export a conversation",
    response_description="Markdown or Word, as asked for",
    responses=file_response(MIME) | errors(404),
)
def export(
    conversation: Annotated[str, Path(min_length=1, max_length=64)],
    library: ReadLibrary,
    caller: Reader,
    form: Annotated[Literal["md", "docx"], Query(alias="format")] = "md",
) -> Response:
    """A file of the conversation with its footnotes; in a Word document they are native footnotes."""
    found = library.conversations.get(caller.tenant, conversation)
    turns = library.conversations.turns(caller.tenant, conversation)
    if form == "md":
        body, kind = to_markdown(found.title, turns).encode("utf-8", "replace"), "text/markdown; charset=utf-8"
    else:
        body, kind = to_word(found.title, turns), MIME
    name = quote(" ".join(found.title.split())[:_LONGEST_NAME].replace("/", "-"), safe="")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}.{form}"}
    return Response(body, media_type=kind, headers=_SANDBOX | headers)
