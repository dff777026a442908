"""Source code by function and class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from footnotes.chunk.options import LEAST_TOKENS, MOST_TOKENS, Bounds, check_options
from footnotes.chunk.packing import Atom, Measured, pack
from footnotes.chunk.rules import paragraph_atoms
from footnotes.chunk.segments import Segment, segments
from footnotes.types import JsonValue, Metadata, Part, Piece

SMALL_SHARE = 8
"""A chunk under an eighth of the size is small: the next definition may join it."""
_MOST_NAMES = 100


class CodeChunker:
    """One chunk of whole lines for each function or class; a longer one is cut between its statements.

    The prefix names the enclosing definitions, with signatures and the first words of their documentation. Metadata:
    `language`, and the `symbols` and `entry_points` that begin in the chunk. Text that is not code is cut like
    paragraphs. A definition of fewer than `small` tokens shares its chunk with the next one; with `small=0` each has
    its own chunk.
    """

    name: ClassVar[str] = "code"
    version: ClassVar[int] = 2
    bounds: ClassVar[Bounds] = {"tokens": (LEAST_TOKENS, MOST_TOKENS), "small": (0, MOST_TOKENS)}

    def __init__(self, *, tokens: int = 512, small: int | None = None) -> None:
        chosen = {"tokens": tokens} if small is None else {"tokens": tokens, "small": small}
        self._options = check_options(self.name, self.bounds, chosen)
        self._tokens = tokens
        self._small = tokens // SMALL_SHARE if small is None else small

    @property
    def options(self) -> Metadata:
        return dict(self._options)

    def split(self, part: Part) -> list[Piece]:
        measured = Measured(part.text)
        found = segments(part)
        atoms = _whole_lines(measured, self._atoms(measured, found), self._tokens)
        spans = pack(measured, atoms, limit=self._tokens, overlap=0, small=self._small)
        pieces: list[Piece] = []
        first = 0
        for start, end, tokens in spans:
            while found[first].end <= start:
                first += 1
            covered = _covered(found, first, end)
            prefix, metadata = _prefix(covered[0], start), _metadata(covered, start, end)
            pieces.append(Piece(part.start + start, part.start + end, prefix, metadata, tokens))
        return pieces

    def _atoms(self, measured: Measured, found: list[Segment]) -> Iterator[Atom]:
        for segment in found:
            defines = "signature" in segment.block.attributes
            for index, atom in enumerate(statement_atoms(measured, segment, self._tokens)):
                yield Atom(atom.start, atom.end, atom.opens_section or (defines and index == 0))


def statement_atoms(measured: Measured, segment: Segment, limit: int) -> Iterator[Atom]:
    """Yield a segment whole if it fits, else its statements, recursively, and lines if there are no statements."""
    yield from _split(measured, segment, list(_cuts(segment)), 0, limit)


def _cuts(segment: Segment) -> Iterator[tuple[int, int]]:
    """Yield the statements that the parser found: offset and depth."""
    raw = segment.block.attributes.get("cuts")
    for each in raw if isinstance(raw, list) else ():
        match each:
            case [int(at), int(depth)]:
                yield segment.start + at, depth


def _split(measured: Measured, segment: Segment, cuts: list[tuple[int, int]], depth: int, limit: int) -> Iterator[Atom]:
    """Cut a segment at the statements of one depth; cut pieces that are still too long at deeper statements."""
    start, end = segment.start, segment.end
    if not cuts or not measured.exceeds(start, end, limit):
        yield from paragraph_atoms(measured, [segment], limit)
        return
    here = [at for at, level in cuts if level == depth and start < at < end]
    for low, high in zip([start, *here], [*here, end], strict=True):
        bare = measured.text[low:high].rstrip()
        inner = [(at, level) for at, level in cuts if level > depth and low < at < high]
        if bare:
            yield from _split(measured, Segment(low, low + len(bare), segment.block), inner, depth + 1, limit)


def _whole_lines(measured: Measured, atoms: Iterator[Atom], limit: int) -> Iterator[Atom]:
    """Join an atom that begins inside a line to the one before it, if both fit."""
    held: Atom | None = None
    for atom in atoms:
        begin = measured.text.rfind("\n", 0, atom.start) + 1
        inside = bool(measured.text[begin : atom.start].strip())
        if held is not None and inside and not measured.exceeds(held.start, atom.end, limit):
            held = Atom(held.start, atom.end, held.opens_section)
            continue
        if held is not None:
            yield held
        held = atom
    if held is not None:
        yield held


def _covered(found: list[Segment], first: int, end: int) -> list[Segment]:
    last = first
    while last + 1 < len(found) and found[last + 1].start < end:
        last += 1
    return found[first : last + 1]


def _prefix(segment: Segment, start: int) -> str:
    """Return the enclosing definitions, and the head of a definition if the chunk begins inside it."""
    attributes = segment.block.attributes
    inside = start > segment.start
    lines = [attributes.get("enclosing"), *(attributes.get(key) for key in ("signature", "saying") if inside)]
    return "\n".join(str(line) for line in lines if line)


def _metadata(covered: list[Segment], start: int, end: int) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for key in ("symbols", "entry_points"):
        names = dict.fromkeys(name for segment in covered for name in _names_within(segment, key, start, end))
        if names:
            found[key] = [*list(names)[:_MOST_NAMES]]
    language = covered[0].block.attributes.get("language")
    if language:
        found["language"] = language
    return found


def _names_within(segment: Segment, key: str, start: int, end: int) -> Iterator[str]:
    """Yield the block's names that begin in a span. Without positions, all of them belong to its beginning."""
    names, places = segment.block.attributes.get(key), segment.block.attributes.get(f"{key}_at")
    if not isinstance(names, list):
        return
    known = (
        places
        if isinstance(places, list) and len(places) == len(names)
        else [max(start - segment.start, 0)] * len(names)
    )
    for name, at in zip(names, known, strict=True):
        if isinstance(name, str) and isinstance(at, int) and start <= segment.start + at < end:
            yield name
