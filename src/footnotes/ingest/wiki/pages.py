"""Metadata of a page: title, kind, layer, and the names of the repository in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePath, PurePosixPath

from footnotes.analyse.layers import OTHER, glob, guess_layer
from footnotes.ingest.ingestor import Ingestor, IngestTarget
from footnotes.ingest.names import as_text, check_metadata
from footnotes.ingest.plan import Plan
from footnotes.ingest.sync import FolderSync
from footnotes.ingest.walk import Skipped
from footnotes.ingest.wiki.analysis import RepositoryAnalysis
from footnotes.ingest.wiki.chunks import find_entry_points, find_names, strip_anchor
from footnotes.ingest.work import NewSource
from footnotes.parse.catalog import types_by_suffix
from footnotes.parse.markdown import front_matter, plain_title, title_of
from footnotes.parse.types_by_name import MARKDOWN, WIKI
from footnotes.types import JsonValue, Metadata

MOST_SYMBOLS, MOST_IMPORTS, MOST_ENTRY_POINTS = 400, 200, 200
DOCS = "docs"
_HEADING = re.compile(r"^#[ \t]+(\S[^\n]{0,300})$", re.MULTILINE)
_PATH = re.compile(r"(?<![\w/.-])(?:[\w.@-]{1,100}/){0,20}[\w.@-]{1,100}\.\w{1,8}(?![\w/])")
_KINDS = (
    ("overview", "index readme home overview introduction intro summary about"),
    ("architecture", "architecture design decisions adr"),
    ("api", "api apis endpoints endpoint reference openapi rest routes"),
    ("workflow", "workflow workflows flow flows process pipeline sequence lifecycle"),
    ("guide", "guide guides tutorial tutorials howto how-to quickstart getting-started install installation setup faq "
              "advanced"),
    ("changelog", "changelog changes release-notes releases history news"),
)  # fmt: skip
_KIND_OF = {word: kind for kind, words in _KINDS for word in words.split()}
_LONGEST = 4_000_000


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """An analysis, prepared for comparison with pages."""

    names: frozenset[str]
    modules: frozenset[str]
    entries: tuple[str, ...]
    files: frozenset[str]
    folders: frozenset[str]
    layers: Mapping[str, str]
    imports_of: Mapping[str, Sequence[str]]
    entries_of: Mapping[str, Sequence[str]]

    @classmethod
    def from_analysis(cls, analysis: RepositoryAnalysis) -> Vocabulary:
        files = analysis.files()
        folders = frozenset(str(parent) for path in files for parent in PurePosixPath(path).parents) - {"."}
        return cls(
            analysis.names(),
            analysis.modules(),
            tuple(analysis.entries()),
            files,
            folders,
            dict(analysis.layers),
            analysis.file_imports,
            analysis.entry_points,
        )

    def layer(self, path: str) -> str | None:
        """Return the layer of a file: by its path, else by the first glob that matches."""
        if path in self.layers:
            return self.layers[path]
        return next((layer for pattern, layer in self.layers.items() if glob(pattern).fullmatch(path)), None)


def page_metadata(path: str, text: str, vocabulary: Vocabulary, layers: Mapping[str, str]) -> dict[str, JsonValue]:
    """Build the metadata of a page. `analysis` has the names in the page; each chunk keeps its own."""
    _, fields = front_matter(text)
    found = _HEADING.search(text)
    title = title_of(fields) or (strip_anchor(plain_title(found[1])) if found else "") or PurePosixPath(path).stem
    names = find_names(text, vocabulary.names)[:MOST_SYMBOLS]
    described = find_described_file(path, title, text, vocabulary)
    of_file: dict[str, JsonValue] = {}
    if described is not None:
        of_file = {
            "describes": described,
            "imports": [*islice(vocabulary.imports_of.get(described, ()), MOST_IMPORTS)],
            "entry_points": [*islice(vocabulary.entries_of.get(described, ()), MOST_ENTRY_POINTS)],
        }
    return {
        **of_file,
        "path": path,
        "title": title,
        "type": _front_value(fields, "type") or _kind(path, title, vocabulary),
        "layer": _front_value(fields, "layer") or _layer(path, text, vocabulary, layers),
        "analysis": {
            "symbols": [*names],
            "imports": [*find_names(text, vocabulary.modules)[:MOST_IMPORTS]],
            "entry_points": [*find_entry_points(text, vocabulary.entries)[:MOST_ENTRY_POINTS]],
        },
    }


def find_described_file(path: str, title: str, text: str, vocabulary: Vocabulary) -> str | None:
    """Find the source file of a page: the one it is named after, else the only one that it names."""
    bare = path.removesuffix(PurePosixPath(path).suffix)
    for name in (bare, title):
        if name in vocabulary.files:
            return name
    candidates = [known for known in vocabulary.files if _stem(known) == bare or _stem(known).endswith("/" + bare)]
    files = set(candidates) or set(_find_files(text, vocabulary.files))
    return files.pop() if len(files) == 1 else None


def _stem(path: str) -> str:
    return path.removesuffix(PurePosixPath(path).suffix)


def _front_value(values: Mapping[str, JsonValue], key: str) -> str:
    value = values.get(key)
    return value.strip().lower() if isinstance(value, str) else ""


def _kind(path: str, title: str, vocabulary: Vocabulary) -> str:
    """Detect the kind of a page: `file` or `directory` by its name, else by its name, folders and title."""
    bare = path.removesuffix(PurePosixPath(path).suffix)
    for name in (bare, title):
        if name in vocabulary.files:
            return "file"
        if name.strip("/") in vocabulary.folders:
            return "directory"
    *folders, name = bare.lower().replace("_", "-").split("/")
    if any(known.endswith("/" + bare) or known == bare for known in vocabulary.files):
        return "file"
    for word in (name, *name.split("-"), *reversed(folders), *re.findall(r"[\w-]+", title.lower())):
        if kind := _KIND_OF.get(word):
            return kind
    return "page"


def _layer(path: str, text: str, vocabulary: Vocabulary, layers: Mapping[str, str]) -> str:
    """Return the layer by a glob of the settings, else of most files the page names, else guess it from the path."""
    for pattern, layer in layers.items():
        if glob(pattern).fullmatch(path):
            return layer
    layers_of_files = (vocabulary.layer(each) for each in _find_files(text, vocabulary.files))
    counts = Counter(layer for layer in layers_of_files if layer and layer != OTHER)
    return counts.most_common(1)[0][0] if counts else guess_layer(path) or DOCS


def _find_files(text: str, files: frozenset[str]) -> Iterable[str]:
    return (match[0].removeprefix("./") for match in _PATH.finditer(text) if match[0].removeprefix("./") in files)


# ── updates a collection from a folder of pages that describe a repository ────────────────────────────────────


class WikiSync(FolderSync):
    """One pass over one folder of pages. A page is chunked again also if only its metadata has changed."""

    def __init__(self, ingestor: Ingestor, target: IngestTarget, folder: Path, vocabulary: Vocabulary) -> None:
        super().__init__(ingestor, target, folder)
        self._vocabulary, self._layers = vocabulary, ingestor.settings.layers
        self._metadata_by_source: dict[str, Metadata] = {}

    def _look(self) -> None:
        super()._look()
        for source in list(self._seen):
            if types_by_suffix().get(PurePath(source).suffix.lower()) != MARKDOWN:
                self._leave_out(source, "no Markdown")
            elif not self._text(source).strip():
                self._leave_out(source, "no text in it")

    def _leave_out(self, source: str, reason: str) -> None:
        self._skipped.append(Skipped(self._seen.pop(source).path, reason))

    def plan(self, *, delete_all: bool = False) -> Plan:
        """Plan the pass; pages whose metadata changed count as changed."""
        plan = super().plan(delete_all=delete_all)
        plan.left_alone = []
        stale = [known for known in plan.unchanged if not self._is_described(known.source)]
        plan.unchanged = [known for known in plan.unchanged if known not in stale]
        plan.changed += [known.source for known in stale]
        # Every chunk of a page holds its path.
        plan.changed += [new for new in plan.moved.values() if new not in plan.changed]
        return plan

    def _is_described(self, source: str) -> bool:
        row = self._document(source)
        if row is None or source not in self._seen:
            return True
        metadata = self._metadata(source)
        return row.document.mime == WIKI and all(row.document.metadata.get(key) == metadata[key] for key in metadata)

    def _new_source(self, source: str) -> NewSource:
        return replace(super()._new_source(source), metadata=self._metadata(source), mime=WIKI, renew=True)

    def _text(self, source: str) -> str:
        with suppress(OSError), self._seen[source].path.open(encoding="utf-8-sig", errors="replace") as file:
            return file.read(_LONGEST)
        return "?"  # it cannot be read now: the pipeline reports why

    def _metadata(self, source: str) -> Metadata:
        if source not in self._metadata_by_source:
            path, text = self._seen[source].path, self._text(source)
            relative = as_text(path.relative_to(self.root).as_posix())
            described = page_metadata(relative, text, self._vocabulary, self._layers)
            self._metadata_by_source[source] = check_metadata({**self._target.metadata_of(path), **described})
        return self._metadata_by_source[source]
