"""Models that were connected on the page: kept for each tenant, their keys sealed, used without a restart."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footnotes.answer.answerer import EXTRACTIVE
from footnotes.answer.models.connect import LLAMA, Connection, chat_of, check
from footnotes.config import Settings, environment_key
from footnotes.engine import Library
from footnotes.errors import ConfigError, Forbidden, MissingExtra, NotFound, OptionError, StorageQuota
from footnotes.serve.database import ServerDatabase, now
from footnotes.serve.keys import Caller

SECRET_FILE = "server.secret"  # noqa: S105 - a name, not a secret
MOST = 50
_ENVIRONMENT = re.compile(r"[A-Z][A-Z0-9_]{0,80}_API_KEY")


@dataclass(frozen=True, slots=True)
class ConnectedModel:
    """What is shown of a connection: never its key."""

    id: str
    name: str
    provider: str
    model: str
    base_url: str
    path: str
    key: str
    """`sealed`, `environment` or empty: how its key is kept, if it has one."""
    key_env: str
    is_default: bool
    created_at: str


@dataclass(frozen=True, slots=True)
class NewConnection:
    """A connection as it is asked for."""

    provider: str
    model: str = ""
    base_url: str = ""
    path: str = ""
    key: str = ""
    key_env: str = ""
    name: str = ""
    is_default: bool = True


class Connections:
    """The connections of every tenant."""

    def __init__(self, database: ServerDatabase, folder: Path, settings: Settings) -> None:
        self._database, self._folder, self._settings = database, folder, settings

    @property
    def are_allowed(self) -> bool:
        return self._settings.serve_models

    def all(self, tenant: str) -> list[ConnectedModel]:
        sql = "SELECT * FROM connections WHERE tenant = ? ORDER BY created_at, id"
        return [_shown(row) for row in self._database.rows(sql, (tenant,))]

    def default(self, tenant: str) -> ConnectedModel | None:
        return next((each for each in self.all(tenant) if each.is_default), None)

    def add(self, caller: Caller, new: NewConnection) -> ConnectedModel:
        """Keep a connection; its key is never shown again."""
        connection = self.checked(caller, new)
        if not connection.model and new.provider != LLAMA:
            raise OptionError("no model is named", remedy="Choose one that the provider lists.")
        if len(self.all(caller.tenant)) >= MOST:
            raise StorageQuota(f"{MOST} models are connected already", remedy="Remove some of them.")
        made, sealed = secrets.token_hex(6), self._sealed(new.key)
        named = new.name.strip() or connection.label
        values = (
            made,
            caller.tenant,
            named,
            new.provider,
            new.model,
            new.base_url,
            new.path,
            sealed,
            new.key_env,
            now(),
        )
        sql = (
            "INSERT INTO connections (id, tenant, name, provider, model, base_url, path, sealed, key_env, created_at, "
            "is_default) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0) RETURNING id"
        )
        self._database.rows(sql, values)
        if new.is_default:
            self.choose(caller.tenant, made)
        return self._one(caller.tenant, made)

    def choose(self, tenant: str, connection_id: str, *, is_default: bool = True) -> ConnectedModel:
        """Let a connection answer what names no model; or let the server's own settings do it again."""
        self._one(tenant, connection_id)
        self._database.rows("UPDATE connections SET is_default = 0 WHERE tenant = ? RETURNING id", (tenant,))
        if is_default:
            sql = "UPDATE connections SET is_default = 1 WHERE tenant = ? AND id = ? RETURNING id"
            self._database.rows(sql, (tenant, connection_id))
        return self._one(tenant, connection_id)

    def remove(self, tenant: str, connection_id: str) -> ConnectedModel:
        found = self._one(tenant, connection_id)
        self._database.rows("DELETE FROM connections WHERE tenant = ? AND id = ? RETURNING id", (tenant, connection_id))
        self._database.checkpoint()
        return found

    # ── using them

    def checked(self, caller: Caller, new: NewConnection, connection_id: str = "") -> Connection:
        """A connection that may be dialled; with an id, with the key that is kept for it."""
        if not self.are_allowed:
            raise Forbidden("this server does not let models be connected", remedy="Its operator sets serve_models.")
        operates = caller.tenant == self._settings.user
        if (new.path or new.provider == LLAMA) and not operates:
            raise Forbidden("files of the server are for its operator", remedy="Connect a model over the network.")
        if new.key_env and not operates:
            raise Forbidden("the server's environment is for its operator", remedy="Enter the key itself.")
        key = new.key
        if connection_id and not (new.key or new.key_env):
            kept = self._row(caller.tenant, connection_id)
            if kept["base_url"] != new.base_url or kept["provider"] != new.provider:
                raise OptionError("the key was given for another address", remedy="Enter it again.")
            key = self._key(kept)
        elif new.key_env:
            key = _from_environment(new.key_env)
        public = not (operates or self._settings.fetch_private)
        connection = Connection(new.provider, new.model, new.base_url, new.path, key, public)
        check(connection)
        return connection

    def use(self, library: Library, tenant: str, wanted: str | None) -> dict[str, Any]:
        """The keyword of `Library.ask` that names the model: the one wanted, or the tenant's default."""
        if wanted == EXTRACTIVE:
            return {"model": EXTRACTIVE}
        if not self.are_allowed:
            if wanted:
                raise NotFound(f"there is no model {wanted[:60]!r}", remedy="GET /v1/models/connections lists them.")
            return {}
        found = self._one(tenant, wanted) if wanted else self.default(tenant)
        if found is None:
            return {}
        row = self._row(tenant, found.id)
        public = not (tenant == self._settings.user or self._settings.fetch_private)
        connection = Connection(found.provider, found.model, found.base_url, found.path, self._key(row), public)
        # A key that changed is another model: the name says all that matters, and tells nothing of the key.
        mark = hashlib.sha256(repr((row["sealed"], found)).encode()).hexdigest()[:12]
        name = f"connection:{found.id}:{mark}"
        library.connect_model(name, _maker(connection))
        return {"model": name}

    # ── rows and keys

    def _row(self, tenant: str, connection_id: str) -> dict[str, Any]:
        sql = "SELECT * FROM connections WHERE tenant = ? AND id = ?"
        rows = self._database.rows(sql, (tenant, connection_id))
        if not rows:
            remedy = "GET /v1/models/connections lists them."
            raise NotFound(f"there is no model {connection_id[:60]!r}", remedy=remedy)
        return rows[0]

    def _one(self, tenant: str, connection_id: str) -> ConnectedModel:
        return _shown(self._row(tenant, connection_id))

    def _key(self, row: dict[str, Any]) -> str:
        if row["key_env"]:
            return _from_environment(row["key_env"])
        return self._opened(row["sealed"]) if row["sealed"] else ""

    def _sealed(self, key: str) -> str:
        return self._fernet().encrypt(key.encode()).decode() if key else ""

    def _opened(self, sealed: str) -> str:
        from cryptography.fernet import InvalidToken

        try:
            opened: bytes = self._fernet().decrypt(sealed.encode())
        except InvalidToken:
            raise ConfigError(
                "the key of this model was sealed by a server with another secret",
                remedy="Set serve_secret alike on all servers, or enter the key again.",
            ) from None
        return opened.decode()

    def _fernet(self) -> Any:
        try:
            from cryptography.fernet import Fernet
        except ModuleNotFoundError as error:
            raise MissingExtra(
                "keys are sealed with the package 'cryptography', which is not installed",
                remedy='pip install "footnotes[server]"',
            ) from error
        return Fernet(base64.urlsafe_b64encode(hashlib.sha256(self._secret()).digest()))

    def _secret(self) -> bytes:
        """What seals keys: the setting, or a file beside the database, made once and readable by its owner alone."""
        if self._settings.serve_secret:
            return self._settings.serve_secret.encode()
        path = self._folder / SECRET_FILE
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return path.read_bytes()
        with os.fdopen(file, "wb") as out:
            made = secrets.token_hex(32).encode()
            out.write(made)
        return made


def _maker(connection: Connection) -> Callable[[Settings], Any]:
    return lambda settings: chat_of(connection, settings)


def _from_environment(name: str) -> str:
    if not _ENVIRONMENT.fullmatch(name):
        raise OptionError("a variable that holds a key is named LIKE_THIS_API_KEY")
    if not (found := environment_key(name)):
        raise OptionError(f"the variable {name} is not set where the server runs")
    return found


def _shown(row: dict[str, Any]) -> ConnectedModel:
    names = ("id", "name", "provider", "model", "base_url", "path", "key_env", "created_at")
    kept = "environment" if row["key_env"] else ("sealed" if row["sealed"] else "")
    return ConnectedModel(**{name: row[name] for name in names}, key=kept, is_default=bool(row["is_default"]))
