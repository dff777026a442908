"""Addresses of databases: as they may be shown, and with the name under which the database knows who calls."""

from __future__ import annotations

import re
from urllib.parse import quote

_SECRET = re.compile(r"(?<=://)([^/?#@:]*)(:[^/?#@]*)?@")
_ASIDE = re.compile(r"(?i)([?&;](?:password|sslpassword|passfile)=)[^&;]*")
_NAMED = re.compile(r"([?&]application_name=)([^&]*)")


def redacted(address: str) -> str:
    """The address without its password, wherever in it that stands."""
    return _ASIDE.sub(r"\1…", _SECRET.sub(lambda found: f"{found[1]}:…@" if found[2] else f"{found[1]}@", address))


def named(address: str, application: str) -> str:
    """The address with the name of an application, which pg_stat_activity shows; one that somebody chose stays."""
    if (found := _NAMED.search(address)) is not None:
        return _NAMED.sub(rf"\g<1>{quote(application)}", address) if found[2].startswith("footnotes") else address
    return f"{address}{'&' if '?' in address else '?'}application_name={quote(application)}"
