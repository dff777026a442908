"""Taught weights, mixed with those they came from → the int8 model that reads code.

    python training/code/export.py code.pt --base …/model.safetensors --out src/footnotes/embed/data/minilm-code.onnx

A mean with the original keeps what it knew (Wortsman et al., "Robust fine-tuning of zero-shot models", CVPR 2022): alone
the taught weights find functions by a docstring better, and by what people type worse than before. Matrices are kept in
eight bits a channel and computed with in single precision, so that no text changes the vector of another in its batch.
Prints size and sha256.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch import Tensor, nn
from train import CodeModel, load_base

TABLES, SMALL = (30522, 512), 2_000
"""Rows of the tables of words and places, whose channels are rows; what is smaller is not packed."""
NAMES = ("input_ids", "token_type_ids", "attention_mask")


class States(nn.Module):
    """The states of the tokens, which are pooled as those of the original are."""

    def __init__(self, model: CodeModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.model.states(input_ids, token_type_ids, attention_mask)


def mixed(taught: Path, base: Path, share: float) -> CodeModel:
    """A model of which `share` was taught."""
    model = CodeModel()
    load_base(model, base)
    weights = torch.load(taught, weights_only=True)
    state = {name: (1 - share) * each + share * weights[name] for name, each in model.state_dict().items()}
    model.load_state_dict({name: each for name, each in state.items() if not name.startswith("head")}, strict=False)
    return model.eval()


def packed(graph: onnx.GraphProto) -> None:
    """Put every matrix of a graph as int8 with a scale a channel, unpacked when the model is loaded."""
    kept, unpacked = [], []
    for each in graph.initializer:
        plain = numpy_helper.to_array(each)
        if plain.ndim != 2 or plain.size < SMALL:
            kept.append(each)
            continue
        axis = 0 if plain.shape[0] in TABLES else 1
        scale = np.maximum(np.abs(plain).max(axis=1 - axis, keepdims=True), 1e-12).astype(np.float32) / 127
        names = [f"{each.name}_int8", f"{each.name}_scale"]
        values = (np.round(plain / scale).astype(np.int8), scale.reshape(-1))
        kept += [numpy_helper.from_array(value, name) for value, name in zip(values, names, strict=True)]
        unpacked.append(
            helper.make_node("DequantizeLinear", names, [each.name], name=f"{each.name}_unpacked", axis=axis)
        )
    nodes = [*unpacked, *graph.node]
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend(nodes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--share", type=float, default=0.25)
    options = parser.parse_args()
    ids = torch.randint(1000, 2000, (2, 12))
    axes = {name: {0: "batch", 1: "tokens"} for name in (*NAMES, "last_hidden_state")}
    with tempfile.TemporaryDirectory() as folder:
        plain = str(Path(folder) / "plain.onnx")
        torch.onnx.export(
            States(mixed(options.weights, options.base, options.share)),
            (ids, torch.zeros_like(ids), torch.ones_like(ids)),
            plain,
            input_names=list(NAMES),
            output_names=["last_hidden_state"],
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )
        model = onnx.load(plain)
    packed(model.graph)
    onnx.save(model, options.out)
    print(options.out.stat().st_size, hashlib.sha256(options.out.read_bytes()).hexdigest())


if __name__ == "__main__":
    main()
