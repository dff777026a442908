"""Prepares small files for the store: reads, hashes, parses and cuts them, as far as that needs no database.

Nothing here asks the store or a model, so another process can do it; see `preparer`. Whatever is not simple (a large
file, an error, a type or chunker of its own) is left to the pipeline.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from operator import attrgetter
from pathlib import Path, PurePath
from typing import Any, NamedTuple, TypeAlias

from footnotes import plugins
from footnotes.chunk import Chunker, make_chunker
from footnotes.errors import FootnotesError
from footnotes.ingest.derive import Deriver, chunker_fingerprint
from footnotes.ingest.work import NewSource
from footnotes.parse import Source
from footnotes.parse.catalog import parser_for, types_by_suffix
from footnotes.parse.decode import READ_BYTES, read_start
from footnotes.parse.open import Limits, parse_document, parser_fingerprint
from footnotes.parse.outline import document_title
from footnotes.parse.sniff import sniff
from footnotes.parse.types_by_name import MARKDOWN, PLAIN, RST
from footnotes.store.lexemes import ChunkContext, JoinedTerms, join_chunk_terms
from footnotes.store.records import ChunkDraft
from footnotes.text.script import stated_language
from footnotes.text.sketch import Sketcher, sketch_together
from footnotes.types import Block, Metadata, Part, Report

TYPES = (PLAIN, MARKDOWN, RST)
"""Types whose parsers run in the process that asks for them."""
BYTES_TOGETHER = 8_000_000
"""Of larger groups, the rest is left to the pipeline: a reply has to fit in memory."""


class Recipe(NamedTuple):
    """How to cut documents of a type: a chunker by name, and what proves that another process has the same parts."""

    chunker: str
    options: str
    cut_by: str
    parser: str


Recipes: TypeAlias = Mapping[tuple[str, str], Recipe]
"""Recipes by collection and type."""


class Instructions(NamedTuple):
    """How to prepare files. `with_terms` if the store saves the terms of chunks."""

    recipes: Recipes
    limits: Limits
    with_terms: bool


class SmallFile(NamedTuple):
    """A file to prepare. `content` are its bytes if there is no file."""

    path: str
    filename: str
    collection: str
    content: bytes | None


class Prepared(NamedTuple):
    """A file that was read and cut. Plain values only: records of the store would take longer to send than to make."""

    file_hash: str
    size: int
    mime: str
    cut_by: str
    warnings: tuple[str, ...]
    title: str
    parts: list[tuple[int, str, list[tuple[Any, ...]], str | None]]
    chunks: list[tuple[Any, ...]]
    report: tuple[Any, ...]
    language: Metadata
    sketch: bytes | None

    def made_parts(self) -> list[Part]:
        return [Part(start, text, tuple(Block(*block) for block in blocks), title)
                for start, text, blocks, title in self.parts]  # fmt: skip

    def made_chunks(self) -> list[ChunkDraft]:
        return [ChunkDraft(*chunk) for chunk in self.chunks]

    def made_report(self) -> Report:
        return Report(*self.report)


_block_values = attrgetter(*Block.__dataclass_fields__)
_chunk_values = attrgetter(*ChunkDraft.__dataclass_fields__)
_report_values = attrgetter(*Report.__dataclass_fields__)


def find_recipe(chunker: Chunker, mime: str) -> Recipe | None:
    """Return the recipe of a type; None if only this process has its chunker or parser."""
    with suppress(FootnotesError):
        options = json.dumps(dict(chunker.options))
        recipe = Recipe(chunker.name, options, chunker_fingerprint(chunker), parser_fingerprint(mime))
        if type(chunker) is plugins.find("chunkers", chunker.name) and _chunker(recipe, mime) is not None:
            return recipe
    return None


def is_preparable(origin: NewSource, recipes: Recipes) -> bool:
    """Return whether a file may be prepared, by what its name promises."""
    if origin.mime or origin.chunker is not None or origin.renew:
        return False
    promised = types_by_suffix().get(PurePath(origin.filename).suffix.lower())
    return promised is not None and (origin.collection, promised) in recipes


def prepare_together(files: Sequence[SmallFile], instructions: Instructions) -> list[Prepared | None]:
    """Prepare files; None for those that the pipeline must read itself."""
    made: list[tuple[Prepared, Sketcher] | None] = []
    size = 0
    for file in files:
        found = _prepare(file, instructions) if size < BYTES_TOGETHER else None
        made.append(found)
        size += found[0].size if found else 0
    sketches = iter(sketch_together([found[1] for found in made if found]))
    return [found[0]._replace(sketch=next(sketches)) if found else None for found in made]


def _prepare(file: SmallFile, instructions: Instructions) -> tuple[Prepared, Sketcher] | None:
    # Whatever goes wrong goes wrong again in the pipeline, which knows how to report it.
    with suppress(Exception):
        path = Path(file.path)
        content = file.content if file.content is not None else _read(path)
        if not 0 < len(content) <= READ_BYTES:
            return None
        kind = sniff(path, file.filename, content)
        recipe = instructions.recipes.get((file.collection, kind.mime))
        chunker = _chunker(recipe, kind.mime) if recipe is not None else None
        if recipe is None or chunker is None:
            return None
        source = Source(path, file.filename, kind.mime, content)
        return _cut(source, content, chunker, recipe.cut_by, kind.warnings, instructions)
    return None


def _read(path: Path) -> bytes:
    with path.open("rb", buffering=0) as file:
        return read_start(file)


def _cut(
    source: Source, content: bytes, chunker: Chunker, cut_by: str, warnings: tuple[str, ...], instructions: Instructions
) -> tuple[Prepared, Sketcher] | None:
    *parts, report = parse_document(source, limits=instructions.limits)
    assert isinstance(report, Report)
    texts = [part for part in parts if isinstance(part, Part)]
    file_hash, title = hashlib.sha256(content).hexdigest(), document_title(source.filename, texts[0])
    derive, sketcher = Deriver(chunker, file_hash, title, fingerprint=cut_by), Sketcher()
    chunks: list[tuple[Any, ...]] = []
    for part in texts:
        sketcher.add(part.text)
        made: Iterable[tuple[ChunkDraft, str]] = derive.chunks(part)
        if instructions.with_terms:
            made = ((replace(chunk, terms=_terms(chunk, text, title, source.filename)), text) for chunk, text in made)
        chunks += [_chunk_values(chunk) for chunk, _ in made]
    if not chunks:
        return None
    prepared = Prepared(
        file_hash,
        len(content),
        source.mime,
        cut_by,
        warnings,
        title,
        [(part.start, part.text, list(map(_block_values, part.blocks)), part.title) for part in texts],
        chunks,
        _report_values(report),
        stated_language(texts[0].text),
        None,
    )
    return prepared, sketcher


def _terms(chunk: ChunkDraft, text: str, title: str, filename: str) -> JoinedTerms:
    about: ChunkContext = {
        "headings": chunk.headings,
        "title": title,
        "filename": filename,
        "prefix": chunk.prefix,
        "metadata": chunk.metadata,
    }
    return join_chunk_terms(text, **about)


@cache
def _chunker(recipe: Recipe, mime: str) -> Chunker | None:
    """Build the chunker of a recipe; None unless it and the parser are those of the process that wrote the recipe."""
    if parser_for(mime).isolated or parser_fingerprint(mime) != recipe.parser:
        return None
    chunker = make_chunker(recipe.chunker, json.loads(recipe.options))
    return chunker if chunker_fingerprint(chunker) == recipe.cut_by else None
