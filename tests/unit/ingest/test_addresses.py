"""Which key is sent to which vector database."""

from __future__ import annotations

import pytest

from footnotes.errors import OptionError
from footnotes.ingest.importing.addresses import key_for, parse_address
from footnotes.settings import settings_from


def test_the_key_of_the_librarys_own_database_goes_to_that_alone() -> None:
    settings = settings_from({"index": "qdrant+https://vectors.example:6333/notes", "index_api_key": "own"})
    assert key_for(parse_address("qdrant+https://vectors.example/old"), settings) == "own"
    for other in (
        "qdrant://vectors.example/old",
        "qdrant+https://other.example/old",
        "chroma+https://vectors.example:6333/o",
    ):
        assert key_for(parse_address(other), settings) == ""
    named = settings_from({"index": "chroma:folder", "index_api_key": "own", "import_api_key": "theirs"})
    assert key_for(parse_address("qdrant://anywhere/old"), named) == "theirs"
    for address in ("qdrant://user:key@host/c", "qdrant://host/c?api_key=k", "chroma://host/c?Auth-Token=k"):
        with pytest.raises(OptionError, match="must not contain a key"):
            parse_address(address)
