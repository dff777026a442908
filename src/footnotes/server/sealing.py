"""Encrypts the secrets of callers: keys of models, secrets of sources. Only the sealed texts are stored."""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from footnotes.errors import ConfigError, MissingExtra
from footnotes.settings import Settings

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

SECRET_FILE = "server.secret"  # noqa: S105 - a name, not a secret


class Seal:
    """Encrypts with the secret of a server."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder, self._settings = folder, settings

    def close(self, text: str) -> str:
        return self._fernet().encrypt(text.encode()).decode() if text else ""

    def open(self, sealed: str) -> str:
        from cryptography.fernet import InvalidToken

        try:
            content: bytes = self._fernet().decrypt(sealed.encode())
        except InvalidToken:
            raise ConfigError(
                "a server with another secret encrypted this value",
                remedy="Set the same serve_secret on all servers, or enter the secret again.",
            ) from None
        return content.decode()

    def _fernet(self) -> Fernet:
        try:
            from cryptography.fernet import Fernet
        except ModuleNotFoundError as error:
            raise MissingExtra(
                "encryption needs the package 'cryptography', which is not installed",
                remedy='pip install "footnotes[server]"',
            ) from error
        return Fernet(base64.urlsafe_b64encode(hashlib.sha256(self._secret()).digest()))

    def _secret(self) -> bytes:
        """Return the secret for encryption: the setting, or a file next to the database, readable only by its owner."""
        if self._settings.serve_secret:
            return self._settings.serve_secret.encode()
        path = self._folder / SECRET_FILE
        if not path.exists():
            draft = self._folder / f".{SECRET_FILE}.{secrets.token_hex(4)}"
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                out.write(secrets.token_hex(32).encode())
            with suppress(FileExistsError):
                os.link(draft, path)  # written atomically, and never over another server's secret
            draft.unlink()
        return path.read_bytes()
