"""Notion: `notion:Export.zip`, an export as Markdown and CSV. A page keeps its document when its title changes."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from footnotes.ingest.sources import Address, Content, Entry, LeftOut
from footnotes.ingest.sources.files import digest, write_text
from footnotes.ingest.sources.tree import ExportSource, File, Tree, open_tree

_ID = re.compile(r" ([0-9a-f]{32})(?=(_all)?(\.\w+)?$)")
_LINK = re.compile(r"\]\(([^)\s]+?\.(?:md|csv))\)")


class NotionSource(ExportSource):
    """Pages, databases as tables, and the files in pages. Large exports are zips within a zip."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._folder = address.folder()
        self._files: dict[str, tuple[Tree, File]] = {}
        self._trees = [self.tree, *self._inner()]

    def _inner(self) -> Iterator[Tree]:
        most = self.address.settings.archive_max_members
        for number, file in enumerate(self.tree.files()):
            if file.name.endswith(".zip") and "Part-" in file.name:
                path = self.tree.write(file.name, self._folder / str(number), self.limit)
                if zipfile.is_zipfile(path):
                    yield open_tree(path, most)

    def entries(self) -> Iterator[Entry | LeftOut]:
        files = [(tree, file) for tree in self._trees for file in tree.files()]
        names = {file.name for _, file in files}
        for tree, file in files:
            path = PurePosixPath(file.name)
            if file.name.endswith(".zip") and "Part-" in file.name:
                continue
            if path.suffix == ".csv" and f"{path.with_suffix('')}_all.csv" in names:
                continue  # a view of a database, which is exported as a whole too
            found = _ID.search(path.name)
            key = f"{found[1]}{path.suffix}" if found else file.name
            self._files[key] = (tree, file)
            path_text = "/".join(_ID.sub("", part) for part in path.parts)
            metadata = {"path": path_text, "notion_id": found[1]} if found else {"path": path_text}
            yield Entry(key, digest(file.stamp, path_text), file.size, {**metadata})

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        tree, file = self._files[entry.key]
        name = _ID.sub("", PurePosixPath(file.name).name).replace("_all.csv", ".csv")
        if name.endswith(".md"):
            yield Content(write_text(_plain_links(tree.text(file.name)), folder / "page"), name)
        else:
            yield Content(tree.write(file.name, folder / "file", self.limit), name)

    def close(self) -> None:
        for tree in self._trees:
            tree.close()


def _plain_links(text: str) -> str:
    """Remove the ids from links to other pages: they are noise to readers and searches."""
    return _LINK.sub(lambda found: f"]({_ID.sub('', unquote(found[1]))})".replace(" ", "%20"), text)
