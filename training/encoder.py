"""The encoder of all-MiniLM-L6-v2 in plain torch, with a head for one task.

The verifier has three outputs, read at [CLS] of (evidence, claim): supported, unsupported, contradicted. The chooser
has two, read at [CLS] and at the mark before each sentence of a passage behind a question: does a sentence of this
passage answer it, and is it this sentence?
"""

from __future__ import annotations

from pathlib import Path

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
        scores = query @ key.transpose(2, 3) / (WIDTH // HEADS) ** 0.5 + mask
        seen = (scores.softmax(-1) @ value).transpose(1, 2).reshape(asking.shape)
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
    """The published weights of all-MiniLM-L6-v2 into the encoder; the heads stay as they are."""
    given = load_file(weights)
    names = {"words": "word", "places": "position", "types": "token_type"}
    state = {f"{mine}.weight": given[f"embeddings.{theirs}_embeddings.weight"] for mine, theirs in names.items()}
    state |= {f"norm.{part}": given[f"embeddings.LayerNorm.{part}"] for part in ("weight", "bias")}
    parts = {
        "query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
        "out": "attention.output.dense", "norm": "attention.output.LayerNorm", "inner": "intermediate.dense",
        "outer": "output.dense", "last": "output.LayerNorm",
    }  # fmt: skip
    for number in range(len(model.layers)):
        for mine, theirs in parts.items():
            for part in ("weight", "bias"):
                state[f"layers.{number}.{mine}.{part}"] = given[f"encoder.layer.{number}.{theirs}.{part}"]
    missing = model.load_state_dict(state, strict=False)
    assert not missing.unexpected_keys and all(name.startswith("head") for name in missing.missing_keys)
