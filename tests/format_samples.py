"""One small, good file of every format, made by the libraries people make them with."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from functools import cache

NEEDLE = "The notice period is three months."
OTHER = "Holidays are thirty days a year."


def as_text() -> bytes:
    return f"STAFF HANDBOOK\n\n{NEEDLE}\n\n{OTHER}\n".encode()


def as_markdown() -> bytes:
    return f"# Staff handbook\n\n{NEEDLE}\n\n## Leave\n\n{OTHER}\n".encode()


def as_pdf() -> bytes:
    from fpdf import FPDF

    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=20)
    pdf.cell(0, 12, "Staff handbook", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font("Helvetica", size=11)
    for text in (NEEDLE, OTHER):
        pdf.multi_cell(0, 6, text)
        pdf.ln(8)
    return bytes(pdf.output())


def as_html() -> bytes:
    return (
        f"<!doctype html><html><head><title>Staff</title><meta name=author content='A. Clerk'></head><body>"
        f"<h1>Staff handbook</h1><p>{NEEDLE}</p><h2>Leave</h2><p>{OTHER}</p>"
        "<table><tr><th>Name</th><th>Days</th></tr><tr><td>Anna</td><td>30</td></tr></table></body></html>"
    ).encode()


def as_docx() -> bytes:
    import docx

    document = docx.Document()
    document.core_properties.author = "A. Clerk"
    document.add_heading("Staff handbook", 1)
    document.add_paragraph(NEEDLE)
    document.add_heading("Leave", 2)
    document.add_paragraph(OTHER)
    document.add_paragraph("one", style="List Bullet")
    document.add_paragraph("two", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(
        (cell for row in table.rows for cell in row.cells), ["Name", "Days", "Anna", "30"], strict=True
    ):
        cell.text = text
    return _saved(document.save)


def as_pptx() -> bytes:
    import pptx

    presentation = pptx.Presentation()
    for title, text in (("Staff handbook", NEEDLE), ("Leave", OTHER)):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = text
        slide.notes_slide.notes_text_frame.text = f"Notes on {title.lower()}"
    return _saved(presentation.save)


def as_xlsx() -> bytes:
    import xlsxwriter

    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as workbook:
        sheet = workbook.add_worksheet("Leave")
        for number, row in enumerate([["Name", "Days", "Remark"], ["Anna", 30, NEEDLE], ["Ben", 28.5, OTHER]]):
            sheet.write_row(number + 1, 1, row)
    return buffer.getvalue()


def as_odt() -> bytes:
    import odfdo

    document = odfdo.Document("text")
    document.body.clear()
    document.body.append(odfdo.Header(1, "Staff handbook"))
    document.body.append(odfdo.Paragraph(NEEDLE))
    document.body.append(odfdo.Header(2, "Leave"))
    document.body.append(odfdo.Paragraph(OTHER))
    document.body.append(odfdo.List(["one", "two"]))
    return _saved(document.save)


def as_rtf() -> bytes:
    return (
        rb"{\rtf1\ansi\ansicpg1252 {\b STAFF HANDBOOK}\par\par "
        + f"{NEEDLE} Gr\\'f6\\'dfe.\\par\\par {OTHER}}}".encode()
    )


def as_epub() -> bytes:
    chapters = {"one.xhtml": ("Staff handbook", NEEDLE), "two.xhtml": ("Leave", OTHER)}
    page = "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>x</title></head><body><h1>{}</h1><p>{}</p></body></html>"
    items = "".join(f"<item id='{name[:3]}' href='{name}' media-type='application/xhtml+xml'/>" for name in chapters)
    spine = "".join(f"<itemref idref='{name[:3]}'/>" for name in chapters)
    package = (
        "<package xmlns='http://www.idpf.org/2007/opf' xmlns:dc='http://purl.org/dc/elements/1.1/'>"
        "<metadata><dc:title>The handbook</dc:title><dc:creator>A. Clerk</dc:creator></metadata>"
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><rootfiles>"
        "<rootfile full-path='OEBPS/book.opf'/></rootfiles></container>"
    )
    files = {"META-INF/container.xml": container, "OEBPS/book.opf": package}
    files |= {f"OEBPS/{name}": page.format(*texts) for name, texts in chapters.items()}
    return zipped({"mimetype": "application/epub+zip", **files})


def as_mail() -> bytes:
    message = EmailMessage()
    message["From"] = "A. Clerk <clerk@example.org>"
    message["To"] = "Müller <mueller@example.org>"
    message["Subject"] = "Über die Frist"
    message["Date"] = "Mon, 06 May 2024 07:18:09 +0200"
    message.set_content(f"{NEEDLE}\n\n{OTHER}\n")
    message.add_attachment(b"name,days\nAnna,30\n", maintype="text", subtype="csv", filename="../days.csv")
    return bytes(message)


def as_csv() -> bytes:
    return f'name;days;remark\nAnna;30;"{NEEDLE}"\nBen;28;"{OTHER}"\n'.encode()


def as_tsv() -> bytes:
    return f"name\tdays\tremark\nAnna\t30\t{NEEDLE}\nBen\t28\t{OTHER}\n".encode()


def as_json() -> bytes:
    return json.dumps({"title": "Staff handbook", "rules": [{"text": NEEDLE}, {"text": OTHER, "days": 30}]}).encode()


def as_jsonl() -> bytes:
    return "\n".join(json.dumps({"text": text}) for text in (NEEDLE, OTHER)).encode()


def as_xml() -> bytes:
    return (
        f"<?xml version='1.0'?><handbook><title>Staff handbook</title><p>{NEEDLE}</p><p>{OTHER}</p></handbook>".encode()
    )


def as_notebook() -> bytes:
    cells = [
        {"cell_type": "markdown", "source": ["# Staff handbook\n", "\n", NEEDLE]},
        {"cell_type": "code", "source": f"print({OTHER!r})", "outputs": [{"text": [OTHER]}]},
    ]
    return json.dumps({"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4}).encode()


def as_rst() -> bytes:
    return f"Staff handbook\n==============\n\n{NEEDLE}\n\nLeave\n-----\n\n{OTHER}\n".encode()


def as_python() -> bytes:
    function = f'def notice(person):\n    """{NEEDLE}"""\n    return os.environ[person]'
    return f"import os\n\n\n{function}\n\n\n# {OTHER}\n".encode()


SAMPLES: dict[str, Callable[[], bytes]] = {
    "a.txt": as_text,
    "a.md": as_markdown,
    "a.pdf": as_pdf,
    "a.html": as_html,
    "a.docx": as_docx,
    "a.pptx": as_pptx,
    "a.xlsx": as_xlsx,
    "a.odt": as_odt,
    "a.rtf": as_rtf,
    "a.epub": as_epub,
    "a.eml": as_mail,
    "a.csv": as_csv,
    "a.tsv": as_tsv,
    "a.json": as_json,
    "a.jsonl": as_jsonl,
    "a.xml": as_xml,
    "a.ipynb": as_notebook,
    "a.rst": as_rst,
    "a.py": as_python,
}


@cache
def sample(name: str) -> bytes:
    return SAMPLES[name]()


def _saved(save: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    save(buffer)
    return buffer.getvalue()


def zipped(files: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            kind = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name), content, kind)
    return buffer.getvalue()
