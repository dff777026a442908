"""Keys: the caller, the tenant and the scopes of each. Only the hash of a key is stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from footnotes.errors import NotFound, OptionError, Unauthorized
from footnotes.server.database import ServerDatabase, now, one
from footnotes.store.database import Row

SCOPES = ("read", "write", "admin", "metrics")
PREFIX = "fn"
_ID_BYTES, _SECRET_BYTES = 6, 32
_LONGEST_NAME = 200
KNOWN_SECONDS = 1.0
"""How long a key is cached: a key that another process revokes is refused this much later."""
_MOST_KNOWN = 10_000


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request. `key_id` is empty if the server has no keys."""

    tenant: str
    key_id: str
    scopes: frozenset[str]

    def may(self, scope: str) -> bool:
        return scope in self.scopes or "admin" in self.scopes


@dataclass(frozen=True, slots=True)
class Key:
    """A key as callers see it, without its secret."""

    id: str
    name: str
    tenant: str
    scopes: list[str]
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    live: bool


class Keys:
    """The keys of a server."""

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database
        self._known: OrderedDict[bytes, tuple[Caller, float]] = OrderedDict()
        self._guard = threading.Lock()
        self._exist = False

    def cached_caller(self, key: str) -> Caller | None:
        """Return the caller of a recently used key, from memory only."""
        with self._guard:
            caller, until = self._known.get(_hash(key), (None, 0.0))
        return caller if time.monotonic() < until else None

    def _remember(self, key: str, caller: Caller) -> Caller:
        with self._guard:
            self._known[_hash(key)] = (caller, time.monotonic() + KNOWN_SECONDS)
            if len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        return caller

    def _forget_all(self) -> None:
        with self._guard:
            self._known.clear()

    def exist(self) -> bool:
        """Return whether a key was ever created: from then on every request needs one."""
        self._exist = self._exist or bool(self._database.all("any_key"))
        return self._exist

    def create(
        self, tenant: str, *, name: str = "", scopes: Iterable[str] = ("read",), days: float | None = None
    ) -> tuple[str, Key]:
        """Create a key; return its secret, only this once, and the stored record."""
        wanted = _check_new_key(tenant, name, scopes, days)
        key_id, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        expires = None if days is None else (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")
        self._database.change(
            "add_key",
            id=key_id,
            secret_hash=_hash(secret),
            tenant=tenant,
            name=name,
            scopes=" ".join(wanted),
            created_at=now(),
            expires_at=expires,
        )
        self._database.mark_keyed()
        return f"{PREFIX}_{key_id}_{secret}", self.find(key_id)

    def find(self, key_id: str, tenant: str | None = None) -> Key:
        row = one(self._database.all("find_key", id=key_id, tenant=tenant))
        if row is None:
            raise NotFound(f"there is no key {key_id!r}", remedy="List the keys to see their ids.")
        return _key(row)

    def all(self, tenant: str | None = None) -> list[Key]:
        return [_key(row) for row in self._database.all("keys_of", tenant=tenant)]

    def revoke(self, key_id: str, tenant: str | None = None) -> Key:
        """Revoke a key; its open streams end."""
        self.find(key_id, tenant)
        self._database.change("revoke_key", id=key_id, moment=now())
        self._forget_all()
        return self.find(key_id, tenant)

    def caller(self, key: str) -> Caller:
        """Return the caller of a key. Unknown, wrong, expired and revoked keys raise the same error."""
        if not (key.isascii() and key.isprintable()):  # a database cannot look for other texts
            raise Unauthorized("the key is not valid")
        prefix, _, rest = key.partition("_")
        key_id, _, secret = rest.partition("_")
        found = one(self._database.all("find_key", id=key_id[:100], tenant=None)) if prefix == PREFIX else None
        row: Row = found or {"secret_hash": b"", "revoked_at": "", "expires_at": None}
        if not hmac.compare_digest(_hash(secret), row["secret_hash"]) or not _is_live(row):
            raise Unauthorized("the key is not valid")
        return self._remember(key, Caller(row["tenant"], row["id"], frozenset(row["scopes"].split())))

    def is_live(self, key_id: str) -> bool:
        """Return whether a key is neither revoked nor expired."""
        row = one(self._database.all("find_key", id=key_id, tenant=None))
        return row is not None and _is_live(row)


def _key(row: Row) -> Key:
    return Key(row["id"], row["name"], row["tenant"], row["scopes"].split(), row["created_at"], row["expires_at"],
               row["revoked_at"], _is_live(row))  # fmt: skip


def _is_live(row: Row) -> bool:
    expires = row["expires_at"]
    return row["revoked_at"] is None and (expires is None or datetime.fromisoformat(expires) > datetime.now(UTC))


def _hash(secret: str) -> bytes:
    # The secret has 256 random bits: a slow hash would add nothing but time.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _check_new_key(tenant: str, name: str, scopes: Iterable[str], days: float | None) -> list[str]:
    wanted = list(dict.fromkeys(scopes))
    if not wanted or set(wanted) - set(SCOPES):
        raise OptionError(f"the scopes of a key must be among {', '.join(SCOPES)}")
    if not tenant.strip() or len(tenant) > _LONGEST_NAME or len(name) > _LONGEST_NAME:
        raise OptionError("the tenant or the name of a key is empty or too long")
    if not (tenant.isprintable() and (name.isprintable() or not name)):
        raise OptionError("the tenant and the name of a key must be printable")
    if days is not None and not 0 < days <= 36_500:
        raise OptionError("a key must be valid for more than 0 and at most 36,500 days")
    return wanted
