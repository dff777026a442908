"""Mail in files: `mbox:FILE` and `maildir:FOLDER`. The Message-ID names a message, wherever in a file it is."""

from __future__ import annotations

import email
import email.policy
import mailbox
from collections.abc import Iterable, Iterator
from pathlib import Path

from footnotes.errors import SourceUnreadable
from footnotes.ingest.sources import Address, BaseSource, Content, Entry, LeftOut
from footnotes.ingest.sources.files import digest
from footnotes.ingest.sources.mail import message_files, message_id


class MboxSource(BaseSource):
    """The messages of one file. It is only read again when its size or time has changed."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._path = address.local_path()
        self.root = self.name = f"mbox:{self._path}"
        if not self._path.is_file():
            raise SourceUnreadable(f"there is no file {self._path}")
        self._offsets: dict[str, str] = {}
        self._mailbox = mailbox.mbox(self._path, create=False)

    def version(self) -> str | None:
        status = self._path.stat()
        return f"{status.st_size}/{status.st_mtime_ns}"

    def entries(self) -> Iterator[Entry | LeftOut]:
        for number in self._mailbox.keys():  # noqa: SIM118
            raw = self._mailbox.get_bytes(number)
            known = message_id(email.message_from_bytes(raw, policy=email.policy.compat32)) or digest(repr(raw))
            key = f"{digest(known)}.eml"
            if key not in self._offsets:
                self._offsets[key] = number
                yield Entry(key, digest(repr(raw)), len(raw))

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        raw = self._mailbox.get_bytes(self._offsets[entry.key])
        yield from message_files(raw, folder, entry.key, self.limit, {"folder": self._path.stem})

    def close(self) -> None:
        self._mailbox.close()


class MaildirSource(BaseSource):
    """The messages of a Maildir and of the folders in it. Flags, which are in the names, change nothing."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._path = address.local_path()
        self.root = self.name = f"maildir:{self._path}"
        if not (self._path / "cur").is_dir():
            raise SourceUnreadable(f"{self._path} is not a Maildir", remedy="Pass the folder with cur and new.")
        self._files: dict[str, Path] = {}

    def entries(self) -> Iterator[Entry | LeftOut]:
        folders = [self._path, *sorted(each for each in self._path.glob(".*") if (each / "cur").is_dir())]
        for top in folders:
            name = top.name.lstrip(".") if top != self._path else "INBOX"
            for file in sorted([*(top / "cur").iterdir(), *(top / "new").iterdir()]):
                unique = file.name.partition(":")[0]
                key = f"{name}/{unique}.eml"
                if file.is_symlink() or not file.is_file():
                    yield LeftOut(key, "a link, or no file")
                    continue
                self._files[key] = file
                yield Entry(key, unique, metadata={"folder": name})

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        name = entry.key.rpartition("/")[2]
        raw = self._files[entry.key].read_bytes()
        yield from message_files(raw, folder, name, self.limit, entry.metadata)
