from __future__ import annotations

from pathlib import Path

import apsw
from hypothesis import given
from hypothesis import strategies as st

from footnotes.library import Library
from footnotes.store.packing import PIECE, pack_blocks, unpack_blocks
from footnotes.store.texts import SpanReader, read_span
from footnotes.types import Block
from libraries import quick_library


def test_every_span_of_a_long_text_is_read_back_exactly(tmp_path: Path) -> None:
    text = "".join(chr(97 + n % 26) for n in range(3 * PIECE + 17)) + "\nThe end 日本 😀.\n"
    with quick_library(tmp_path / "library") as library:
        document = str(library.add_text(text, filename="long.txt").document_id)
        stored = library.text(document)
        assert stored.strip() == text.strip()
        version = library._store.documents.find("local", document).current
        assert version is not None
        edges = [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE - 1, 3 * PIECE + 5, len(stored)]
        with library._store.database.snapshot("local") as cursor:
            for start in edges:
                for end in edges:
                    if start < end:
                        assert read_span(cursor, version, start, end) == stored[start:end]
            in_order = SpanReader(cursor, version)
            for start in range(0, len(stored) - 1, 700):
                end = min(start + 900, len(stored))
                assert in_order.read(start, end) == stored[start:end]


@given(
    st.lists(
        st.builds(
            Block,
            kind=st.sampled_from(["heading", "paragraph", "table"]),
            start=st.integers(0, 100),
            end=st.integers(0, 100),
            page=st.none() | st.integers(1, 9),
            level=st.integers(0, 6),
            headings=st.lists(st.text(max_size=5), max_size=3).map(tuple),
            attributes=st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
        ),
        max_size=6,
    ).map(tuple)
)
def test_blocks_survive_being_packed(blocks: tuple[Block, ...]) -> None:
    assert unpack_blocks(pack_blocks(blocks)) == blocks


def test_the_schema_is_what_the_migrations_make(library: Library) -> None:
    from footnotes.store.statements import migrations

    plain = apsw.Connection(":memory:")
    for _, script in migrations("footnotes.store.sqlite"):
        plain.execute(script)
    statement = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
    assert list(library._store.database.reader.execute(statement)) == list(plain.execute(statement))
    assert library._store.database.reader.pragma("user_version") == migrations("footnotes.store.sqlite")[-1][0]
