"""Git repositories by address: `git+https://host/team/docs.git@main`, `git+ssh://…`, `git+git://…`, `git+file://…`.

A pass asks for the commit first, and ends there if it is the commit of the last pass. Otherwise it fetches the trees of
that commit, and only the files that are new or have changed.
"""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from shlex import quote
from shutil import which
from typing import BinaryIO
from urllib.parse import quote as quote_url

from footnotes.errors import DocumentTooLarge, OptionError, SourceAway
from footnotes.fetch.address import public_address
from footnotes.ingest.code.git import ENVIRONMENT, HARMLESS
from footnotes.ingest.sources import Address, BaseSource, Content, Entry, LeftOut
from footnotes.settings import environment_key
from footnotes.store.naming import name_of

_CARRIERS = {"https": 443, "http": 80, "ssh": 22, "git": 9418, "file": 0}
_FILE, _RUNNABLE = "100644", "100755"
_SECONDS = 600.0


class GitSource(BaseSource):
    """The files of one branch or tag. Git's hash of a file is its stamp."""

    stamps_are_hashes = True

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        path, _, branch = address.path.rpartition("@") if "@" in address.path else (address.path, "", "")
        if address.carrier not in _CARRIERS or branch.startswith("-") or not path:
            remedy = "Write git+https://host/path@branch."
            raise OptionError(f"{address.text} is not the address of a repository", remedy=remedy)
        if which("git") is None:
            raise SourceAway("git is not installed", remedy="Install git.")
        self._host, self._path = address.host, path
        self._branch = branch
        self._folder = address.option("folder").strip("/")
        if self._folder:  # two folders of a repository are two sources
            self.name = f"{address.text}/{self._folder}"
        self._top = address.folder() / "repository"
        self._settings = self._git_config(address)
        self._is_cloned = False

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return "token", "private_key_file", "folder", "include", "exclude"

    @classmethod
    def check_rights(cls, address: Address) -> None:
        super().check_rights(address)
        if address.carrier in ("file", "ssh") or address.option("private_key_file"):
            address.check_trusted("files and keys of the server are for its operator")

    @property
    def _url(self) -> str:
        """What git connects to: built of parts that were checked."""
        address = self.address
        user = f"{quote_url(address.user, safe='')}@" if address.user else ""
        host = f"[{self._host}]" if ":" in self._host else self._host
        port = f":{address.port}" if address.port else ""
        return f"{address.carrier}://{user}{host}{port}{self._path}"

    def _git_config(self, address: Address) -> list[tuple[str, str]]:
        """Return git's configuration for an address. A token goes into the environment: other users see arguments."""
        fixed = [each.partition("=")[::2] for each in HARMLESS]
        settings = [each for each in fixed if each[0] not in ("core.sshCommand", "safe.bareRepository")]
        settings.append((f"protocol.{address.carrier}.allow", "always"))
        settings += [("http.followRedirects", "false"), ("http.lowSpeedLimit", "1"), ("http.lowSpeedTime", "60")]
        self.check_rights(address)
        if not address.private:
            port = address.port or _CARRIERS[address.carrier]
            pinned = public_address(address.host, port, address.settings.fetch_seconds)
            if address.carrier == "git":
                self._host = pinned
            settings.append(("http.curloptResolve", f"{address.host}:{port}:{pinned}"))
        if token := address.secret("token"):
            basic = base64.b64encode(f"{address.user or 'x-access-token'}:{token}".encode()).decode()
            settings.append(("http.extraHeader", f"Authorization: Basic {basic}"))
        key = address.option("private_key_file")
        batch = "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes"
        settings.append(("core.sshCommand", f"{batch} -o IdentitiesOnly=yes -i {quote(key)}" if key else batch))
        return settings

    def _git(
        self, *arguments: str, data: bytes = b"", seconds: float = _SECONDS, into: BinaryIO | None = None
    ) -> bytes:
        """Return the output of a git command; with `into`, write it there instead."""
        limit = max(seconds, self.address.settings.fetch_seconds)
        try:
            done = subprocess.run(  # noqa: S603
                [*_ends_with_its_parent(), "git", *arguments],
                input=data,
                stdout=into or subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment(),
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise OSError(f"it did not respond within {limit:g} seconds") from None
        if done.returncode:
            raise OSError(_reason(done.stderr))
        return done.stdout or b""

    def _environment(self) -> dict[str, str]:
        environment = {name: value for name, value in ENVIRONMENT.items() if name != "GIT_NO_LAZY_FETCH"}
        environment |= {"GIT_ALLOW_PROTOCOL": self.address.carrier, "GIT_CONFIG_COUNT": str(len(self._settings))}
        for number, (name, value) in enumerate(self._settings):
            environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        variables = {"PATH": os.defpath, "HOME": str(Path.home()), "SSH_AUTH_SOCK": environment_key("SSH_AUTH_SOCK")}
        return {**variables, **environment}

    def version(self) -> str | None:
        references = [f"refs/heads/{self._branch}", f"refs/tags/{self._branch}"] if self._branch else ["HEAD"]
        # A server that accepts and stays silent holds up what waits behind this: the first answer comes soon, or never.
        found = self._git("ls-remote", "--quiet", self._url, *references, seconds=0).decode().split()
        if not found:
            raise SourceAway(f"{self.root} has no branch or tag {self._branch or 'HEAD'!r}", remedy="Check its name.")
        return " ".join((found[0], *(self.address.option(name) for name in ("folder", "include", "exclude"))))

    def entries(self) -> Iterator[Entry | LeftOut]:
        self._clone()
        arguments = ["-C", str(self._top), "ls-tree", "-r", "-z", "--full-tree", "HEAD"]
        listing = self._git(*arguments, *(["--", f"{self._folder}/"] if self._folder else []))
        for line in listing.decode("utf-8", "surrogateescape").split("\x00"):
            fields, _, path = line.partition("\t")
            if not path:
                continue
            mode, _, blob = fields.split(" ", 2)
            if mode not in (_FILE, _RUNNABLE):
                yield LeftOut(path, "a link or a repository inside")
            elif any(part.startswith(".") for part in path.split("/")):
                yield LeftOut(path, "hidden")
            elif self.address.includes(path):
                yield Entry(path, blob, metadata={"path": path})

    def _clone(self) -> None:
        if self._is_cloned:
            return
        branch_options = ("--branch", self._branch) if self._branch else ()
        shallow = (
            "--bare",
            "--depth=1",
            "--single-branch",
            "--no-tags",
            "--filter=blob:none",
            "--quiet",
            "--template=",
        )
        self._git("clone", *shallow, *branch_options, "--", self._url, str(self._top))
        self._is_cloned = True

    def prepare(self, entries: Sequence[Entry]) -> None:
        """Fetch all files of a batch at once. A server without filters has sent everything with the trees."""
        hashes = "".join(f"{entry.stamp}\n" for entry in entries).encode()
        listing = self._git("-C", str(self._top), "cat-file", "--batch-check", "--batch-all-objects", "--unordered")
        there = {line.split(b" ", 1)[0] for line in listing.splitlines()}
        missing = b"".join(line for line in hashes.splitlines(keepends=True) if line.strip() not in there)
        if missing:
            options = ("--no-tags", "--no-write-fetch-head", "--filter=blob:none", "--quiet", "--stdin")
            alone = ("-c", "fetch.negotiationAlgorithm=noop")  # the local objects say nothing about missing ones
            self._git("-C", str(self._top), *alone, "fetch", *options, "origin", data=missing)

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        size = int(self._git("-C", str(self._top), "cat-file", "-s", entry.stamp))
        if size > self.limit:
            raise DocumentTooLarge(f"{entry.key} is larger than {self.limit:,} bytes")
        target = folder / "file"
        with target.open("wb") as file:
            self._git("-C", str(self._top), "cat-file", "blob", entry.stamp, into=file)
        yield Content(target, name_of(entry.key))


@cache
def _ends_with_its_parent() -> tuple[str, ...]:
    """Return a command prefix that ends the command with this process; empty if there is none."""
    program = which("setpriv")
    return (program, "--pdeathsig", "KILL") if program else ()


def _reason(errors: bytes) -> str:
    """Return the line of git's errors with the cause; hints follow it."""
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    fatal = [line for line in lines if line.startswith(("fatal:", "error:", "ssh:"))]
    return (fatal or lines or ["git failed"])[0]
