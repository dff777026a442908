"""Reads the metadata of Office files."""

from __future__ import annotations

import datetime
import zipfile

from footnotes.parse.decode import clean
from footnotes.types import JsonValue

_FIELDS = ("title", "author", "subject", "keywords", "created", "modified", "language")


_CORE = "docProps/core.xml"
_ELEMENTS = {"title": "title", "creator": "author", "subject": "subject", "created": "created", "modified": "modified"}


def core_of_archive(archive: zipfile.ZipFile) -> dict[str, JsonValue]:
    """Read the core properties of an Office file that no library reads."""
    from lxml import etree

    try:
        root = etree.fromstring(archive.read(_CORE), etree.XMLParser(resolve_entities=False, no_network=True))
    except (KeyError, etree.XMLSyntaxError):
        return {}
    found: dict[str, JsonValue] = {}
    for element in root.iterchildren("{*}*"):
        name = _ELEMENTS.get(etree.QName(element).localname)
        text = clean(element.text or "").strip()
        if name and text:
            found[name] = text.removesuffix("Z")[:1000] if name in ("created", "modified") else text[:1000]
    return found


def core_properties(properties: object) -> dict[str, JsonValue]:
    """Convert the core properties of python-docx and python-pptx to metadata."""
    found: dict[str, JsonValue] = {}
    for name in _FIELDS:
        try:
            value = getattr(properties, name)
        except (ValueError, KeyError, AttributeError):  # an invalid date
            continue
        if isinstance(value, datetime.datetime):
            found[name] = value.replace(tzinfo=None).isoformat(timespec="seconds")
        elif isinstance(value, str) and (text := clean(value).strip()):
            found[name] = text[:1000]
    return found
