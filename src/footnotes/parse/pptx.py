"""Parses PowerPoint presentations, one page per slide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from footnotes.errors import EmptyDocument, MissingExtra, ParseError
from footnotes.parse import Source
from footnotes.parse import types_by_name as types
from footnotes.parse.archive import open_archive
from footnotes.parse.builder import Builder
from footnotes.parse.office_metadata import core_properties
from footnotes.types import Part, Report

if TYPE_CHECKING:
    from pptx.chart.chart import Chart
    from pptx.presentation import Presentation
    from pptx.shapes.base import BaseShape
    from pptx.slide import Slide
    from pptx.text.text import TextFrame

_DEEPEST_GROUP = 20
_VERTICAL_TAB = "\x0b"


class PptxParser:
    """Reads the slides in order: title, text, tables and charts from top to bottom, then the notes."""

    name: ClassVar[str] = "pptx"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = (types.PPTX,)
    suffixes: ClassVar[Mapping[str, str]] = dict.fromkeys((".pptx", ".pptm", ".ppsx"), types.PPTX)
    isolated: ClassVar[bool] = True

    def parse(self, source: Source) -> Iterator[Part | Report]:
        presentation = _open(source)
        builder = Builder()
        slides = list(presentation.slides)
        metadata = core_properties(presentation.core_properties)
        own_title = metadata.get("title")
        builder.stated = own_title if isinstance(own_title, str) and own_title != "PowerPoint Presentation" else None
        empty = []
        for number, slide in enumerate(slides, start=1):
            before = builder.position
            builder.page = number
            _read_slide(builder, slide, number)
            if builder.position == before:
                empty.append(number)
            yield from builder.full()
        yield from builder.finish()
        if not builder.position:
            raise EmptyDocument(f"{source.filename} has no text on any of its slides ({len(slides)})")
        title = builder.stated or builder.title
        warnings = (f"no text on slides {', '.join(map(str, empty[:10]))}",) if empty else ()
        yield Report(self.name, source.mime, builder.position, len(slides), tuple(empty), title, metadata, warnings)


def _open(source: Source) -> Presentation:
    try:
        import pptx
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"{source.filename} is a presentation, and python-pptx is not installed",
            remedy='pip install "footnotes[office]"',
        ) from error
    with open_archive(source):
        pass
    try:
        return pptx.Presentation(str(source.path))
    except (pptx.exc.PythonPptxError, KeyError, ValueError, AttributeError) as error:
        raise ParseError(f"{source.filename} is not a presentation that can be read: {error}") from error


def _read_slide(builder: Builder, slide: Slide, number: int) -> None:
    title = slide.shapes.title
    builder.outline.leave()
    if title is not None:
        builder.heading(1, title.text_frame.text.replace(_VERTICAL_TAB, " "))
    place = {"slide": number}
    for shape in _in_order(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            _read_shape(builder, shape, number)
    if slide.has_notes_slide:
        frame = slide.notes_slide.notes_text_frame
        builder.add("paragraph", frame.text if frame is not None else "", attributes={**place, "notes": True})


def _in_order(shapes: Iterable[BaseShape], depth: int = 0) -> Iterator[BaseShape]:
    """Return shapes from top to bottom and left to right, with the shapes of a group at the group's position."""
    found = [(shape.top or 0, shape.left or 0, index, shape) for index, shape in enumerate(shapes)]
    for _, _, _, shape in sorted(found, key=lambda each: each[:3]):
        if hasattr(shape, "shapes"):
            if depth < _DEEPEST_GROUP:
                yield from _in_order(shape.shapes, depth + 1)
        else:
            yield shape


def _read_shape(builder: Builder, shape: Any, number: int) -> None:
    place = {"slide": number}
    if getattr(shape, "has_table", False):
        rows = ([cell.text_frame.text for cell in row.cells] for row in shape.table.rows)
        for part in builder.table(rows, lambda first, last: place):
            builder.keep(part)
    elif getattr(shape, "has_chart", False):
        for part in builder.table(_chart_rows(shape.chart), lambda first, last: place):
            builder.keep(part)
    elif shape.has_text_frame:
        _read_frame(builder, shape.text_frame, number)


def _read_frame(builder: Builder, frame: TextFrame, number: int) -> None:
    paragraphs = [(each.level, " ".join(each.text.split())) for each in frame.paragraphs if each.text.strip()]
    if len(paragraphs) > 1:
        lines = [f"{'  ' * level}- {text}" for level, text in paragraphs]
        builder.add("list", "\n".join(lines), attributes={"slide": number})
    elif paragraphs:
        builder.add("paragraph", paragraphs[0][1], attributes={"slide": number})


def _chart_rows(chart: Chart) -> Iterator[list[str]]:
    """Yield the rows of the table behind a chart."""
    try:
        for plot in chart.plots:
            series = list(plot.series)
            yield ["", *(each.name or "" for each in series)]
            for index, category in enumerate(plot.categories):
                values = (each.values[index] if index < len(each.values) else None for each in series)
                yield [str(category), *("" if value is None else f"{value:g}" for value in values)]
    except (KeyError, ValueError, NotImplementedError, AttributeError):
        return
