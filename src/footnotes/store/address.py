"""Addresses of databases, as they may be shown."""

from __future__ import annotations

import re

_SECRET = re.compile(r"(?<=://)([^/?#@:]*)(:[^/?#@]*)?@")
_ASIDE = re.compile(r"(?i)([?&;](?:password|sslpassword|passfile)=)[^&;]*")


def redacted(address: str) -> str:
    """The address without its password, wherever in it that stands."""
    return _ASIDE.sub(r"\1…", _SECRET.sub(lambda found: f"{found[1]}:…@" if found[2] else f"{found[1]}@", address))
