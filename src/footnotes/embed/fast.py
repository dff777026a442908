"""The fast variant of local weights: matrices in int8, channel by channel, multiplied as whole numbers.

Made once from the weights that are installed, and kept with its hash. A vector takes about 0.6 of the time, and is not
quite the same: a cosine of .993 with that of the weights as shipped (docs/benchmarks.md).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from footnotes.embed.files import ModelFiles, read_weights
from footnotes.errors import MissingExtra

VERSION = 1
"""Raise when the same weights are made into others: vectors are then not comparable any more."""


def fast_weights(files: ModelFiles, models_dir: Path) -> bytes:
    """The fast variant of a model's weights; what is kept of it is checked before it is used."""
    weights = read_weights(files)
    path = models_dir / "fast" / f"{hashlib.sha256(weights).hexdigest()[:16]}-{VERSION}.onnx"
    if (kept := _load_cached(path)) is not None:
        return kept
    made = _build(weights)
    with suppress(OSError):  # where nothing may be kept it is made each time
        _keep(path, made)
    return made


def _load_cached(path: Path) -> bytes | None:
    with suppress(OSError):
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() == path.with_suffix(".sha256").read_text():
            return content
    return None


def _keep(path: Path, content: bytes) -> None:
    """Another process may do the same: each file is replaced at once, and both write the same."""
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
        onnx.helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})  # it was: see `_unpack`
        # Seven bits: with eight, products of processors without VNNI overflow.
        options = {"per_channel": True, "reduce_range": True, "weight_type": QuantType.QInt8}
        quantize_dynamic(model, small, op_types_to_quantize=["MatMul"], **options)
        return small.read_bytes()


def _unpack(weights: bytes, path: Path) -> None:
    """Write the model with all that is constant computed: packed weights become plain ones, to be packed anew."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
