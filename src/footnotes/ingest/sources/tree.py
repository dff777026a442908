"""Files of an export: a folder, or a zip or tar of one. Lists names, sizes and stamps without unpacking."""

from __future__ import annotations

import tarfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from footnotes.errors import ArchiveLimit, SourceUnreadable
from footnotes.ingest.archive.members import is_hidden, safe_name
from footnotes.ingest.sources import Address, BaseSource, Content, Entry, LeftOut
from footnotes.ingest.sources.files import BLOCK, write_blocks
from footnotes.store.naming import name_of

_LARGEST_TEXT = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class File:
    """A file of an export, by its path from the top."""

    name: str
    size: int
    stamp: str


class Tree(ABC):
    """The files of an export."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def files(self) -> list[File]: ...

    @abstractmethod
    def open(self, name: str) -> IO[bytes]: ...

    def text(self, name: str) -> str:
        return self.bytes(name).decode("utf-8-sig", "replace")

    def bytes(self, name: str) -> bytes:
        with self.open(name) as file:
            content = file.read(_LARGEST_TEXT + 1)
        if len(content) > _LARGEST_TEXT:
            raise ArchiveLimit(f"{name} of the export is larger than {_LARGEST_TEXT:,} bytes")
        return content

    def write(self, name: str, target: Path, limit: int) -> Path:
        with self.open(name) as file:
            return write_blocks(iter(lambda: file.read(BLOCK), b""), target, limit)

    def version(self) -> str | None:
        status = self.path.stat()
        return f"{status.st_size}/{status.st_mtime_ns}"

    def refusal(self, name: str) -> str:
        """Return why `add` would refuse a file of this name, or pass over it; empty if it would not."""
        plain = safe_name(name)
        if plain is None:
            return "its name points out of the archive"
        return "hidden" if is_hidden(plain) else ""

    def close(self) -> None:  # noqa: B027
        pass


class _Folder(Tree):
    def files(self) -> list[File]:
        return sorted(self._walk(self.path), key=lambda file: file.name)

    def _walk(self, folder: Path) -> Iterator[File]:
        for path in folder.iterdir():
            if path.name.startswith("."):
                continue
            if path.is_dir() and not path.is_symlink():
                yield from self._walk(path)
            elif path.is_file() and path.resolve().is_relative_to(self.path):
                status = path.stat()
                name = path.relative_to(self.path).as_posix()
                yield File(name, status.st_size, f"{status.st_size}/{status.st_mtime_ns}")

    def open(self, name: str) -> IO[bytes]:
        return (self.path / name).open("rb")

    def refusal(self, name: str) -> str:
        return ""

    def version(self) -> str | None:
        return None


class _Zip(Tree):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._zip = zipfile.ZipFile(path)

    def files(self) -> list[File]:
        found = [info for info in self._zip.infolist() if not info.is_dir()]
        return [File(info.filename, info.file_size, f"{info.CRC:08x}/{info.file_size}") for info in found]

    def open(self, name: str) -> IO[bytes]:
        return self._zip.open(name)

    def close(self) -> None:
        self._zip.close()


class _Tar(Tree):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._tar = tarfile.open(path)  # noqa: SIM115

    def files(self) -> list[File]:
        return [File(each.name, each.size, f"{each.size}/{each.mtime}") for each in self._tar if each.isreg()]

    def open(self, name: str) -> IO[bytes]:
        found = self._tar.extractfile(name)
        if found is None:
            raise FileNotFoundError(name)
        return found

    def close(self) -> None:
        self._tar.close()


def open_tree(path: Path, most: int) -> Tree:
    """Open the export at a path: a folder, a zip or a tar."""
    try:
        if path.is_dir():
            return _Folder(path.resolve())
        tree: Tree = _Zip(path) if zipfile.is_zipfile(path) else _Tar(path)
    except FileNotFoundError:
        raise SourceUnreadable(f"there is no file or folder {path}") from None
    except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise SourceUnreadable(f"{path} is neither a folder, a zip nor a tar ({error})") from error
    if len(tree.files()) > most:
        raise ArchiveLimit(f"{path} has more than {most:,} files", remedy="Raise archive_max_members, or unpack it.")
    return tree


class ExportSource(BaseSource):
    """An export on this machine. A packed export is only read again when its size or time has changed."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        path = address.local_path()
        self.root = self.name = f"{address.kind}:{path}"
        self.tree = open_tree(path, address.settings.archive_max_members)

    def version(self) -> str | None:
        return self.tree.version()

    def close(self) -> None:
        self.tree.close()


class FolderSource(ExportSource):
    """`folder:~/Inbox`: the files of a folder, a zip or a tar, for a server to follow."""

    def entries(self) -> Iterator[Entry | LeftOut]:
        seen: set[str] = set()
        for file in self.tree.files():
            if reason := self.tree.refusal(file.name) or ("it is there more than once" if file.name in seen else ""):
                yield LeftOut(file.name, reason)
            else:
                yield Entry(file.name, file.stamp, file.size, {"path": file.name})
            seen.add(file.name)

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        yield Content(self.tree.write(entry.key, folder / "file", self.limit), name_of(entry.key))
