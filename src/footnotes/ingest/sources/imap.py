"""Mail on a server: `imaps://user@host/INBOX`. A message never changes, so its number is its stamp."""

from __future__ import annotations

import imaplib
import re
import socket
import ssl
from collections.abc import Iterable, Iterator
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from footnotes.errors import DocumentTooLarge, OptionError, SourceAway
from footnotes.ingest.sources import Address, BaseSource, Content, Entry, LeftOut
from footnotes.ingest.sources.mail import message_files

_FOLDER_LINE = re.compile(rb'\((?P<flags>[^)]*)\) (?:"(?P<mark>(?:[^"\\]|\\.)*)"|NIL) (?P<name>.+)$')
_STATUS = re.compile(rb"(UIDVALIDITY|UIDNEXT|MESSAGES) (\d+)")
_SHIFTED = re.compile(r"&([A-Za-z0-9+,]*)-")
_KEY = re.compile(r"(\d+)-(\d+)\.eml")
_SIZE = re.compile(rb"UID (\d+).*?RFC822\.SIZE (\d+)|RFC822\.SIZE (\d+).*?UID (\d+)")


class ImapSource(BaseSource):
    """Messages of one folder, of several (`folders=A,B`) or of all (`folders=*`)."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self.root = address.text.removesuffix(address.path.rstrip("/")).rstrip("/") if address.path else address.text
        self._connection = _connect(address)
        password = address.secret("password")
        if not address.user or not password:
            raise OptionError(
                f"{address.text} needs a user and a password",
                remedy="Write imaps://user@host/INBOX and -o password=env:NAME, file:PATH or keyring:SERVICE/USER.",
            )
        self._call(self._connection.login, address.user, password)
        self._folders = self._choose_folders()

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return "password", "folders"

    def _choose_folders(self) -> list[str]:
        """Return the folders to read, in the server's encoding."""
        names = self.address.option("folders") or self.address.path.strip("/") or "INBOX"
        if names == "*":
            return list(self._list_folders())
        return [_shift(name.strip()) for name in names.split(",") if name.strip()]

    def _list_folders(self) -> Iterator[str]:
        for line in self._call(self._connection.list):
            found = _FOLDER_LINE.match(line if isinstance(line, bytes) else b"".join(line)) if line else None
            if found and rb"\noselect" not in found["flags"].lower():
                yield found["name"].decode("ascii", "replace").strip('"').replace('\\"', '"').replace("\\\\", "\\")

    def version(self) -> str | None:
        return " ".join(self._status(folder) for folder in self._folders)

    def _status(self, folder: str) -> str:
        (line,) = self._call(self._connection.status, _quote(folder), "(UIDVALIDITY UIDNEXT MESSAGES)")
        found = {name.decode(): value.decode() for name, value in _STATUS.findall(line or b"")}
        return f"{folder}:{found.get('UIDVALIDITY')}.{found.get('UIDNEXT')}.{found.get('MESSAGES')}"

    def entries(self) -> Iterator[Entry | LeftOut]:
        for folder in self._folders:
            validity = self._select(folder)
            (found,) = self._call(self._connection.uid, "SEARCH", "UNDELETED")
            for number in (found or b"").decode().split():
                folder_name = _unshift(folder)
                yield Entry(
                    f"{folder_name}/{validity}-{number}.eml", f"{validity}.{number}", metadata={"folder": folder_name}
                )

    def _select(self, folder: str) -> str:
        self._call(self._connection.select, _quote(folder), True)
        _, validity = self._connection.response("UIDVALIDITY")
        return validity[0].decode() if validity and validity[0] else "0"

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        folder_name, _, name = entry.key.rpartition("/")
        found = _KEY.fullmatch(name)
        if found is None or self._select(_shift(folder_name)) != found[1]:
            raise FileNotFoundError(entry.key)
        (size,) = self._call(self._connection.uid, "FETCH", found[2], "(RFC822.SIZE)")[:1] or (None,)
        if isinstance(size, bytes) and (match := _SIZE.search(size)) and int(match[2] or match[3]) > self.limit:
            raise DocumentTooLarge(f"{entry.key} is larger than {self.limit:,} bytes")
        answer = self._call(self._connection.uid, "FETCH", found[2], "(BODY.PEEK[])")
        raw = next((part[1] for part in answer if isinstance(part, tuple)), None)
        if raw is None:
            raise FileNotFoundError(entry.key)
        yield from message_files(raw, folder, name, self.limit, entry.metadata)

    @staticmethod
    def _call(command: Any, *arguments: object) -> list[Any]:
        status, answer = command(*arguments)
        if status != "OK":
            reason = b" ".join(part for part in answer if isinstance(part, bytes)).decode("utf-8", "replace")
            raise SourceAway(f"the mail server refused: {reason[:200]}")
        return list(answer)

    def close(self) -> None:
        self._connection.logout()


def _connect(address: Address) -> imaplib.IMAP4:
    """Connect to an address that was checked. No password goes over a network without TLS."""
    context, seconds = ssl.create_default_context(), address.settings.fetch_seconds
    if address.kind == "imaps":

        class Secure(imaplib.IMAP4):
            def _create_socket(self, timeout: float | None) -> socket.socket:
                return context.wrap_socket(address.connect(993), server_hostname=address.host)

        secure = Secure(address.host, address.port or 993, seconds)
        address.held.callback(_disconnect, secure)
        return secure

    class Plain(imaplib.IMAP4):
        def _create_socket(self, timeout: float | None) -> socket.socket:
            return address.connect(143)

    connection = Plain(address.host, address.port or 143, seconds)
    address.held.callback(_disconnect, connection)
    if not _is_loopback(connection.sock):
        if "STARTTLS" not in connection.capabilities:
            raise SourceAway(f"{address.host} offers no TLS", remedy="Use imaps://, or a server that offers STARTTLS.")
        connection.starttls(context)
    return connection


def _disconnect(connection: imaplib.IMAP4) -> None:
    """Close a connection in any state."""
    with suppress(OSError):
        connection.shutdown()


def _is_loopback(connection: socket.socket) -> bool:
    return ip_address(connection.getpeername()[0]).is_loopback


def _quote(text: str) -> str:
    if not text.isprintable():
        raise OptionError("the user name or password has characters that the mail server does not accept")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _unshift(name: str) -> str:
    """Decode the name of a folder from the modified UTF-7 of mail servers."""

    def read(found: re.Match[str]) -> str:
        inner = found[1]
        return f"+{inner.replace(',', '/')}-".encode().decode("utf-7") if inner else "&"

    try:
        return _SHIFTED.sub(read, name)
    except UnicodeDecodeError:
        return name


def _shift(name: str) -> str:
    """Encode the name of a folder in the modified UTF-7 of mail servers."""
    encoded = ""
    for part in re.findall(r"[\x20-\x7e]+|[^\x20-\x7e]+", name):
        if part.isascii():
            encoded += part.replace("&", "&-") if part.isprintable() else part
        else:
            encoded += "&" + part.encode("utf-7").decode()[1:-1].rstrip("-").replace("/", ",") + "-"
    return encoded
