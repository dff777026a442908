"""MiniLM's weights in a graph of our own, multiplied as integers where the processor does so without overflow.

A vector takes 0.4 of the time it takes as shipped and has a cosine of .9995 with it (docs/decisions/0019). Each row of
a product, a token, has a scale of its own, so that a text's vector does not depend on the texts beside it. Channels are
equalised before attention and before a layer widens (Xiao et al., "SmoothQuant", ICML 2023, with α = ½). The weights
of all other products are the shipped integers, unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from footnotes.embed.files import channel_sizes, read_weights
from footnotes.embed.protobuf import FLOAT, OWN_OPERATORS, Graph, Node, Tensor, read_graph

Floats = NDArray[np.float32]
OUTPUT, TOKENS, MASK = "last_hidden_state", "input_ids", "attention_mask"
_HEAD = 32
"""Dimensions of an attention head."""
_EPSILON = 1e-12
_LEAST_GELU = -0.17
"""GELU is nowhere lower (rounded)."""
_ABOVE_GELU = 32
"""The integer of zero for GELU's output: what is below it is enough for the few negative values."""
_MASKED = -10_000.0
_ROLES = {
    "query": r"(attention\.self\.)?query",
    "key": r"(attention\.self\.)?key",
    "value": r"(attention\.self\.)?value",
    "out": r"(attention\.output\.dense|out)",
    "widen": r"(intermediate\.dense|inner)",
    "narrow": r"(output\.dense|outer)",
}
"""The names that files give to the biases of a layer."""


@dataclass(frozen=True, slots=True)
class Dense:
    """A product with a matrix (inputs, outputs) and an added bias."""

    matrix: Floats
    bias: Floats


@dataclass(frozen=True, slots=True)
class Norm:
    gain: Floats
    bias: Floats


@dataclass(frozen=True, slots=True)
class Bert:
    """The weights of a BERT encoder. Norms are in order: that of the words, then two a layer."""

    words: NDArray[np.int8]
    word_scales: Floats
    places: Floats
    layers: tuple[dict[str, Dense], ...]
    norms: tuple[Norm, ...]


def rebuild(weights: bytes, channels: Floats | None) -> bytes:
    """Return the model of a packaged file as a graph of our own.

    With `channels`, the largest value of each channel after each norm but the last, it multiplies as integers.
    """
    return _build(_read(weights), channels)


def load_channels() -> Floats:
    """Return the channels of MiniLM, measured by scripts/measure_channels.py."""
    return np.asarray(np.load(BytesIO(read_weights(channel_sizes())), allow_pickle=False), np.float32)


@cache
def multiplies_exactly() -> bool:
    """Return whether products of unsigned and signed bytes are exact here.

    Without VNNI, x86 adds two of them in 16 bits, which overflow. Asking onnxruntime asks for the code that will run.
    """
    import onnxruntime

    graph, depth = Graph(), 256
    graph.constant("matrix", np.full((depth, 16), 127, np.int8))
    graph.constant("step", 1.0)
    graph.constant("zero", np.zeros((), np.uint8))
    graph.add("Cast", [TOKENS], "values", to=FLOAT)
    graph.add("QuantizeLinear", ["values", "step", "zero"], "bytes")
    graph.add("MatMulInteger", ["bytes", "matrix"], "products")
    graph.add("Cast", ["products"], "floats", to=FLOAT)
    graph.constant("front", [0])
    graph.add("Unsqueeze", ["floats", "front"], OUTPUT)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph.to_model([TOKENS], OUTPUT), options, ["CPUExecutionProvider"])
    (found,) = session.run(None, {TOKENS: np.full((16, depth), 255, np.int64)})
    return bool((found == 255 * 127 * depth).all())


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────


def _read(weights: bytes) -> Bert:
    nodes, constants = read_graph(weights)
    packed = _packed(nodes, constants)
    makers = {output: node for node in nodes for output in node.outputs}
    layers: dict[int, dict[str, Dense]] = {}
    for node in nodes:
        for bias in node.inputs if node.operator == "Add" else ():
            if (found := _role(bias)) and bias in constants:
                product = makers[next(each for each in node.inputs if each != bias)]
                dense = Dense(_unpacked(*packed[product.inputs[1]]), _floats(constants[bias]))
                layers.setdefault(found[0], {})[found[1]] = dense
    norms = [node.inputs[1:3] for node in nodes if node.operator == "LayerNormalization"]
    words, scales = next(packed[name] for name in packed if re.search(r"\bword(s|_embeddings)\.weight$", name))
    places = next(packed[name] for name in packed if re.search(r"\b(places|position_embeddings)\.weight$", name))
    types = next(constants[name] for name in constants if re.search(r"\b(types|token_type_embeddings)\.weight$", name))
    return Bert(
        np.asarray(words, np.int8),
        _floats(scales).reshape(-1, 1),
        _unpacked(*places) + _floats(types)[0],
        tuple(layers[number] for number in sorted(layers) if layers[number].keys() == _ROLES.keys()),
        tuple(Norm(_floats(constants[gain]), _floats(constants[bias])) for gain, bias in norms),
    )


def _role(name: str) -> tuple[int, str] | None:
    """Return the layer and role that a bias is named for."""
    if not (found := re.search(r"\blayers?\.(\d+)\.(.+)\.bias$", name)):
        return None
    return next(
        ((int(found[1]), role) for role, pattern in _ROLES.items() if re.fullmatch(pattern, found[2])),
        None,
    )


def _packed(nodes: Sequence[Node], constants: dict[str, Tensor]) -> dict[str, tuple[Tensor, Tensor]]:
    """Return integers and scales by the name of the floats that the file makes of them."""
    casts = {node.outputs[0]: node.inputs[0] for node in nodes if node.operator == "Cast"}
    found = {}
    for node in nodes:
        if node.operator in ("Mul", "DequantizeLinear") and len(node.inputs) == 2:
            integers, scale = casts.get(node.inputs[0], node.inputs[0]), node.inputs[1]
            if integers in constants and scale in constants and constants[integers].dtype == np.int8:
                found[node.outputs[0]] = (constants[integers], constants[scale])
    return found


def _unpacked(integers: Tensor, scales: Tensor) -> Floats:
    """Return the floats: a scale belongs to a column of a matrix, or to a row of a table that has one for each."""
    if scales.ndim == 1:
        scales = scales.reshape((-1, 1) if len(scales) == len(integers) != integers.shape[1] else (1, -1))
    return _floats(integers) * _floats(scales)


def _floats(values: Tensor) -> Floats:
    return np.asarray(values, np.float32)


# ── building ──────────────────────────────────────────────────────────────────────────────────────────────────


def _build(bert: Bert, channels: Floats | None) -> bytes:
    builder = _Builder(Graph(), integers=channels is not None)
    hidden, sizes = builder.embed(bert), [None] * 2 * len(bert.layers) if channels is None else list(channels)
    for number, layer in enumerate(bert.layers):
        first, second = 2 * number, 2 * number + 1
        context = builder.attend(hidden, layer, sizes[first], f"layer{number}")
        hidden = builder.add_norm(context, hidden, bert.norms[first + 1], _norm_name(first + 1, bert))
        wide = builder.gelu(hidden, layer["widen"], sizes[second], f"layer{number}_widen")
        narrow = builder.dense(wide, layer["narrow"], f"layer{number}_narrow", zero=_ABOVE_GELU)
        hidden = builder.add_norm(narrow, hidden, bert.norms[second + 1], _norm_name(second + 1, bert))
    return builder.graph.to_model([TOKENS, MASK], OUTPUT)


def _norm_name(number: int, bert: Bert) -> str:
    return OUTPUT if number == 2 * len(bert.layers) else f"norm{number}"


@dataclass(frozen=True, slots=True)
class _Builder:
    """Appends the parts of BERT to a graph."""

    graph: Graph
    integers: bool

    def embed(self, bert: Bert) -> str:
        """Words, places and the mask, which is added to attention."""
        graph = self.graph
        graph.constant("words", bert.words)
        graph.constant("word_scales", bert.word_scales)
        graph.constant("places", bert.places)
        for name, values in (("zero", [0]), ("one", [1]), ("two", [2]), ("places_of_mask", [1, 2])):
            graph.constant(name, values)
        graph.add("Cast", [graph.add("Gather", ["words", TOKENS], "word_integers")], "word_floats", to=FLOAT)
        graph.add("Mul", ["word_floats", graph.add("Gather", ["word_scales", TOKENS], "word_scale")], "word")
        graph.add("Slice", [graph.add("Shape", [TOKENS], "shape"), "one", "two"], "length")
        graph.add("Add", ["word", graph.add("Slice", ["places", "zero", "length", "zero"], "place")], "embedded")
        graph.add("Sub", [graph.add("Cast", [MASK], "mask", to=FLOAT), graph.constant("float_one", 1.0)], "unmasked")
        graph.add("Mul", ["unmasked", graph.constant("masked", -_MASKED)], "masked_tokens")
        graph.add("Unsqueeze", ["masked_tokens", "places_of_mask"], "attention_bias")
        return self.norm("embedded", bert.norms[0], _norm_name(0, bert))

    def norm(self, name: str, norm: Norm, output: str) -> str:
        gain, bias = (
            self.graph.constant(f"{output}_gain", norm.gain),
            self.graph.constant(f"{output}_bias", norm.bias),
        )
        return self.graph.add("LayerNormalization", [name, gain, bias], output, axis=-1, epsilon=_EPSILON)

    def add_norm(self, name: str, residual: str, norm: Norm, output: str) -> str:
        return self.norm(self.graph.add("Add", [name, residual], f"{output}_sum"), norm, output)

    def attend(self, hidden: str, layer: dict[str, Dense], channels: Floats | None, name: str) -> str:
        """Attention of all heads (Vaswani et al., NeurIPS 2017), with one product for queries, keys and values."""
        graph, width = self.graph, len(layer["query"].bias)
        scale, heads = np.float32(_HEAD**-0.5), width // _HEAD
        parts = [Dense(layer["query"].matrix * scale, layer["query"].bias * scale), layer["key"], layer["value"]]
        joined = Dense(
            np.concatenate([each.matrix for each in parts], axis=1), np.concatenate([each.bias for each in parts])
        )
        joined_name = self.dense(hidden, joined, f"{name}_joined", channels=channels)
        graph.add("Reshape", [joined_name, graph.constant("of_heads", [0, 0, 3, heads, _HEAD])], f"{name}_heads")
        graph.add("Transpose", [f"{name}_heads"], f"{name}_parts", perm=[2, 0, 3, 1, 4])
        singles = [f"{name}_{part}" for part in ("query", "key", "value")]
        graph.add_many("Split", [f"{name}_parts"], [f"{each}_part" for each in singles], axis=0, num_outputs=3)
        for each in singles:
            graph.add("Squeeze", [f"{each}_part", "zero"], each)
        graph.add("FusedMatMul", singles[:2], f"{name}_scores", domain=OWN_OPERATORS, transB=1)
        graph.add("Add", [f"{name}_scores", "attention_bias"], f"{name}_masked")
        graph.add(
            "MatMul",
            [graph.add("Softmax", [f"{name}_masked"], f"{name}_shares", axis=-1), singles[2]],
            f"{name}_by_head",
        )
        graph.add("Transpose", [f"{name}_by_head"], f"{name}_by_token", perm=[0, 2, 1, 3])
        graph.add("Reshape", [f"{name}_by_token", graph.constant("of_tokens", [0, 0, width])], f"{name}_context")
        return self.dense(f"{name}_context", layer["out"], f"{name}_attention")

    def gelu(self, hidden: str, dense: Dense, channels: Floats | None, name: str) -> str:
        product = self.product(hidden, dense.matrix, name, channels=channels)
        bias = self.graph.constant(f"{name}_bias", dense.bias)
        return self.graph.add("BiasGelu", [product, bias], f"{name}_gelu", domain=OWN_OPERATORS)

    def dense(self, hidden: str, dense: Dense, name: str, *, channels: Floats | None = None, zero: int = 128) -> str:
        product = self.product(hidden, dense.matrix, name, channels=channels, zero=zero)
        return self.graph.add("Add", [product, self.graph.constant(f"{name}_bias", dense.bias)], f"{name}_sum")

    def product(
        self, hidden: str, matrix: Floats, name: str, *, channels: Floats | None = None, zero: int = 128
    ) -> str:
        """Multiply by a matrix. Equalise the channels whose sizes are given; `zero` is the integer of zero."""
        graph = self.graph
        if not self.integers:
            return graph.add("MatMul", [hidden, graph.constant(f"{name}_matrix", matrix)], f"{name}_product")
        if channels is not None:
            shares = np.abs(matrix / np.maximum(np.abs(matrix).max(axis=0), 1e-12)).max(axis=1)
            equal = np.sqrt(np.maximum(channels, 1e-5) / np.maximum(shares, 1e-5)).astype(np.float32)
            hidden = graph.add("Mul", [hidden, graph.constant(f"{name}_equal", 1 / equal)], f"{name}_equalised")
            matrix = matrix * equal[:, None]
        steps = np.maximum(np.abs(matrix).max(axis=0), 1e-12) / 127
        whole = np.rint(matrix / steps).astype(np.int8)
        graph.constant(f"{name}_matrix", whole)
        graph.constant(f"{name}_steps", steps.astype(np.float32))
        graph.constant(f"{name}_zeros", np.zeros(matrix.shape[1], np.int8))
        scaled, largest_name = self._scale_rows(hidden, name, zero)
        point, unit = graph.constant(f"zero_{zero}", np.array(zero, np.uint8)), graph.constant("unit", 1.0)
        graph.add("QuantizeLinear", [scaled, unit, point], f"{name}_bytes")
        inputs = [f"{name}_bytes", f"{name}_matrix", unit, f"{name}_steps", point, f"{name}_zeros"]
        graph.add("MatMulIntegerToFloat", inputs, f"{name}_scaled_product", domain=OWN_OPERATORS)
        back = graph.constant(f"back_{zero}", 1 / (255 - zero))
        graph.add("Mul", [largest_name, back], f"{name}_row_steps")
        return graph.add("Mul", [f"{name}_scaled_product", f"{name}_row_steps"], f"{name}_product")

    def _scale_rows(self, hidden: str, name: str, zero: int) -> tuple[str, str]:
        """Return the rows scaled to the range of a byte, and each row's largest value."""
        graph, positive = self.graph, zero == _ABOVE_GELU
        values = hidden if positive else graph.add("Abs", [hidden], f"{name}_sizes")
        graph.add("ReduceMax", [values, graph.constant("last", [-1])], f"{name}_row_largest", keepdims=1)
        least = -_LEAST_GELU * (255 - zero) / zero if positive else 1e-8
        largest = graph.add("Max", [f"{name}_row_largest", graph.constant(f"least_{zero}", least)], f"{name}_largest")
        graph.add("Div", [graph.constant(f"most_{zero}", float(255 - zero)), largest], f"{name}_row_scale")
        return graph.add("Mul", [hidden, f"{name}_row_scale"], f"{name}_scaled"), largest
