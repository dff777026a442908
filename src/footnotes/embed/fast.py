"""The fast variant of local weights: int8 matrices, quantised per channel and multiplied as integers.

It is built once from the installed weights and cached with its hash. A vector takes about 0.65 of the time and differs
slightly: its cosine with the vector of the shipped weights is .998 (docs/benchmarks.md). Channels multiplied as
integers share one range, so a few large channels cost all others precision. Two steps prevent this. Channels are
equalised before attention and before a layer widens, and the weights undo it (Xiao et al., "SmoothQuant", ICML 2023,
with α = ½). Where the first layers narrow again, the worst case, weights are not quantised.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footnotes.embed.files import ModelFiles, read_weights
from footnotes.errors import MissingExtra

VERSION = 2
"""Raise this number when the same weights give different output: the vectors are no longer comparable."""


_PROBES, _PROBE_TOKENS, _VOCABULARY = 24, 64, (1_000, 30_000)
"""Number and length of random token texts that measure channels: they give the same sizes as real texts."""


def fast_weights(files: ModelFiles, models_dir: Path) -> bytes:
    """Return the fast variant of a model's weights. A cached copy is checked before use."""
    weights = read_weights(files)
    path = models_dir / "fast" / f"{hashlib.sha256(weights).hexdigest()[:16]}-{VERSION}.onnx"
    if (cached := _load_cached(path)) is not None:
        return cached
    content = _build(weights)
    with suppress(OSError):  # without a writable cache, every start builds it
        _keep(path, content)
    return content


def _load_cached(path: Path) -> bytes | None:
    with suppress(OSError):
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() == path.with_suffix(".sha256").read_text():
            return content
    return None


def _keep(path: Path, content: bytes) -> None:
    """Write to the cache. Safe between processes: each file is replaced atomically, and all write the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for target, data in ((path, content), (path.with_suffix(".sha256"), hashlib.sha256(content).hexdigest().encode())):
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(target)


def _build(weights: bytes) -> bytes:
    try:
        import onnx
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ImportError as error:
        raise MissingExtra(
            'embedder_variant = "fast" needs onnx to make its weights', remedy="pip install 'footnotes[fast]'"
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        plain, small = Path(folder) / "plain.onnx", Path(folder) / "small.onnx"
        _unpack(weights, plain)
        model = onnx.load(plain)
        narrowing = _smooth(model)
        onnx.helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})  # `_unpack` did this
        # Seven bits: with eight, products overflow on processors without VNNI.
        options = {"per_channel": True, "reduce_range": True, "weight_type": QuantType.QInt8}
        half = narrowing[: len(narrowing) // 2]
        quantize_dynamic(model, small, op_types_to_quantize=["MatMul"], nodes_to_exclude=half, **options)
        return small.read_bytes()


def _smooth(model: Any) -> list[str]:
    """Equalise channels before multiplications. Return the narrowing products, first to last; they are not changed."""
    from onnx import helper, numpy_helper

    constants = {each.name: each for each in model.graph.initializer}
    products = [node for node in model.graph.node if node.op_type == "MatMul" and node.input[1] in constants]
    weights = {node.name: numpy_helper.to_array(constants[node.input[1]]) for node in products}
    narrowing = [node.name for node in products if weights[node.name].shape[0] > weights[node.name].shape[1]]
    inputs: dict[str, list[Any]] = {}
    for node in products:
        if node.name not in narrowing:
            inputs.setdefault(node.input[0], []).append(node)
    largest = _largest_by_channel(model, list(inputs))
    for name, nodes in inputs.items():
        of_weights = np.max([np.abs(weights[node.name]).max(axis=1) for node in nodes], axis=0)
        scale = np.sqrt(np.maximum(largest[name], 1e-5) / np.maximum(of_weights, 1e-5)).astype(np.float32)
        place = min(at for at, node in enumerate(model.graph.node) if node in nodes)
        model.graph.node.insert(place, helper.make_node("Mul", [name, f"{name}_scale"], [f"{name}_smooth"]))
        model.graph.initializer.append(numpy_helper.from_array(1 / scale, f"{name}_scale"))
        for node in nodes:
            scaled = numpy_helper.from_array(weights[node.name] * scale[:, None], f"{node.name}_smooth")
            model.graph.initializer.append(scaled)
            node.input[:] = [f"{name}_smooth", scaled.name]
    return narrowing


def _largest_by_channel(model: object, names: list[str]) -> dict[str, NDArray[np.float32]]:
    """Run the model and return the largest value in each channel of some of its tensors."""
    import onnx
    import onnxruntime

    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    probe.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
    session = onnxruntime.InferenceSession(probe.SerializeToString(), providers=["CPUExecutionProvider"])
    rng, found = np.random.default_rng(0), dict[str, NDArray[np.float32]]()
    for _ in range(_PROBES):
        tokens = rng.integers(*_VOCABULARY, (1, _PROBE_TOKENS))
        inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        feed = {each.name: inputs[each.name] for each in session.get_inputs()}
        for name, values in zip(names, session.run(names, feed), strict=True):
            largest = np.abs(values).reshape(-1, values.shape[-1]).max(axis=0)
            found[name] = np.maximum(found.get(name, largest), largest)
    return found


def _unpack(weights: bytes, path: Path) -> None:
    """Write the model with all constants computed: packed weights become plain ones, to be quantised again."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
