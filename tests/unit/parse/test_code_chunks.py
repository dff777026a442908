"""The chunker of source code."""

from __future__ import annotations

from footnotes.chunk.assemble import assemble
from footnotes.chunk.code import CodeChunker


def large_class() -> str:
    methods = "\n\n".join(
        f"    def method_{number}(self, value):\n" + f"        value = compute(value, {number})\n" * 12
        for number in range(8)
    )
    return f'import math\n\n\nclass Machine(Base):\n    """A machine."""\n\n{methods}\n'


def test_a_large_class_is_taken_apart_and_chunks_say_what_encloses_them(parse) -> None:
    parsed = parse("machine.py", large_class().encode())
    [part] = parsed.parts
    made = list(assemble(CodeChunker(tokens=256).split(part), part, title="machine.py"))
    inside = [chunk for chunk in made if chunk.headings[-1:] == ("method_3",)]
    assert len(inside) == 1
    assert inside[0].prefix == "[Document: machine.py | Section: Machine > method_3]\nclass Machine(Base): A machine."
    assert inside[0].metadata == {"symbols": ["Machine.method_3", "method_3"], "language": "python"}


def test_small_definitions_have_chunks_of_their_own_where_that_is_asked_for(parse) -> None:
    [part] = parse("a.py", b"def one():\n    return 1\n\n\ndef two():\n    return 2\n").parts
    assert len(CodeChunker().split(part)) == 1
    alone = CodeChunker(small=0)
    texts = [part.text[piece.start : piece.end] for piece in alone.split(part)]
    assert texts == ["def one():\n    return 1", "def two():\n    return 2"]
    assert alone.options == {"tokens": 512, "small": 0} and CodeChunker().options == {"tokens": 512}


def test_a_long_function_is_cut_between_lines_under_its_signature(parse) -> None:
    source = "def long(value):\n" + "    value = compute(value, 1)\n" * 200
    [part] = parse("a.py", source.encode()).parts
    pieces = CodeChunker(tokens=128).split(part)
    assert len(pieces) > 5
    assert pieces[0].prefix == ""
    assert all(piece.prefix == "def long(value):" for piece in pieces[1:])
    assert all(part.text[piece.start : piece.end].endswith(")") for piece in pieces[1:])
