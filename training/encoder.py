"""The encoder of all-MiniLM-L6-v2 in plain torch, with a head for one task.

The verifier has three outputs, read at [CLS] of (evidence, claim): supported, unsupported, contradicted. The chooser
has two, read at [CLS] and at the mark before each sentence of a passage behind a question: does a sentence of this
passage answer it, and is it this sentence?
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

WIDTH, HEADS, INNER = 384, 12, 1536


class Layer(nn.Module):
    """One layer of BERT: attention, then two linear maps, each added to its input and normalised."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.norm, self.inner, self.outer = nn.LayerNorm(WIDTH, 1e-12), nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.last = nn.LayerNorm(WIDTH, 1e-12)
        self.drop = nn.Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor, read: Tensor | None = None) -> Tensor:
        """The states after this layer, of all tokens or of those at `read` alone: the last layer needs no others."""

        def split(each: Tensor) -> Tensor:
            return each.view(each.shape[0], -1, HEADS, WIDTH // HEADS).transpose(1, 2)

        asking = states if read is None else states.gather(1, read[:, :, None].expand(-1, -1, WIDTH))
        query, key, value = split(self.query(asking)), split(self.key(states)), split(self.value(states))
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        seen = seen.transpose(1, 2).reshape(asking.shape)
        states = self.norm(asking + self.drop(self.out(seen)))
        return self.last(states + self.drop(self.outer(functional.gelu(self.inner(states)))))


class AnswerModel(nn.Module):
    """Token ids → the logits of one task at the places that are read; the first place is always [CLS]."""

    def __init__(self, outputs: int, layers: int = 6, dropout: float = 0.1) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(30522, WIDTH), nn.Embedding(512, WIDTH)
        self.types = nn.Embedding(2, WIDTH)
        self.norm, self.drop = nn.LayerNorm(WIDTH, 1e-12), nn.Dropout(dropout)
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(layers))
        self.head = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Dropout(dropout), nn.Linear(WIDTH, outputs))

    def forward(self, ids: Tensor, types: Tensor, attended: Tensor, read: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1], device=ids.device)
        states = self.drop(self.norm(self.words(ids) + self.places(places) + self.types(types)))
        mask = (1.0 - attended[:, None, None, :].to(states.dtype)) * -1e4
        for layer in self.layers[:-1]:
            states = layer(states, mask)
        return self.head(self.layers[-1](states, mask, read))


def load_base(model: AnswerModel, weights: Path) -> None:
    """Published weights into the encoder; the head stays as it is, unless the file has one of the same shape.

    A `.pt` file of `train.py`, a `.safetensors` file as sentence-transformers writes it, or an int8 `.onnx` file of a BERT of this width, whose weights
    are read back as single precision: layers the model does not have are left out. What a cross-encoder says of a pair
    is where each output of the head begins.
    """
    given = read_weights(weights)
    own = model.state_dict()
    state = {}
    for name, each in given.items():
        if (mine := own_name(name)) in own:
            if mine.startswith("head.3"):
                each = each.expand(own[mine].shape) if len(each) == 1 else each
            if own[mine].shape == each.shape:
                state[mine] = each
    missing = model.load_state_dict(state, strict=False)
    assert all(name.startswith("head") for name in missing.missing_keys), missing


def read_weights(path: Path) -> dict[str, Tensor]:
    if path.suffix == ".pt":
        own: dict[str, Tensor] = torch.load(path, weights_only=True)
        return own
    return load_file(path) if path.suffix == ".safetensors" else from_onnx(path)


def own_name(name: str) -> str:
    """The name of a parameter of BERT in this module."""
    name = name.removeprefix("bert.")
    for theirs, mine in _NAMES.items():
        name = name.replace(theirs, mine)
    return name


_NAMES = {
    "embeddings.word_embeddings": "words", "embeddings.position_embeddings": "places",
    "embeddings.token_type_embeddings": "types", "embeddings.LayerNorm": "norm", "encoder.layer.": "layers.",
    "attention.self.": "", "attention.output.dense": "out", "attention.output.LayerNorm": "norm",
    "intermediate.dense": "inner", "output.dense": "outer", "output.LayerNorm": "last",
    "pooler.dense": "head.0", "classifier": "head.3",
}  # fmt: skip


def from_onnx(path: Path) -> dict[str, Tensor]:
    """The parameters of a dynamically quantised BERT: plain ones as they are, int8 ones times their scale.

    A weight that was transposed on export has lost its name: it is called after the bias that is added to its product.
    """
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(path)).graph
    values: dict[str, Any] = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    users: dict[str, list[Any]] = {}
    for node in graph.node:
        for each in node.input:
            users.setdefault(each, []).append(node)
    found = {
        name: torch.from_numpy(np.array(each)) for name, each in values.items() if name.endswith((".weight", ".bias"))
    }
    for name in [each for each in values if each.endswith("_quantized")]:
        stem = name.removesuffix("_quantized")
        plain = (values[name].astype(np.float32) - values[stem + "_zero_point"]) * values[stem + "_scale"]
        if stem.endswith("embeddings.weight") or stem in ("words.weight", "places.weight", "types.weight"):
            found[stem] = torch.from_numpy(plain.astype(np.float32))
        elif bias := _bias_after(users, users[name][0]):
            found[bias.removesuffix("bias") + "weight"] = torch.from_numpy(plain.T.astype(np.float32).copy())
    return found


def _bias_after(users: dict[str, list[Any]], node: Any) -> str | None:
    """The bias that is added to what a node gives, a few nodes on."""
    for _ in range(5):
        node = users[node.output[0]][0]
        if biases := [each for each in node.input if each.endswith(".bias")]:
            return str(biases[0])
    return None
