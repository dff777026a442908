"""Names that stores make: of documents, of tenants' folders, of files at the end of a source."""

from __future__ import annotations

import hashlib
import re
from typing import Any

_JOINTS = re.compile(r"[\W_]+")
INSIDE = "!/"
"""Stands between an archive and the name of a member: `docs.zip!/letters/may.txt`."""


def document_id(user_id: str, collection: str, file_hash: str, attempt: int) -> str:
    """An id made of what the document is when it comes; counted on where content came back after an edit."""
    name = "/".join((user_id, collection, file_hash, str(attempt)))
    return "d" + hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def tenant_folder(user_id: str) -> str:
    """The name of a tenant's folder: of any name, one that is safe in a path."""
    return hashlib.sha256(user_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def name_of(source: str) -> str:
    """The file name at the end of a source."""
    return source.replace("\\", "/").rstrip("/").rpartition("/")[2] or source


def stem_of(filename: str) -> str:
    """A file name without its ending, as it stands for the title of a document that states none."""
    return filename.rpartition(".")[0] or filename


def label_of(title: str, filename: str) -> str:
    """What a document is found by beside its text: its title, and its file name in words where that is another."""
    stem = stem_of(filename)
    return title if stem == title else f"{title} {_JOINTS.sub(' ', stem)}".strip()


def renamed_title(title: str, before: str, after: str) -> str:
    """A title that was the file's name follows it; any other stays."""
    return stem_of(after) if title == stem_of(before) else title


def without_collection(plan: dict[str, Any], name: str) -> dict[str, object]:
    """A generation's plan that does not name a collection."""
    return {
        key: {each: said for each, said in value.items() if each != name} if key in ("chunkers", "choices") else value
        for key, value in plan.items()
    }


def source_mark(collection: str, source: str) -> str:
    """A source as unfinished work remembers that its document was deleted: a hash, for the name is to be forgotten."""
    return hashlib.blake2b(f"{collection}/{source}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
