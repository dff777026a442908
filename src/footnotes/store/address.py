"""Database addresses: without passwords for display, and with our application name for connections."""

from __future__ import annotations

import re
from urllib.parse import quote

_SECRET = re.compile(r"(?<=://)([^/?#@:]*)(:[^/?#@]*)?@")
_ASIDE = re.compile(r"(?i)([?&;](?:password|sslpassword|passfile)=)[^&;]*")
_NAMED = re.compile(r"([?&]application_name=)([^&]*)")


def redacted(address: str) -> str:
    """Return the address without its password, wherever the password is."""
    return _ASIDE.sub(r"\1…", _SECRET.sub(lambda found: f"{found[1]}:…@" if found[2] else f"{found[1]}@", address))


def named(address: str, application: str) -> str:
    """Add an application name, shown in pg_stat_activity, unless the address has one."""
    if (found := _NAMED.search(address)) is not None:
        return _NAMED.sub(rf"\g<1>{quote(application)}", address) if found[2].startswith("footnotes") else address
    return f"{address}{'&' if '?' in address else '?'}application_name={quote(application)}"
