"""Servers on loopback that sources follow: a bucket, file servers, mail, repositories. Each stands behind a door."""

from __future__ import annotations

import asyncio
import base64
import hmac
import imaplib
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from email.utils import formatdate
from pathlib import Path
from typing import Any

import httpx

from footnotes.testing.source_suite import SourcePlace
from source_files import message

PASSWORD = "s3cret-of-the-hive"


class Door:
    """Forwards a port to a server. Shut, it ends every connection at once, as a server does that is away."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = int(self._listening.getsockname()[1])
        self.is_shut = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self.is_shut:
                client.close()
                continue
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        """Bytes to and fro until one side ends."""
        with client, socket.create_connection(("127.0.0.1", self._port)) as server, suppress(OSError):
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    block = ready.recv(1 << 16)
                    if not block:
                        return
                    (server if ready is client else client).sendall(block)

    @contextmanager
    def shut(self) -> Iterator[None]:
        self.is_shut = True
        try:
            yield
        finally:
            self.is_shut = False

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(5)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@contextmanager
def process(words: Callable[[int], list[str]], *, folder: Path) -> Iterator[int]:
    """A program that listens at a port it is told. Where another took the port meanwhile, it is told the next."""
    for _ in range(5):
        port = free_port()
        with (folder / f"log-{port}").open("wb") as log:
            started = subprocess.Popen(words(port), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            if _answers(started, port):
                yield port
                return
        finally:
            started.terminate()
            started.wait()
    raise RuntimeError((folder / f"log-{port}").read_text("utf-8", "replace")[-2000:])


def _answers(started: subprocess.Popen[bytes], port: int) -> bool:
    until = time.monotonic() + 60
    while started.poll() is None and time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            return True
        time.sleep(0.02)
    return False


class ServerPlace(SourcePlace):
    """A place behind a door."""

    def __init__(self, door: Door) -> None:
        self.door = door

    @contextmanager
    def away(self) -> Iterator[None]:
        with self.door.shut():
            yield


class TreePlace(ServerPlace):
    """A server of files that lie in a folder."""

    def __init__(self, door: Door, folder: Path) -> None:
        super().__init__(door)
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)

    def put(self, name: str, text: str) -> None:
        (self.folder / f"{name}.txt").write_text(text)

    def remove(self, name: str) -> None:
        (self.folder / f"{name}.txt").unlink()


# ── buckets


class BucketPlace(ServerPlace):
    """Objects below `papers/`, written by the same client that reads them."""

    def __init__(self, door: Door, store: Any, address: str, secret: str, options: Mapping[str, str]) -> None:
        super().__init__(door)
        self._store, self.address, self.secret = store, address, secret
        self.options = {"endpoint": f"http://127.0.0.1:{door.port}", **options}

    def put(self, name: str, text: str) -> None:
        import obstore

        obstore.put(self._store, f"papers/{name}.txt", text.encode())

    def remove(self, name: str) -> None:
        import obstore

        obstore.delete(self._store, f"papers/{name}.txt")


_PLAIN_HTTP: Any = {"allow_http": True}


def s3_place(door: Door, port: int, name: str) -> BucketPlace:
    options = {"access_key_id": "env:TEST_ID", "secret_access_key": "env:TEST_SECRET"}
    return BucketPlace(door, _moto_bucket(port, name), f"s3://{name}/papers", PASSWORD, options)


def gs_place(door: Door, port: int, name: str) -> BucketPlace:
    """A public bucket: the XML interface of Google's store lists and reads as S3 does; moto knows no token of it."""
    store = _moto_bucket(port, name)
    public = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{name}/*"}
    httpx.put(f"http://127.0.0.1:{port}/{name}?policy", json={"Statement": [public]}).raise_for_status()
    return BucketPlace(door, store, f"gs://{name}/papers", "", {"anonymous": "true"})


def _moto_bucket(port: int, name: str) -> Any:
    from obstore.store import S3Store

    httpx.put(f"http://127.0.0.1:{port}/{name}").raise_for_status()
    keys: dict[str, Any] = {"access_key_id": "anybody", "secret_access_key": PASSWORD, "region": "us-east-1"}
    return S3Store(name, endpoint=f"http://127.0.0.1:{port}", client_options=_PLAIN_HTTP, **keys)


def az_place(door: Door, port: int, name: str) -> BucketPlace:
    """A container of Azurite, in the account that every Azurite has."""
    from obstore.store import AzureStore

    _make_container(port, name)
    address = f"http://127.0.0.1:{port}/{AZURE_ACCOUNT}"
    keys: dict[str, Any] = {"account_name": AZURE_ACCOUNT, "account_key": AZURE_KEY}
    store = AzureStore(name, endpoint=address, client_options=_PLAIN_HTTP, **keys)
    options = {"account_key": "env:TEST_AZURE_KEY", "endpoint": f"http://127.0.0.1:{door.port}/{AZURE_ACCOUNT}"}
    return BucketPlace(door, store, f"az://{AZURE_ACCOUNT}/{name}/papers", AZURE_KEY, options)


AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The published key of every Azurite."""


def _make_container(port: int, name: str) -> None:
    """Ask for a container, signed as Azure's Shared Key wants it."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    named = "\n".join(f"{key}:{value}" for key, value in headers.items())
    resource = f"/{AZURE_ACCOUNT}/{AZURE_ACCOUNT}/{name}\nrestype:container"
    signed = f"PUT{chr(10) * 12}{named}\n{resource}".encode()
    digest = base64.b64encode(hmac.digest(base64.b64decode(AZURE_KEY), signed, "sha256")).decode()
    headers["Authorization"] = f"SharedKey {AZURE_ACCOUNT}:{digest}"
    address = f"http://127.0.0.1:{port}/{AZURE_ACCOUNT}/{name}"
    httpx.put(address, params={"restype": "container"}, headers=headers).raise_for_status()


@contextmanager
def azurite(folder: Path) -> Iterator[int]:
    """The emulator of Azure's object store, from the npm package `azurite`."""

    def words(port: int) -> list[str]:
        where = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder)]
        return ["azurite-blob", *where, "--silent", "--skipApiVersionCheck"]

    with process(words, folder=folder) as port:
        yield port


@contextmanager
def moto() -> Iterator[int]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        yield int(server.get_host_and_port()[1])
    finally:
        server.stop()


# ── file servers


@contextmanager
def webdav(folder: Path) -> Iterator[int]:
    from cheroot.wsgi import Server
    from wsgidav.wsgidav_app import WsgiDAVApp

    users = {"*": {"ann": {"password": PASSWORD}}}
    told = {"provider_mapping": {"/": str(folder)}, "simple_dc": {"user_mapping": users}, "verbose": 0}
    server = Server(("127.0.0.1", 0), WsgiDAVApp({**told, "logging": {"enable": False}}), numthreads=4)
    server.prepare()
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield int(server.bind_addr[1])
    finally:
        server.stop()
        thread.join(10)


class WebdavPlace(TreePlace):
    def __init__(self, door: Door, top: Path, name: str) -> None:
        super().__init__(door, top / name)
        self.address, self.secret = f"webdav+http://ann@127.0.0.1:{door.port}/{name}", PASSWORD
        self.options = {"password": "env:TEST_SECRET"}


@contextmanager
def asyncssh_server(folder: Path, host_key: Path) -> Iterator[int]:
    import asyncssh

    class Passwords(asyncssh.SSHServer):
        def password_auth_supported(self) -> bool:
            return True

        def validate_password(self, username: str, password: str) -> bool:
            return (username, password) == ("ann", PASSWORD)

    class Files(asyncssh.SFTPServer):
        def __init__(self, channel: Any) -> None:
            super().__init__(channel, chroot=os.fsencode(folder))

    loop, ready = asyncio.new_event_loop(), threading.Event()
    found: list[Any] = []

    async def serve() -> None:
        options: dict[str, Any] = {"server_host_keys": [str(host_key)], "sftp_factory": Files}
        found.append(await asyncssh.create_server(Passwords, "127.0.0.1", 0, **options))
        ready.set()

    async def stop() -> None:
        found[0].close()
        await found[0].wait_closed()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.create_task(serve())
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield int(found[0].get_port())
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)


@contextmanager
def openssh_server(folder: Path, host_key: Path, client_key: Path) -> Iterator[int]:
    Path("/run/sshd").mkdir(exist_ok=True)
    (folder / "authorized").write_text(client_key.with_suffix(".pub").read_text())
    lines = (
        "ListenAddress 127.0.0.1", f"HostKey {host_key}", f"AuthorizedKeysFile {folder / 'authorized'}", "UsePAM no",
        "StrictModes no", "PasswordAuthentication no", "PermitRootLogin yes", "Subsystem sftp internal-sftp",
        f"PidFile {folder / 'pid'}",
    )  # fmt: skip
    (folder / "sshd_config").write_text("\n".join(lines) + "\n")
    program = "/usr/sbin/sshd"
    with process(
        lambda port: [program, "-D", "-e", "-f", str(folder / "sshd_config"), "-o", f"Port={port}"], folder=folder
    ) as port:
        yield port


def ssh_key(path: Path) -> str:
    """A new pair of keys; gives the public one."""
    import asyncssh

    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(str(path))
    path.chmod(0o600)
    key.write_public_key(str(path.with_suffix(".pub")))
    return path.with_suffix(".pub").read_text().strip()


def _line_of(reference: str) -> str:
    return Path(reference.removeprefix("file:")).read_text().splitlines()[2]


class SftpPlace(TreePlace):
    def __init__(self, door: Door, folder: Path, path: str, options: Mapping[str, str], user: str = "ann") -> None:
        super().__init__(door, folder)
        self.address = f"sftp://{user}@127.0.0.1:{door.port}{path}"
        self.options = options
        self.secret = PASSWORD if "password" in options else _line_of(options["private_key"])

    def put(self, name: str, text: str) -> None:
        """SFTP tells times in whole seconds: every version has one of its own."""
        super().put(name, text)
        self.moment = getattr(self, "moment", 1_700_000_000) + 10
        os.utime(self.folder / f"{name}.txt", (self.moment, self.moment))


# ── mail


class ImapPlace(ServerPlace):
    """A folder of a mail server, filled by the protocol itself."""

    changes = False

    def __init__(self, door: Door, port: int, folder: str) -> None:
        super().__init__(door)
        self._folder, self._numbers = folder, dict[str, str]()
        self._mail = imaplib.IMAP4("127.0.0.1", port)
        self._mail.login("ann", PASSWORD)
        made = self._mail.create(folder)
        assert made[0] == "OK", made
        self.address, self.secret = f"imap://ann@127.0.0.1:{door.port}/{folder}", PASSWORD
        self.options = {"password": "env:TEST_SECRET"}

    def put(self, name: str, text: str) -> None:
        if name in self._numbers:
            self.remove(name)
        self.append(name, message("letter", text).as_bytes())

    def append(self, name: str, raw: bytes) -> None:
        self._mail.append(self._folder, "", "", raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
        chosen = self._mail.select(self._folder)
        assert chosen[0] == "OK", chosen
        _, (found,) = self._mail.uid("SEARCH", "ALL")
        self._numbers[name] = found.split()[-1].decode()
        self._mail.unselect() if "UNSELECT" in self._mail.capabilities else self._mail.close()

    def remove(self, name: str) -> None:
        self._mail.select(self._folder)
        self._mail.uid("STORE", self._numbers.pop(name), "+FLAGS", r"(\Deleted)")
        self._mail.expunge()
        self._mail.close()

    def close(self) -> None:
        self._mail.logout()


@contextmanager
def pymap(folder: Path) -> Iterator[int]:
    program = str(Path(sys.executable).with_name("pymap"))
    quiet = ["--no-tls", "--no-service", "admin", "--no-service", "managesieve"]
    user = ["dict", "--demo-data", "--demo-user", "ann", "--demo-password", PASSWORD]
    with process(
        lambda port: [program, "--host", "127.0.0.1", "--port", str(port), *quiet, *user], folder=folder
    ) as port:
        yield port


@contextmanager
def dovecot(folder: Path) -> Iterator[int]:
    program = "/usr/sbin/dovecot"

    def words(port: int) -> list[str]:
        (folder / "dovecot.conf").write_text(_DOVECOT.format(folder=folder, port=port, password=PASSWORD))
        return [program, "-F", "-c", str(folder / "dovecot.conf")]

    with process(words, folder=folder) as port:
        yield port


_DOVECOT = """
base_dir = {folder}/run
log_path = {folder}/dovecot.log
protocols = imap
ssl = no
disable_plaintext_auth = no
listen = 127.0.0.1
mail_location = maildir:{folder}/mail/%u
mail_uid = nobody
mail_gid = nogroup
first_valid_uid = 1
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid=nobody gid=nogroup home={folder}/mail/%u
}}
service imap-login {{
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
"""


# ── repositories


class GitPlace(ServerPlace):
    """A bare repository behind `git daemon`, committed to from a working tree beside it."""

    def __init__(self, door: Door, top: Path, name: str) -> None:
        super().__init__(door)
        self._bare, self._tree = top / f"{name}.git", top / f"{name}-tree"
        git("init", "--quiet", "--bare", "--initial-branch=main", str(self._bare))
        git("-C", str(self._bare), "config", "uploadpack.allowFilter", "true")
        git("-C", str(self._bare), "config", "uploadpack.allowAnySHA1InWant", "true")
        git("init", "--quiet", "--initial-branch=main", str(self._tree))
        self.address = f"git+git://127.0.0.1:{door.port}/{name}.git@main"
        self.commit()

    def put(self, name: str, text: str) -> None:
        (self._tree / f"{name}.txt").write_text(text)
        self.commit()

    def remove(self, name: str) -> None:
        (self._tree / f"{name}.txt").unlink()
        self.commit()

    def commit(self) -> None:
        git("-C", str(self._tree), "add", "--all")
        git("-C", str(self._tree), "commit", "--quiet", "--allow-empty", "--message", "Change")
        git("-C", str(self._tree), "push", "--quiet", str(self._bare), "main")


def git(*words: str) -> None:
    named = {f"GIT_{role}_{what}": "ann@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **named, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *words], check=True, env=environment, capture_output=True)


@contextmanager
def git_daemon(top: Path) -> Iterator[int]:
    options = ["--listen=127.0.0.1", "--export-all", "--reuseaddr", f"--base-path={top}"]
    with process(lambda port: ["git", "daemon", *options, f"--port={port}", str(top)], folder=top) as port:
        yield port
