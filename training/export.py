"""Trained weights → an int8 model for onnxruntime.

    python training/export.py verifier.pt --task verifier --out ../src/footnotes/answer/data/verifier.onnx

Weights are quantised a channel at a time, the table of words too. The activations are quantised by the largest of
each run, so that texts must run one at a time: padding and neighbours would change what is said of them, by up to
0.2 of a probability. Single precision with int8 weights is no better and takes twice the time. The last line is the
file's sha256.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor
from encoder import AnswerModel, load_base
from onnxruntime.quantization import QuantType, quantize_dynamic
from train import OUTPUTS

NAMES = ("ids", "types", "attended", "read")


def export(model: AnswerModel, path: Path) -> None:
    ids = torch.randint(1000, 2000, (2, 12))
    ones = torch.ones_like(ids)
    example = (ids, torch.zeros_like(ids), ones, torch.zeros(2, 3, dtype=torch.long))
    axes = {name: {0: "batch", 1: "tokens" if name != "read" else "marks"} for name in NAMES}
    torch.onnx.export(
        model, example, str(path), input_names=list(NAMES), output_names=["logits"],
        dynamic_axes=axes | {"logits": {0: "batch", 1: "marks"}}, opset_version=17, dynamo=False,
    )  # fmt: skip


def count_layers(weights: Mapping[str, Tensor]) -> int:
    return 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))


def mix(model: AnswerModel, other: Path, share: float) -> None:
    """Every weight becomes the mean with that of another model, which has so much of it."""
    second = AnswerModel(model.head[-1].out_features, len(model.layers))
    load_base(second, other)
    theirs = second.state_dict()
    model.load_state_dict(
        {name: (1 - share) * each + share * theirs[name] for name, each in model.state_dict().items()}
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--task", choices=tuple(OUTPUTS), required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--mean-with", type=Path, help="other weights, of which the result has `--share`")
    parser.add_argument("--share", type=float, default=0.4)
    options = parser.parse_args()
    weights = torch.load(options.weights, weights_only=True)
    model = AnswerModel(OUTPUTS[options.task], count_layers(weights))
    model.load_state_dict(weights)
    if options.mean_with:
        mix(model, options.mean_with, options.share)
    model.eval()
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.onnx"
        export(model, plain)
        quantize_dynamic(
            plain,
            options.out,
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["MatMul", "Gemm", "Gather"],
        )
    print(options.out.stat().st_size, hashlib.sha256(options.out.read_bytes()).hexdigest())


if __name__ == "__main__":
    main()
