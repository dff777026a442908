"""Taught weights, half and half with those they came from → the int8 model that reads code.

    python training/code/export.py code.pt --base …/model.safetensors --out src/footnotes/embed/data/minilm-code.onnx

The mean with the original keeps what it knew (Wortsman et al., "Robust fine-tuning of zero-shot models", CVPR 2022): alone
the taught weights find functions by a docstring as well, and by what people type worse than before. Prints size and sha256.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn
from train import CodeModel, load_base

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--share", type=float, default=0.5)
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
        # Seven bits: with eight, products of processors without VNNI overflow.
        kinds = ["MatMul", "Gemm", "Gather"]
        quantize_dynamic(
            plain,
            options.out,
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=kinds,
        )
    print(options.out.stat().st_size, hashlib.sha256(options.out.read_bytes()).hexdigest())


if __name__ == "__main__":
    main()
