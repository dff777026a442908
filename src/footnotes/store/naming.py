"""Names that stores generate: of documents, of embedded inputs, of tenants' folders, of files in a source."""

from __future__ import annotations

import hashlib
import re
from typing import Any

_JOINTS = re.compile(r"[\W_]+")
INSIDE = "!/"
"""Separates an archive from the name of a member: `docs.zip!/letters/may.txt`."""


def document_id(user_id: str, collection: str, file_hash: str, attempt: int) -> str:
    """Return an id derived from the document's first content; `attempt` makes it unique if content returns."""
    name = "/".join((user_id, collection, file_hash, str(attempt)))
    return "d" + hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def embedding_input(prefix: str, text: str) -> str:
    """Return the input to embed for a chunk."""
    return f"{prefix}\n{text}" if prefix else text


def input_hash(text: str) -> bytes:
    """Return the key of an input's vector."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def tenant_folder(user_id: str) -> str:
    """Return the name of a tenant's folder, safe in a path for any tenant name."""
    return hashlib.sha256(user_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def name_of(source: str) -> str:
    """Return the file name at the end of a source."""
    return source.replace("\\", "/").rstrip("/").rpartition("/")[2] or source


def stem_of(filename: str) -> str:
    """Return a file name without its suffix, the default title of a document."""
    return filename.rpartition(".")[0] or filename


def label_of(title: str, filename: str) -> str:
    """Return the searchable name of a document: its title, and its file name in words if that differs."""
    stem = stem_of(filename)
    return title if stem == title else f"{title} {_JOINTS.sub(' ', stem)}".strip()


def rename_title(title: str, before: str, after: str) -> str:
    """Return the new title: a title equal to the old file name follows the file, others stay."""
    return stem_of(after) if title == stem_of(before) else title


def without_collection(plan: dict[str, Any], name: str) -> dict[str, object]:
    """Return a generation's plan without a collection."""
    return {
        key: {each: one for each, one in value.items() if each != name} if key in ("chunkers", "choices") else value
        for key, value in plan.items()
    }


def source_mark(collection: str, source: str) -> str:
    """Return a hash of a source, by which unfinished jobs know that its document was deleted without its name."""
    return hashlib.blake2b(f"{collection}/{source}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
