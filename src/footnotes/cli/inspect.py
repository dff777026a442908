"""`footnotes inspect`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from footnotes.cli.options import chunker_options, json_option, pairs
from footnotes.errors import OptionError, StoreUnavailable

if TYPE_CHECKING:
    from footnotes.inspect.examine import ChunkerFor, Inspection
    from footnotes.settings import Settings

_PAGES_DRAWN = 20


@click.command("inspect")
@click.argument("file", type=click.Path(path_type=Path))
@chunker_options
@json_option
@click.option("--html", "page", type=click.Path(path_type=Path), help="Write an HTML report.")
@click.option(
    "--pages", type=int, default=_PAGES_DRAWN, show_default=True, help="Number of PDF pages to draw in the report."
)
def inspect_command(
    file: Path, chunker: str | None, chunker_option: Sequence[str], as_json: bool, page: Path | None, pages: int
) -> None:
    """Show the text and the chunks of a file. Stores nothing and needs no library."""
    found = _inspect(file, chunker, pairs(chunker_option))
    if page is not None:
        if page.exists() and page.samefile(file):
            raise OptionError(f"{page} is the inspected file", remedy="Pass another file name for the report.")
        _write_page(found, page, pages)
    if as_json:
        from footnotes.inspect.show import inspection_to_json

        click.echo(json.dumps(inspection_to_json(found), ensure_ascii=False))
    elif page is None:
        from footnotes.inspect.show import show

        show(found)


def _inspect(file: Path, chunker: str | None, options: Mapping[str, object]) -> Inspection:
    from footnotes.inspect.examine import inspect_file
    from footnotes.parse.limits import Limits
    from footnotes.settings import load

    settings = load()
    limits = Limits(settings.parse_memory_bytes, settings.parse_seconds, settings.parse_max_characters)
    chunker_for = _chunkers(settings, chunker, options)
    return inspect_file(file.expanduser(), chunker_for, limits=limits, max_bytes=settings.max_file_bytes)


def _chunkers(settings: Settings, name: str | None, options: Mapping[str, object]) -> ChunkerFor:
    """Build a function that returns the named chunker, or the one for a document type."""
    from footnotes.chunk import Chunker, make_chunker
    from footnotes.parse.types_by_name import is_source_code

    def embed(texts: Sequence[str]) -> object:
        from footnotes.embed.checked import embed_all
        from footnotes.embed.make import make_embedder

        return embed_all(make_embedder(settings), texts, role="passage", batch=settings.embed_batch)

    def chunker_for(mime: str) -> Chunker:
        if name is None and is_source_code(mime):
            return make_chunker(settings.code_chunker, {})
        chunker_options = options if name else {**settings.chunker_options, **options}
        return make_chunker(name or settings.chunker, chunker_options, embed=embed)

    return chunker_for


def _write_page(found: Inspection, page: Path, pages: int) -> None:
    from footnotes.inspect.page import html_page

    if page.exists() and page.suffix.lower() not in (".html", ".htm"):
        raise OptionError(
            f"{page} exists and is not an HTML file", remedy="Pass a new file name, or one that ends in .html."
        )
    try:
        page.write_text(html_page(found, most_pages=max(pages, 0)), encoding="utf-8")
    except OSError as error:
        raise StoreUnavailable(f"cannot write {page} ({error.strerror})") from error
    click.echo(f"page: {page}", err=True)
