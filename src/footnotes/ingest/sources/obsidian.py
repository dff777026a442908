"""Obsidian: `obsidian:~/Vault`. Notes as a reader sees them: links by their text, embedded notes in place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

import yaml

from footnotes.errors import SourceUnreadable
from footnotes.ingest.sources import Address, BaseSource, Content, Entry, LeftOut
from footnotes.ingest.sources.files import BLOCK, digest, write_blocks, write_text
from footnotes.store.naming import name_of
from footnotes.types import JsonValue

_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)
_WIKI = re.compile(r"(!?)\[\[([^\[\]|#^]*)(#[^\[\]|]*)?(?:\|([^\[\]]*))?\]\]")
_TAG = re.compile(r"(?:^|(?<=[\s(,]))#([^\s#,.;:!?()\[\]{}'\"`]*[^\W\d][^\s#,.;:!?()\[\]{}'\"`]*)")
_CODE = re.compile(r"(```.*?```|~~~.*?~~~|`[^`\n]*`)", re.DOTALL)
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_BLOCK_ID = re.compile(r"[ \t]+\^[A-Za-z0-9-]+[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*?)[ \t#]*$", re.MULTILINE)
_DEEPEST = 3
_MOST_LINKS = 200


class ObsidianSource(BaseSource):
    """The notes of a vault and other files in it. Skips hidden folders and the trash."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._top = address.local_path()
        self.root = self.name = f"obsidian:{self._top}"
        if not self._top.is_dir():
            raise SourceUnreadable(f"there is no vault {self._top}", remedy="Pass the folder of the vault.")
        self._paths: dict[str, Path] = {}
        self._by_name: dict[str, str] = {}
        self._read: dict[str, tuple[dict[str, object], str]] = {}

    def entries(self) -> Iterator[Entry | LeftOut]:
        for path in sorted(self._walk(self._top)):
            key = path.relative_to(self._top).as_posix()
            self._paths[key] = path
            name = PurePosixPath(key)
            for alias in (key, name.name, *((str(name.with_suffix("")), name.stem) if name.suffix == ".md" else ())):
                self._by_name.setdefault(alias.lower(), key)
        linked = self._backlinks()
        for key, path in self._paths.items():
            status = path.stat()
            if not key.endswith(".md"):
                yield Entry(key, f"{status.st_size}/{status.st_mtime_ns}", status.st_size, {"path": key})
                continue
            metadata = self._metadata(key, linked.get(key, []))
            text = self._render(key, set(), 0)
            yield Entry(key, digest(text, repr(metadata)), len(text), metadata)

    def _walk(self, folder: Path) -> Iterator[Path]:
        for path in folder.iterdir():
            if path.name.startswith(".") or path.is_symlink():
                continue
            if path.is_dir():
                yield from self._walk(path)
            elif path.is_file() and path.suffix not in (".canvas", ".excalidraw", ".base"):
                yield path

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        name = name_of(entry.key)
        if entry.key.endswith(".md"):
            yield Content(write_text(self._render(entry.key, set(), 0), folder / "note"), name)
            return
        with self._paths[entry.key].open("rb") as file:
            path = write_blocks(iter(lambda: file.read(BLOCK), b""), folder / "file", self.limit)
        yield Content(path, name)

    # ── rendering a note

    def _note(self, key: str) -> tuple[dict[str, object], str]:
        """Front matter and text of a note."""
        if key not in self._read:
            raw = self._paths[key].read_text("utf-8-sig", "replace")
            front = _FRONT.match(raw)
            self._read[key] = (_front_matter(front[1]) if front else {}, raw[front.end() :] if front else raw)
        return self._read[key]

    def _target(self, link: str) -> str | None:
        """Find the file that a link names: by its path, or by its name in any folder."""
        target = link.strip().lower().removeprefix("./")
        return self._by_name.get(target) or self._by_name.get(target.rpartition("/")[2])

    def _render(self, key: str, above: set[str], depth: int) -> str:
        """Render a note with its embedded notes in place. A note inside itself is only named."""
        _, text = self._note(key)
        return _outside_code(_COMMENT.sub("", text), lambda part: self._replace_links(part, above | {key}, depth))

    def _replace_links(self, text: str, above: set[str], depth: int) -> str:
        def replace(found: re.Match[str]) -> str:
            embeds, link, part, label = bool(found[1]), found[2].strip(), (found[3] or "")[1:], found[4]
            target = self._target(link) if link else None
            if embeds and target and target.endswith(".md") and target not in above and depth < _DEEPEST:
                return _section(self._render(target, above, depth + 1), part).strip()
            label_text = (label or "").strip() or (f"{link} > {part}" if link and part else link or part)
            return f"[{label_text}]" if embeds else label_text

        return _BLOCK_ID.sub("", _WIKI.sub(replace, text))

    def _metadata(self, key: str, backlinks: list[str]) -> dict[str, JsonValue]:
        front, text = self._note(key)
        values: dict[str, JsonValue] = {
            name: _plain_value(value) for name, value in front.items() if name != "position"
        }
        tags = [
            *_to_list(front.get("tags", front.get("tag"))),
            *(tag for part in _prose(text) for tag in _TAG.findall(part)),
        ]
        links = [self._target(each[2]) or each[2] for part in _prose(text) for each in _WIKI.finditer(part) if each[2]]
        # Empty lists are given too: new metadata is merged with the old, and must replace it.
        return {
            **values,
            "path": key,
            "tags": [*dict.fromkeys(tag.lstrip("#") for tag in tags)],
            "aliases": [*_to_list(front.get("aliases", front.get("alias")))],
            "links": [*list(dict.fromkeys(links))[:_MOST_LINKS]],
            "backlinks": [*backlinks[:_MOST_LINKS]],
        }

    def _backlinks(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for key in [key for key in self._paths if key.endswith(".md")]:
            links = {self._target(link[2]) for part in _prose(self._note(key)[1]) for link in _WIKI.finditer(part)}
            for target in sorted(links - {None, key}, key=str):
                found.setdefault(str(target), []).append(key)
        return found


def _front_matter(text: str) -> dict[str, object]:
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError:
        return {}
    return {str(name): value for name, value in found.items()} if isinstance(found, dict) else {}


def _plain_value(value: object) -> JsonValue:
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if isinstance(value, list):
        return [_plain_value(each) for each in value][:200]
    if isinstance(value, dict):
        return {str(name): _plain_value(each) for name, each in value.items()}
    return str(value)


def _to_list(value: object) -> list[str]:
    if isinstance(value, str):
        return [each for each in re.split(r"[,\s]+", value) if each]
    return [str(each) for each in value if each is not None] if isinstance(value, list) else []


def _prose(text: str) -> Iterator[str]:
    """Yield the parts of a note outside of code."""
    yield from (part for number, part in enumerate(_CODE.split(text)) if number % 2 == 0)


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    return "".join(part if number % 2 else change(part) for number, part in enumerate(_CODE.split(text)))


def _section(text: str, heading: str) -> str:
    """Return the section of a note that an embed names: below a heading, up to the next of its rank."""
    if not heading:
        return text
    title = heading.rpartition("#")[2].strip().lower()
    headings = list(_HEADING.finditer(text))
    for number, found in enumerate(headings):
        if found[2].strip().lower() == title:
            rank = len(found[1])
            after = next((each.start() for each in headings[number + 1 :] if len(each[1]) <= rank), len(text))
            return text[found.start() : after]
    return text if heading.startswith("^") else ""
