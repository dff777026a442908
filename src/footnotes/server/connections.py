"""Models that tenants connect while the server runs: stored for each tenant, with sealed keys."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from footnotes.answer.answerer import EXTRACTIVE, configured_model
from footnotes.answer.models import ChatModel
from footnotes.answer.models.connect import LLAMA, Connection, chat_of, check
from footnotes.errors import ConfigError, Forbidden, MissingExtra, NotFound, OptionError, StorageQuota
from footnotes.library import Library
from footnotes.server.database import ServerDatabase, now, one
from footnotes.server.keys import Caller
from footnotes.settings import Settings, environment_key
from footnotes.store.database import Row

if TYPE_CHECKING:
    from cryptography.fernet import Fernet


MOST = 50
_ENVIRONMENT = re.compile(r"[A-Z][A-Z0-9_]{0,80}_API_KEY")
SECRET_FILE = "server.secret"  # noqa: S105 - a name, not a secret


@dataclass(frozen=True, slots=True)
class ConnectedModel:
    """A connection as callers see it: without its key."""

    id: str
    name: str
    provider: str
    model: str
    base_url: str
    path: str
    key: str
    """How its key is stored: `sealed`, `environment`, or empty without one."""
    key_env: str
    is_default: bool
    created_at: str


@dataclass(frozen=True, slots=True)
class NewConnection:
    """A request for a connection."""

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
        self._database, self._settings, self._seal = database, settings, Seal(folder, settings)

    @property
    def are_allowed(self) -> bool:
        return self._settings.serve_models

    def all(self, tenant: str) -> list[ConnectedModel]:
        return [_connected_model(row) for row in self._database.all("connections_of", tenant=tenant)]

    def default(self, tenant: str) -> ConnectedModel | None:
        return next((each for each in self.all(tenant) if each.is_default), None)

    def add(self, caller: Caller, new: NewConnection) -> ConnectedModel:
        """Store a connection; its key is never shown again."""
        connection = self.build(caller, new)
        if not connection.model and new.provider != LLAMA:
            raise OptionError("no model given", remedy="Choose one of the provider's models.")
        if connection.lacks_key:
            raise OptionError(f"{new.provider} needs a key", remedy="Enter the key of your account.")
        if len(self.all(caller.tenant)) >= MOST:
            raise StorageQuota(f"{MOST} models are already connected", remedy="Remove one of them.")
        connection_id = secrets.token_hex(6)
        self._database.change(
            "add_connection",
            id=connection_id,
            tenant=caller.tenant,
            name=new.name.strip() or connection.label,
            provider=new.provider,
            model=new.model,
            base_url=new.base_url,
            path=new.path,
            sealed=self._seal.close(new.key),
            key_env=new.key_env,
            created_at=now(),
        )
        if new.is_default:
            self.choose(caller.tenant, connection_id)
        return self._one(caller.tenant, connection_id)

    def choose(self, tenant: str, connection_id: str, *, is_default: bool = True) -> ConnectedModel:
        """Make a connection the tenant's default model, or restore the default of the settings."""
        self._one(tenant, connection_id)
        self._database.change("choose_connection", tenant=tenant, id=connection_id if is_default else "")
        return self._one(tenant, connection_id)

    def remove(self, tenant: str, connection_id: str) -> ConnectedModel:
        found = self._one(tenant, connection_id)
        self._database.change("remove_connection", tenant=tenant, id=connection_id)
        self._database.checkpoint()
        return found

    # ── using them

    def build(self, caller: Caller, new: NewConnection, connection_id: str = "") -> Connection:
        """Check the permissions of the caller, and build the connection; with an id, use that connection's key."""
        if not self.are_allowed:
            raise Forbidden(
                "this server does not allow connecting models", remedy="The operator can enable it with serve_models."
            )
        operates = caller.tenant == self._settings.user
        if (new.path or new.provider == LLAMA) and not operates:
            raise Forbidden("only the operator may use files of the server", remedy="Connect a model over the network.")
        if new.key_env and not operates:
            raise Forbidden("only the operator may use the server's environment", remedy="Enter the key itself.")
        key = new.key
        if connection_id and not (new.key or new.key_env):
            row = self._row(caller.tenant, connection_id)
            if row["base_url"] != new.base_url or row["provider"] != new.provider:
                raise OptionError("the key belongs to another address", remedy="Enter the key again.")
            key = self._key(row)
        elif new.key_env:
            key = _read_environment(new.key_env)
        public = not (operates or self._settings.fetch_private)
        connection = Connection(new.provider, new.model, new.base_url, new.path, key, public)
        check(connection)
        return connection

    def use(self, library: Library, tenant: str, wanted: str | None) -> dict[str, object]:
        """Register the wanted or default model with the library; return it as the option `model` of `ask`."""
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
        connection = self._connection(tenant, found)
        # The name changes with the key, so caches of another key are not used. It reveals no key.
        mark = hashlib.sha256(repr((row["sealed"], found)).encode()).hexdigest()[:12]
        name = f"connection:{found.id}:{mark}"
        library.connect_model(name, _chat_factory(connection))
        return {"model": name}

    def default_model(self, tenant: str) -> tuple[str, Callable[[], ChatModel]] | None:
        """Return the name of the tenant's default model, and a function that opens it; None without a model."""
        settings, found = self._settings, self.default(tenant) if self.are_allowed else None
        if found is not None:
            connection = self._connection(tenant, found)
            return f"{found.id} {found.name}", lambda: chat_of(connection, settings)
        return configured_model(settings)

    # ── rows and keys

    def _connection(self, tenant: str, found: ConnectedModel) -> Connection:
        public = not (tenant == self._settings.user or self._settings.fetch_private)
        key = self._key(self._row(tenant, found.id))
        return Connection(found.provider, found.model, found.base_url, found.path, key, public)

    def _row(self, tenant: str, connection_id: str) -> Row:
        row = one(self._database.all("find_connection", tenant=tenant, id=connection_id))
        if row is None:
            remedy = "GET /v1/models/connections lists them."
            raise NotFound(f"there is no model {connection_id[:60]!r}", remedy=remedy)
        return row

    def _one(self, tenant: str, connection_id: str) -> ConnectedModel:
        return _connected_model(self._row(tenant, connection_id))

    def _key(self, row: Row) -> str:
        if row["key_env"]:
            return _read_environment(row["key_env"])
        return self._seal.open(row["sealed"]) if row["sealed"] else ""


def _chat_factory(connection: Connection) -> Callable[[Settings], Any]:
    return lambda settings: chat_of(connection, settings)


def _read_environment(name: str) -> str:
    if not _ENVIRONMENT.fullmatch(name):
        raise OptionError("a variable with a key must be named LIKE_THIS_API_KEY")
    if not (found := environment_key(name)):
        raise OptionError(f"the variable {name} is not set in the server's environment")
    return found


def _connected_model(row: Row) -> ConnectedModel:
    names = ("id", "name", "provider", "model", "base_url", "path", "key_env", "created_at")
    key_place = "environment" if row["key_env"] else ("sealed" if row["sealed"] else "")
    return ConnectedModel(**{name: row[name] for name in names}, key=key_place, is_default=bool(row["is_default"]))


# ── encrypts the secrets of callers: keys of models, secrets of sources. Only the sealed texts are stored ─────


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
