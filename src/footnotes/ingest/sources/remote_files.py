"""File servers by implementations of fsspec: `sftp://user@host/path` and `webdav(s)://user@host/path`."""

from __future__ import annotations

import posixpath
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from footnotes.errors import FootnotesError
from footnotes.fetch.address import public_address
from footnotes.ingest.sources import Address, BaseSource, Content, Entry, LeftOut
from footnotes.ingest.sources.files import BLOCK, write_blocks
from footnotes.remote.client import guarded_transport
from footnotes.store.naming import name_of


class FileServer(BaseSource):
    """The files below a folder of a server. Their stamps are size and time of change; hidden files are skipped."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._top = (address.path or "/").rstrip("/")
        self._files = self._connect()

    @abstractmethod
    def _connect(self) -> Any:
        """Open the file system with fsspec."""

    def entries(self) -> Iterator[Entry | LeftOut]:
        yield from self._list_folder(self._top or "/", "")

    def _list_folder(self, folder: str, prefix: str) -> Iterator[Entry | LeftOut]:
        """List a folder. A folder below the top that cannot be listed is skipped; its documents stay."""
        try:
            found = self._files.ls(folder, detail=True)
        except FootnotesError:
            raise
        except (OSError, ValueError) as error:
            if not prefix or not isinstance(error, (PermissionError, FileNotFoundError)):
                raise
            yield LeftOut(prefix.rstrip("/"), "the folder cannot be read")
            return
        for info in sorted(found, key=lambda info: str(info["name"])):
            name = posixpath.basename(str(info["name"]).rstrip("/"))
            if name in ("", ".", "..") or (posixpath.basename(folder.rstrip("/")) == name and _is_itself(info, folder)):
                continue
            key = prefix + name
            if name.startswith("."):
                yield LeftOut(key, "hidden")
            elif info["type"] == "directory":
                yield from self._list_folder(f"{folder.rstrip('/')}/{name}", f"{key}/")
            elif info["type"] in ("file", "regular"):
                yield Entry(key, _stamp(info), info.get("size"))
            else:
                yield LeftOut(key, "a link or a special file")

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        with self._files.open(f"{self._top}/{entry.key}", "rb") as file:
            path = write_blocks(iter(lambda: file.read(BLOCK), b""), folder / "file", self.limit)
        yield Content(path, name_of(entry.key))


def _is_itself(info: dict[str, object], folder: str) -> bool:
    return str(info["name"]).strip("/") == folder.strip("/")


def _stamp(info: dict[str, object]) -> str:
    """Return an entity tag if the server has one, else size and time."""
    if etag := info.get("etag"):
        return str(etag)
    moment = info.get("mtime") or info.get("modified") or info.get("time") or ""
    return f"{info.get('size')}/{moment}"


class SftpSource(FileServer):
    """Over SSH. The host must be known, as `ssh` would have it: by ~/.ssh/known_hosts, or the option host_key."""

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return "password", "private_key", "passphrase", "known_hosts", "host_key"

    @classmethod
    def check_rights(cls, address: Address) -> None:
        super().check_rights(address)
        if address.option("known_hosts"):
            address.check_trusted("files of the server are for its operator")

    def _connect(self) -> object:
        import asyncssh
        from sshfs import SSHFileSystem

        address = self.address
        options: dict[str, object] = {"username": address.user or None, "known_hosts": ()}
        if password := address.secret("password"):
            options["password"] = password
        if key := address.secret("private_key"):
            options["client_keys"] = [asyncssh.import_private_key(key, address.secret("passphrase") or None)]
        if not address.trusted:
            # The keys and the agent of the server's operator are not for other callers.
            options = {"agent_path": None, "config": None, "client_keys": None, **options}
        if file := address.option("known_hosts"):
            self.check_rights(address)
            options["known_hosts"] = str(Path(file).expanduser())
        if line := address.option("host_key"):
            options["known_hosts"] = asyncssh.import_known_hosts(f"* {line}\n")
        # The connection is made here, to an address that was checked; the library only uses it.
        connection = address.connect(22)
        options |= {"sock": connection, "port": address.port or 22, "login_timeout": address.settings.fetch_seconds}
        try:
            return SSHFileSystem(address.host, skip_instance_cache=True, **options)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        self._files._finalize(self._files.loop, self._files._pool, self._files._stack)


class WebdavSource(FileServer):
    """Over HTTP, with TLS unless the scheme is `webdav+http`."""

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return ("password",)

    def _connect(self) -> object:
        from webdav4.client import Client as WebdavClient
        from webdav4.fsspec import WebdavFileSystem
        from webdav4.http import Client

        address = self.address
        address.check_host(443)
        port = f":{address.port}" if address.port else ""
        base = f"{address.carrier or 'https'}://{address.host}{port}"
        password = address.secret("password")
        client = Client(
            base_url=base,
            auth=(address.user, password) if password else None,
            timeout=address.settings.fetch_seconds,
            follow_redirects=False,
            trust_env=False,
            transport=None if address.private else guarded_transport(public_address),
        )
        address.held.callback(client.close)
        return WebdavFileSystem(base, client=WebdavClient(base, http_client=client))
