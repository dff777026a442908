"""Sources behind a network keep the promises a folder has, each against a real server on loopback."""

from __future__ import annotations

import getpass
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import source_servers as servers
from footnotes.testing.source_suite import SourcePlace, SourceSuite

pytestmark = pytest.mark.slow

KINDS = ["s3", "gs", "webdav", "sftp", "imap", "git"]
if shutil.which("azurite-blob"):  # npm install --global azurite
    KINDS.append("az")
if os.geteuid() == 0:  # the two servers most people have, where they are installed and may be started
    KINDS += [
        kind for kind, name in (("openssh", "sshd"), ("dovecot", "dovecot")) if Path(f"/usr/sbin/{name}").exists()
    ]


class Rack:
    """The servers, each started when it is first wanted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held, self._ports, self._made = ExitStack(), dict[str, tuple[int, servers.Door]](), 0

    def close(self) -> None:
        self._held.close()

    def place(self, kind: str, held: ExitStack) -> SourcePlace:
        self._made += 1
        name, folder = f"place{self._made}", self.folder / kind
        folder.mkdir(exist_ok=True)
        if kind not in self._ports:
            port = self._held.enter_context(getattr(self, f"_start_{kind}")(folder))
            self._ports[kind] = port, self._held.enter_context(closing(servers.Door(port)))
        port, door = self._ports[kind]
        match kind:
            case "s3" | "gs" | "az":
                place: SourcePlace = getattr(servers, f"{kind}_place")(door, port, name)
                return place
            case "webdav":
                return servers.WebdavPlace(door, folder, name)
            case "git":
                return servers.GitPlace(door, folder, name)
            case "imap" | "dovecot":
                return held.enter_context(closing(servers.ImapPlace(door, port, name)))
            case "sftp":
                options = {"password": "env:TEST_SECRET", "host_key": self._public}
                return servers.SftpPlace(door, folder / "files" / name, f"/{name}", options)
        files = folder / "files" / name
        options = {"private_key": f"file:{folder / 'client'}", "host_key": self._public_of_sshd}
        return servers.SftpPlace(door, files, str(files), options, getpass.getuser())

    def _start_s3(self, folder: Path) -> object:
        return servers.moto()

    _start_gs = _start_s3

    def _start_az(self, folder: Path) -> object:
        return servers.azurite(folder)

    def _start_webdav(self, folder: Path) -> object:
        return servers.webdav(folder)

    def _start_git(self, folder: Path) -> object:
        return servers.git_daemon(folder)

    def _start_imap(self, folder: Path) -> object:
        return servers.pymap(folder)

    def _start_dovecot(self, folder: Path) -> object:
        """In a folder that others may enter: mail is kept by a user without rights."""
        own = Path(self._held.enter_context(tempfile.TemporaryDirectory(prefix="footnotes-dovecot-")))
        own.chmod(0o755)
        (own / "mail").mkdir()
        (own / "mail").chmod(0o777)
        return servers.dovecot(own)

    def _start_sftp(self, folder: Path) -> object:
        self._public = servers.ssh_key(folder / "host")
        (folder / "files").mkdir()
        return servers.asyncssh_server(folder / "files", folder / "host")

    def _start_openssh(self, folder: Path) -> object:
        self._public_of_sshd = servers.ssh_key(folder / "host")
        servers.ssh_key(folder / "client")
        return servers.openssh_server(folder, folder / "host", folder / "client")


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    with closing(Rack(tmp_path_factory.mktemp("servers"))) as made:
        yield made


class TestServers(SourceSuite):
    @pytest.fixture(params=KINDS)
    def place(
        self, request: pytest.FixtureRequest, rack: Rack, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[SourcePlace]:
        monkeypatch.setenv("TEST_SECRET", servers.PASSWORD)
        monkeypatch.setenv("TEST_ID", "anybody")
        monkeypatch.setenv("TEST_AZURE_KEY", servers.AZURE_KEY)
        with ExitStack() as held:
            yield rack.place(request.param, held)
