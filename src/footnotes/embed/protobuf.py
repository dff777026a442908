"""Reads and writes the parts of ONNX files that BERT needs, without the package `onnx`: wire format and a graph."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Tensor = NDArray[np.generic]
Value = int | float | Sequence[int]
INT8, INT32, INT64, FLOAT, UINT8 = 3, 6, 7, 1, 2
_TYPES: Mapping[int, np.dtype[np.generic]] = {
    FLOAT: np.dtype("<f4"),
    UINT8: np.dtype("u1"),
    INT8: np.dtype("i1"),
    INT32: np.dtype("<i4"),
    INT64: np.dtype("<i8"),
}
_CODES = {dtype: code for code, dtype in _TYPES.items()}
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
OWN_OPERATORS = "com.microsoft"
"""The domain of onnxruntime's own operators."""


@dataclass(frozen=True, slots=True)
class Node:
    """An operation of a graph."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(slots=True)
class Graph:
    """A graph that is being built: operations in order, and constants by name."""

    nodes: list[bytes] = field(default_factory=list)
    constants: dict[str, bytes] = field(default_factory=dict)

    def add(self, operator: str, inputs: Sequence[str], output: str, *, domain: str = "", **attributes: Value) -> str:
        """Append an operation with one output and return the output's name."""
        self.add_many(operator, inputs, [output], domain=domain, **attributes)
        return output

    def add_many(
        self, operator: str, inputs: Sequence[str], outputs: Sequence[str], *, domain: str = "", **attributes: Value
    ) -> None:
        """Append an operation."""
        parts = [_text(1, each) for each in inputs] + [_text(2, each) for each in outputs] + [_text(4, operator)]
        parts += [_block(5, _attribute(name, value)) for name, value in attributes.items()]
        self.nodes.append(b"".join(parts) + (_text(7, domain) if domain else b""))

    def constant(self, name: str, values: Tensor | Sequence[int] | float) -> str:
        """Add a constant and return its name. Floats are kept in 32 bits."""
        array = np.asarray(values)
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        parts = [_number(1, size) for size in array.shape]
        parts += [_number(2, _CODES[array.dtype]), _text(8, name), _block(9, array.tobytes())]
        self.constants[name] = b"".join(parts)
        return name

    def to_model(self, inputs: Sequence[str], output: str) -> bytes:
        """Return the file of a model with inputs of integers, (texts, tokens) each, and one output of floats."""
        graph = b"".join(
            [_block(1, node) for node in self.nodes]
            + [_text(2, "footnotes")]
            + [_block(5, tensor) for tensor in self.constants.values()]
            + [_block(11, _described(name, INT64, 2)) for name in inputs]
            + [_block(12, _described(output, FLOAT, 3))]
        )
        versions = [_text(1, name) + _number(2, version) for name, version in (("", 18), (OWN_OPERATORS, 1))]
        return _number(1, 8) + _block(7, graph) + b"".join(_block(8, each) for each in versions)


def read_graph(model: bytes) -> tuple[list[Node], dict[str, Tensor]]:
    """Return the operations of a model's file, in order, and its constants by name."""
    graph = next(bytes(value) for number, value in _fields(model) if number == 7 and not isinstance(value, int))
    nodes, constants = [], {}
    for number, value in _fields(graph):
        if isinstance(value, int):
            continue
        if number == 1:
            nodes.append(_read_node(value))
        elif number == 5:
            name, tensor = _read_tensor(value)
            constants[name] = tensor
    return nodes, constants


def _read_node(content: memoryview) -> Node:
    texts: dict[int, list[str]] = {1: [], 2: [], 4: []}
    for number, value in _fields(content):
        if number in texts and not isinstance(value, int):
            texts[number].append(str(value, "utf-8"))
    return Node("".join(texts[4]), tuple(texts[1]), tuple(texts[2]))


def _read_tensor(content: memoryview) -> tuple[str, Tensor]:
    shape: list[int] = []
    dtype, name, raw = _TYPES[FLOAT], "", memoryview(b"")
    for number, value in _fields(content):
        if isinstance(value, int):
            if number == 1:
                shape.append(value)
            elif number == 2:
                dtype = _TYPES.get(value, _TYPES[UINT8])
        elif number == 1:
            shape.extend(_varints(value))
        elif number == 8:
            name = str(value, "utf-8")
        elif number == 9:
            raw = value
    fits = len(raw) == dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    return name, np.frombuffer(raw, dtype).reshape(shape) if fits else np.zeros(0, np.float32)


# ── the wire format: https://protobuf.dev/programming-guides/encoding/ ────────────────────────────────────────


def _fields(content: bytes | memoryview) -> Iterator[tuple[int, int | memoryview]]:
    view, at = memoryview(content), 0
    while at < len(view):
        key, at = _varint(view, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(view, at)
            yield key >> 3, value
            continue
        if kind not in (_FIXED64, _BYTES, _FIXED32):
            raise ValueError(f"no protobuf: field of kind {kind}")
        size, at = _varint(view, at) if kind == _BYTES else (8 if kind == _FIXED64 else 4, at)
        yield key >> 3, view[at : at + size]
        at += size


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = view[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _varints(view: memoryview) -> Iterator[int]:
    at = 0
    while at < len(view):
        value, at = _varint(view, at)
        yield value


def _encoded(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are written as 64 bits
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _number(field_number: int, value: int) -> bytes:
    return _encoded(field_number << 3 | _VARINT) + _encoded(value)


def _block(field_number: int, content: bytes) -> bytes:
    return _encoded(field_number << 3 | _BYTES) + _encoded(len(content)) + content


def _text(field_number: int, text: str) -> bytes:
    return _block(field_number, text.encode())


def _attribute(name: str, value: Value) -> bytes:
    kinds = {float: 1, int: 2}
    if isinstance(value, float):
        content = _encoded(2 << 3 | _FIXED32) + struct.pack("<f", value)
    elif isinstance(value, int):
        content = _number(3, value)
    else:
        content = b"".join(_number(8, each) for each in value)
    return _text(1, name) + content + _number(20, kinds.get(type(value), 7))


def _described(name: str, code: int, rank: int) -> bytes:
    """The name, type and rank of an input or output; any size is allowed."""
    shape = b"".join(_block(1, _text(2, f"{name}_{place}")) for place in range(rank))
    return _text(1, name) + _block(2, _block(1, _number(1, code) + _block(2, shape)))
