"""The analysis of a repository: made from its source, or read from a prepared file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from footnotes.analyse.layers import layer_of
from footnotes.errors import DocumentError, MissingExtra, OptionError, SourceUnreadable
from footnotes.ingest.code.files import SourceFile, manifest_entry_points, source_files
from footnotes.ingest.code.git import Git
from footnotes.ingest.code.leave_out import reason_by_content
from footnotes.ingest.sync import check_root
from footnotes.parse import Source
from footnotes.parse.open import Limits, parse_document
from footnotes.parse.types_by_name import LANGUAGES, code_mime
from footnotes.types import Report

MOST_BYTES = 200_000_000
_REMEDY = "The shape of an analysis is in docs/code.md."


@dataclass(slots=True)
class RepositoryAnalysis:
    """Symbols, imports, layers and entry points of a repository, by path."""

    symbols: dict[str, list[str]] = field(default_factory=dict)
    file_imports: dict[str, list[str]] = field(default_factory=dict)
    layers: dict[str, str] = field(default_factory=dict)
    entry_points: dict[str, list[str]] = field(default_factory=dict)

    def names(self) -> frozenset[str]:
        """Return every symbol, by its full name and by its last part."""
        every = frozenset(name for names in self.symbols.values() for name in names)
        return every | {name.rpartition(".")[2] for name in every}

    def modules(self) -> frozenset[str]:
        """Return every imported module."""
        return frozenset(name for names in self.file_imports.values() for name in names if not name.startswith("."))

    def entries(self) -> list[str]:
        return list(dict.fromkeys(name for names in self.entry_points.values() for name in names))

    def files(self) -> frozenset[str]:
        """Return every path of the analysis, without globs."""
        paths = {*self.symbols, *self.file_imports, *self.entry_points, *self.layers}
        return frozenset(path for path in paths if path and "*" not in path)


def analyse_repository(folder: Path, layers: Mapping[str, str], limits: Limits) -> RepositoryAnalysis:
    """Analyse the source of a repository. Files that cannot be read are skipped."""
    root = check_root(folder)
    found = RepositoryAnalysis()
    for item in source_files(root, Git.open(root), untracked=False):
        if isinstance(item, SourceFile) and reason_by_content(item.path) is None:
            found.layers[item.relative] = layer_of(item.relative, layers)
            if entries := manifest_entry_points(item.path):
                found.entry_points[item.relative] = entries
            if item.language in LANGUAGES:
                _read(item, found, limits)
    return found


def _read(file: SourceFile, found: RepositoryAnalysis, limits: Limits) -> None:
    symbols: dict[str, None] = {}
    try:
        for item in parse_document(Source(file.path, file.path.name, code_mime(file.language)), limits=limits):
            if isinstance(item, Report):
                for key, target in (("imports", found.file_imports), ("entry_points", found.entry_points)):
                    if names := item.metadata.get(key):
                        target[file.relative] = _texts(names, key)
                continue
            for block in item.blocks:
                symbols.update(dict.fromkeys(_texts(block.attributes.get("symbols", []), "symbols")))
    except (DocumentError, MissingExtra):
        return
    if symbols:
        found.symbols[file.relative] = list(symbols)


def load_analysis(path: Path) -> RepositoryAnalysis:
    """Load an analysis from a JSON file, and check it."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise OptionError(f"{path} is too large for an analysis ({MOST_BYTES:,} bytes)", remedy=_REMEDY)
        read = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SourceUnreadable(f"{path} cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{path} is not valid JSON: {str(error)[:200]}", remedy=_REMEDY) from error
    return parse_analysis(read, str(path))


def parse_analysis(read: object, name: str) -> RepositoryAnalysis:
    """Parse an analysis from plain values; raise an error that names the wrong value."""
    names = ("symbols", "file_imports", "layers", "entry_points")
    if not isinstance(read, dict):
        raise OptionError(f"{name} is not an object", remedy=_REMEDY)
    if not any(key in read for key in names):
        raise OptionError(f"{name} has none of {', '.join(names)}", remedy=_REMEDY)
    try:
        return RepositoryAnalysis(
            symbols=_by_path(read.get("symbols", {}), "symbols"),
            file_imports=_by_path(read.get("file_imports", {}), "file_imports"),
            layers=_layers(read.get("layers", {})),
            entry_points=_by_path(read.get("entry_points", {}), "entry_points"),
        )
    except _InvalidAnalysis as wrong:
        raise OptionError(f"{name}: {wrong}", remedy=_REMEDY) from wrong


class _InvalidAnalysis(Exception):
    """A value of an analysis is wrong."""


def _by_path(value: object, key: str) -> dict[str, list[str]]:
    """Return names by path, from an object of lists, or from a list of names or of objects with `name` and `path`."""
    if isinstance(value, dict):
        return {str(path): _texts(names, f"{key}[{path!r}]") for path, names in value.items()}
    if not isinstance(value, list):
        raise _InvalidAnalysis(f"{key} must be an object of lists by path, or a list, not {type(value).__name__}")
    found: dict[str, list[str]] = {}
    for number, each in enumerate(value):
        path, name = (each.get("path", ""), each.get("name")) if isinstance(each, dict) else ("", each)
        if not isinstance(name, str) or not isinstance(path, str):
            raise _InvalidAnalysis(f"{key}[{number}] must be a name, or an object with a name and a path")
        found.setdefault(path, []).append(name)
    return found


def _texts(value: object, key: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in _parse_names(value)):
        raise _InvalidAnalysis(f"{key} must be a list of names")
    return [each for each in _parse_names(value) if each]


def _parse_names(value: Iterable[object]) -> list[Any]:
    return [each.get("name") if isinstance(each, dict) else each for each in value]


def _layers(value: object) -> dict[str, str]:
    """Layers by path or glob, also from lists of paths by layer."""
    if not isinstance(value, dict):
        raise _InvalidAnalysis(f"layers must be an object, not {type(value).__name__}")
    found: dict[str, str] = {}
    for key, each in value.items():
        if isinstance(each, str):
            found[str(key)] = each
        elif isinstance(each, list) and all(isinstance(path, str) for path in each):
            found.update(dict.fromkeys(each, str(key)))
        else:
            raise _InvalidAnalysis(f"layers[{key!r}] must be the name of a layer, or a list of paths")
    return found
