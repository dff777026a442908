"""Object stores: `s3://bucket/prefix`, `gs://bucket/prefix`, `az://account/container/prefix`, by `obstore`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import obstore
from obstore.store import AzureStore, GCSStore, S3Store

from footnotes.errors import OptionError
from footnotes.ingest.sources import Address, BaseSource, Content, Entry, LeftOut
from footnotes.ingest.sources.files import write_blocks
from footnotes.store.naming import name_of

_REGION = re.compile(r"[a-z0-9-]{1,40}")
_BUCKET = re.compile(r"[A-Za-z0-9._-]{1,255}")
_PLAIN = ("region", "endpoint", "anonymous")
_SECRETS = {
    "s3": ("access_key_id", "secret_access_key", "session_token"),
    "gs": ("service_account_key",),
    "az": ("account_key", "sas_token"),
}


class ObjectSource(BaseSource):
    """The objects under a prefix of a bucket. Their entity tags are their stamps."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        address.check_options(*_PLAIN, *_SECRETS[address.kind])
        self.stamps_are_hashes = address.kind == "s3"
        self._store = _open_store(address)

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return (*_PLAIN, *(name for names in _SECRETS.values() for name in names))

    @classmethod
    def check_rights(cls, address: Address) -> None:
        if address.option("endpoint"):
            address.check_private("an endpoint of one's own may be inside the server's network")

    def entries(self) -> Iterator[Entry | LeftOut]:
        for batch in self._store.list():
            for item in batch:
                key = str(item["path"])
                if item["size"] == 0 and key.endswith("/"):
                    continue  # a marker by which consoles show a folder
                stamp = item["e_tag"] or f"{item['last_modified'].isoformat()}/{item['size']}"
                yield Entry(key, stamp.strip('"'), item["size"])

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        blocks = (bytes(block) for block in obstore.get(self._store, entry.key).stream())
        path = write_blocks(blocks, folder / "object", self.limit)
        yield Content(path, name_of(entry.key))


def _open_store(address: Address) -> S3Store | GCSStore | AzureStore:
    if not _BUCKET.fullmatch(address.host):
        raise OptionError(f"{address.host[:60]!r} is not the name of a bucket")
    ObjectSource.check_rights(address)
    secrets: dict[str, Any] = {name: found for name in _SECRETS[address.kind] if (found := address.secret(name))}
    anonymous = address.flag("anonymous")
    if not address.trusted and not anonymous:
        _check_own_key(address, secrets)
    prefix = address.path.strip("/")
    client: dict[str, Any] = {"timeout": timedelta(seconds=address.settings.fetch_seconds)}
    retry: dict[str, object] = {"max_retries": 2, "retry_timeout": timedelta(seconds=address.settings.fetch_seconds)}
    if (endpoint := address.option("endpoint")).startswith("http://"):
        client["allow_http"] = True
    common: dict[str, Any] = {"client_options": client, "retry_config": retry}
    if anonymous:
        common["skip_signature"] = True
    if endpoint:
        common["base_url" if address.kind == "gs" else "endpoint"] = endpoint
    if address.kind == "s3":
        region = address.option("region", "us-east-1")
        if not _REGION.fullmatch(region):
            raise OptionError("the region of a bucket is named like eu-central-1")
        return S3Store(address.host, prefix=prefix or None, region=region, **secrets, **common)
    if address.kind == "gs":
        return GCSStore(address.host, prefix=prefix or None, **secrets, **common)
    container, _, below = prefix.partition("/")
    return AzureStore(container, account_name=address.host, prefix=below or None, **secrets, **common)


def _check_own_key(address: Address, secrets: Mapping[str, str]) -> None:
    """Raise unless the key is whole: the library would look for the rest among the credentials of this machine."""
    enough = {"s3": (("access_key_id", "secret_access_key"),), "gs": (("service_account_key",),)}
    wanted = enough.get(address.kind, (("account_key",), ("sas_token",)))
    if not any(all(name in secrets for name in names) for names in wanted):
        needed = " or ".join(" and ".join(names) for names in wanted)
        raise OptionError(
            f"{address.text} needs its own key: {needed}", remedy="Pass all parts of it, or anonymous=true."
        )
    if "gcs_base_url" in secrets.get("service_account_key", ""):
        raise OptionError(
            f"the key of {address.text} names another server", remedy="Send the unmodified key from Google."
        )
