"""Secrets by reference: only the reference is stored, never the secret."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from footnotes.errors import MissingExtra, OptionError
from footnotes.settings import environment_key

SEALED = "sealed:"
_KINDS = ("env:", "file:", "keyring:", SEALED)
_LONGEST = 100_000
HIDDEN = "***"


def is_reference(text: str) -> bool:
    return text.startswith(_KINDS)


class Secrets:
    """Finds secrets, and remembers them to remove them from messages. `sealed` are secrets that a server opened."""

    def __init__(self, sealed: Mapping[str, str] | None = None) -> None:
        self._sealed = dict(sealed or {})
        self._found: set[str] = set()

    def __repr__(self) -> str:
        return "Secrets(***)"

    def find(self, reference: str, name: str, *, local: bool) -> str:
        """Find the secret of a reference. Only `local` callers may name variables and files of this machine."""
        kind, _, where = reference.partition(":")
        if not local and f"{kind}:" != SEALED:
            remedy = "Send the secret itself; the server seals it."
            raise OptionError(f"{name}: only the operator may use the server's secrets", remedy=remedy)
        found = self._look_up(kind, where, name)
        if not found:
            raise OptionError(f"{name}: there is no secret at {kind}:{where}", remedy="Check the name of the secret.")
        self._found.add(found)
        return found

    def _look_up(self, kind: str, where: str, name: str) -> str:
        match kind:
            case "env":
                return environment_key(where)
            case "file":
                return _from_file(where, name)
            case "keyring":
                return _from_keyring(where, name)
            case "sealed":
                return self._sealed.get(name, "")
        raise OptionError(
            f"{name} is not a reference to a secret", remedy="Use env:NAME, file:PATH or keyring:SERVICE/USER."
        )

    def scrub(self, text: str) -> str:
        """Remove every found secret from a text."""
        for secret in sorted(self._found, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return text


def _from_file(where: str, name: str) -> str:
    try:
        with Path(where).expanduser().open(encoding="utf-8") as file:
            return file.read(_LONGEST).strip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise OptionError(f"{name}: the file {where} cannot be read ({reason})") from None


def _from_keyring(where: str, name: str) -> str:
    try:
        import keyring
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "secrets of a keyring need the package 'keyring', which is not installed",
            remedy='pip install "footnotes[keyring]"',
        ) from error
    service, _, user = where.partition("/")
    try:
        return keyring.get_password(service, user) or ""
    except Exception as error:  # each keyring has its own errors
        raise OptionError(f"{name}: the keyring cannot be read ({type(error).__name__})") from None
