"""Addresses of sources with their options. Secrets are references."""

from __future__ import annotations

import re
import socket
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import NoReturn
from urllib.parse import parse_qsl, unquote, urlsplit

from footnotes.errors import OptionError, UrlBlocked
from footnotes.fetch.address import connect, names_private, public_address
from footnotes.fetch.http import PageDeadline
from footnotes.ingest.sources.secrets import Secrets, is_reference
from footnotes.settings import Settings

_SCHEME = re.compile(r"(?i)[a-z][a-z0-9.-]{1,30}(\+[a-z0-9.-]+)?:")
_SECRET = re.compile(r"(?i)pass|secret|token|credential|_key$|^key$|sas|passphrase")
_PUBLIC = ("host_key",)
"""Options whose names look like secrets but are not."""
_TOKEN = re.compile(
    r"(gh[pousr]|github_pat|glpat|gldt|ATBB|ATCTT|xox[a-z]|hf|pat)[_-]\w{6}|(?=\w*\d)(?=\w*[A-Za-z])[\w-]{30}"
)
"""Prefixes of tokens that hosts accept instead of a user name; or a long mixture of letters and digits."""
_PAGES = ("http", "https", "feed+http", "feed+https")
"""Schemes whose query belongs to the page: their options are given separately."""


@dataclass(frozen=True)
class Address:
    """A parsed address. `text` is the part that may be shown and stored: no options, no secrets.

    An address that is not `trusted` came over a network: it reaches no files of this machine, no private networks, and
    uses no credentials of the server's operator.
    """

    text: str
    scheme: str
    user: str
    host: str
    port: int | None
    path: str
    options: Mapping[str, str]
    settings: Settings
    trusted: bool = True
    secrets: Secrets = field(default_factory=Secrets, repr=False, compare=False)
    held: ExitStack = field(default_factory=ExitStack, repr=False, compare=False)
    """Resources of a source: closed with it, also if opening the source fails."""

    def folder(self) -> Path:
        """Create an empty folder that lasts as long as the source."""
        return Path(self.held.enter_context(tempfile.TemporaryDirectory(prefix=f"footnotes-{self.kind}-")))

    @property
    def kind(self) -> str:
        """The name of the plug-in: the scheme without its carrier."""
        return kind_of(self.scheme)

    @property
    def carrier(self) -> str:
        """What follows the `+` of a scheme: `https` of `git+https`."""
        return self.scheme.partition("+")[2]

    def option(self, name: str, default: str = "") -> str:
        return self.options.get(name, default)

    def number(self, name: str, default: int) -> int:
        """Return the value of an option that is a whole number."""
        value = self.options.get(name)
        if value is None:
            return default
        if not value.isdecimal():
            raise OptionError(f"the option {name} of {self.text} must be a whole number")
        return int(value)

    def flag(self, name: str) -> bool:
        return self.options.get(name, "no").lower() in ("1", "true", "yes", "on", "")

    def secret(self, name: str) -> str:
        """Find the secret that an option refers to; empty without the option."""
        reference = self.options.get(name, "")
        return self.secrets.find(reference, name, local=self.trusted) if reference else ""

    def check_options(self, *known: str) -> None:
        """Raise if there is an option that the source would ignore."""
        for name in self.options:
            if name not in known:
                names = ", ".join(sorted(known)) or "none"
                raise OptionError(f"{self.kind} sources have no option {name!r}; available: {names}")

    def includes(self, path: str) -> bool:
        """Return whether a path matches the option `include`, if given, and not the option `exclude`."""
        include, exclude = (self.option(name).split(",") for name in ("include", "exclude"))
        is_included = not any(include) or any(fnmatch(path, pattern.strip()) for pattern in include)
        return is_included and not any(fnmatch(path, pattern.strip()) for pattern in exclude if pattern)

    # ── the machine and its networks

    def local_path(self) -> Path:
        """Return the path on this machine; raise for untrusted addresses."""
        if not self.trusted:
            self._refuse("files of the server are for its operator")
        return Path(self.path).expanduser().absolute()

    def check_trusted(self, reason: str) -> None:
        """Raise for untrusted addresses: files, databases and credentials of the server are for its operator."""
        if not self.trusted:
            self._refuse(reason)

    def check_private(self, reason: str) -> None:
        """Raise unless private networks may be reached."""
        if not self.private:
            self._refuse(reason)

    def _refuse(self, reason: str) -> NoReturn:
        remedy = "Let the operator of the server add it with `footnotes sources add`."
        raise UrlBlocked(f"{self.text}: {reason}", remedy=remedy)

    @property
    def private(self) -> bool:
        """Whether hosts of private networks may be reached."""
        return self.trusted or self.settings.fetch_private

    def check_host(self, default_port: int) -> None:
        """Raise if the host is in a private network that may not be reached."""
        if not self.private:
            public_address(self.host, self.port or default_port, self.settings.fetch_seconds)

    def check_named_host(self) -> None:
        """Raise if the host is a number of a private network, or this machine, and may not be reached."""
        if not self.private and names_private(self.host):
            self._refuse("its host is in a private network, not on the internet")

    def connect(self, default_port: int) -> socket.socket:
        """Connect to the host; every address is checked first."""
        left = PageDeadline(self.settings.fetch_seconds).left
        return connect(self.host, self.port or default_port, left=left, private=self.private)


def kind_of(scheme: str) -> str:
    """Return the plug-in of a scheme; `http` and `https` are `web`."""
    kind = scheme.partition("+")[0].lower()
    return "web" if kind in ("http", "https") else kind


def scheme_of(text: str) -> str:
    """Return the scheme of an address; empty for a path."""
    found = _SCHEME.match(text)
    return found[0][:-1].lower() if found else ""


def parse_address(
    text: str,
    settings: Settings,
    *,
    options: Mapping[str, str] | None = None,
    trusted: bool = True,
    secrets: Secrets | None = None,
) -> Address:
    """Parse an address and its options. Raises, without quoting it, if a secret is in the clear."""
    scheme = scheme_of(text)
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise OptionError("the address is invalid", remedy="Write it as scheme://host/path.") from None
    if parts.password is not None:
        raise OptionError(
            f"the address of {host} contains a password",
            remedy="Remove it, and pass a reference: -o password=env:NAME, file:PATH or keyring:SERVICE/USER.",
        )
    user = unquote(parts.username or "")
    if not user.isprintable():
        raise OptionError("the user name in the address has invalid characters")
    if _TOKEN.match(user):
        raise OptionError(
            f"the address of {host} contains a token instead of a user name",
            remedy="Remove it, and pass a reference: -o token=env:NAME, file:PATH or keyring:SERVICE/USER.",
        )
    values = dict(options or {})
    query = parts.query
    if scheme in _PAGES:
        _check_query(query)
    if scheme not in _PAGES:
        values = {**dict(parse_qsl(query, keep_blank_values=True)), **values}
        query = ""
    for name, value in values.items():
        if _SECRET.search(name) and name not in _PUBLIC and value and not is_reference(value):
            raise OptionError(
                f"the option {name} contains a plain secret",
                remedy=f"Pass a reference: {name}=env:NAME, file:PATH or keyring:SERVICE/USER.",
            )
    path = unquote(parts.path) if parts.netloc else unquote(text.partition(":")[2].partition("?")[0])
    clean = text.partition("#")[0].partition("?")[0] + (f"?{query}" if query else "")
    return Address(
        text=clean if scheme in _PAGES else clean.rstrip("/"),
        scheme=scheme,
        user=user,
        host=host,
        port=port,
        path=path,
        options=values,
        settings=settings,
        trusted=trusted,
        secrets=secrets or Secrets(),
    )


def _check_query(query: str) -> None:
    """Raise if the query of a page carries what looks like a secret: addresses are stored and shown."""
    for name, value in parse_qsl(query):
        if _SECRET.search(name) and len(value) >= 6:
            raise OptionError(
                f"the address contains a plain secret: {name[:40]}",
                remedy="Use a page that needs no secret: addresses of sources are stored and shown.",
            )
