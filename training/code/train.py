"""Teach all-MiniLM-L6-v2 where in its own space a function belongs: near the questions people ask for it.

    python training/code/train.py --pairs pairs.jsonl --base …/model.safetensors --vocabulary …/bert-uncased-vocab.txt --out code.pt --minutes 40

Questions are embedded by the model as it is and never change: only what reads the code learns. So vectors of code that
it makes stand in one index with vectors of prose made by the original, and one vector of the question finds both.
Each question should be nearer to its function than to the other functions of the batch, and each function nearer to its
question than to any other question of the batch or of those before (van den Oord et al., "Representation learning with
contrastive predictive coding", 2018). Half of a batch is from one package, where functions are alike.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import torch
from torch import Tensor
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from encoder import AnswerModel, load_base

from footnotes.embed.tokens import WordPieceTokenizer

TEMPERATURE = 0.05
REMEMBERED = 4_096
VERBS = {
    "returns": "return",
    "checks": "check",
    "converts": "convert",
    "gets": "get",
    "creates": "create",
    "sets": "set",
}


class CodeModel(AnswerModel):
    """Token ids → one unit vector a text, the mean of its tokens."""

    def __init__(self) -> None:
        super().__init__(1, dropout=0.0)

    def states(self, ids: Tensor, types: Tensor, attended: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1], device=ids.device)
        states = self.norm(self.words(ids) + self.places(places) + self.types(types))
        mask = (1.0 - attended[:, None, None, :].to(states.dtype)) * -1e4
        for layer in self.layers:
            states = layer(states, mask)
        return states

    def forward(self, ids: Tensor, types: Tensor, attended: Tensor) -> Tensor:  # type: ignore[override]
        states = self.states(ids, types, attended)
        kept = attended[:, :, None].to(states.dtype)
        return functional.normalize((states * kept).sum(1) / kept.sum(1), dim=-1)


def as_typed(text: str, random: Random) -> str:
    """A sentence as somebody types it into a search: no articles, no full stop, the language before or behind."""
    words = [VERBS.get(word, word) for word in re.sub(r"[^\w\s'.+#-]", " ", text.lower()).rstrip(". ").split()]
    if random.random() < 0.7:
        words = [word for word in words if word not in ("a", "an", "the", "this", "given", "of")] or words
    if len(words) > 6 and random.random() < 0.5:
        words = words[: random.randint(5, 9)]
    said = " ".join(words)
    return random.choice(
        ("{}", "python {}", "python {}", "{} python", "{} in python", "how to {} in python", "python how to {}")
    ).format(said)


def example(row: dict[str, str], random: Random) -> tuple[str, str]:
    """A question, and the function as it is read; what is asked with never stands in it word for word, but at times a part."""
    name = " ".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", row["name"]).lower().split("_")).strip()
    kind = random.random()
    if kind < 0.15:
        return row["question"], row["bare"]
    if kind < 0.4:
        return as_typed(row["question"], random), row["bare"]
    if kind < 0.6 and len(name.split()) > 1:
        return as_typed(name, random), re.sub(rf"\b{re.escape(row['name'])}\b", "f", row["code"])
    words = row["question"].split()
    kept = [word for word in words if random.random() < 0.6] if len(words) > 4 else words
    return as_typed(" ".join(kept or words), random), row["code"]


def batches(rows: Sequence[dict[str, str]], size: int, random: Random) -> Iterator[list[dict[str, str]]]:
    """Batches for ever: half of each of one package, half of any."""
    by_package: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_package.setdefault(row["package"], []).append(row)
    large = [each for each in by_package.values() if len(each) >= size]
    while True:
        for each in large:
            random.shuffle(each)
        parts = [each[at : at + size // 2] for each in large for at in range(0, len(each) - size // 2, size // 2)]
        random.shuffle(parts)
        for part in parts:
            yield part + random.sample(rows, size - len(part))


def encoded(tokenizer: WordPieceTokenizer, texts: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
    ids = tokenizer(texts)
    width = max(map(len, ids))
    padded = torch.tensor([each + [0] * (width - len(each)) for each in ids])
    return padded, torch.zeros_like(padded), torch.tensor([[1] * len(each) + [0] * (width - len(each)) for each in ids])


def loss_of(questions: Tensor, functions: Tensor, before: Tensor) -> Tensor:
    own = torch.arange(len(questions))
    found = functional.cross_entropy(questions @ functions.T / TEMPERATURE, own)
    asked = functional.cross_entropy(functions @ torch.cat([questions, before]).T / TEMPERATURE, own)
    return (found + asked) / 2


def train(options: argparse.Namespace) -> None:
    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    random = Random(1)
    rows = [json.loads(line) for line in options.pairs.read_text("utf-8").splitlines()]
    base, model = CodeModel(), CodeModel()
    load_base(base, options.base)
    load_base(model, options.start or options.base)
    base.eval()
    model.words.requires_grad_(False)
    short, long = (WordPieceTokenizer(options.vocabulary, max_tokens=n) for n in (48, options.tokens))
    learnt = [each for each in model.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(learnt, lr=options.rate, weight_decay=0.01)
    before = torch.zeros(0, 384)
    began, steps, losses = time.monotonic(), 0, []
    for batch in batches(rows, options.batch, random):
        spent = steps / options.steps if options.steps else (time.monotonic() - began) / (60 * options.minutes)
        if spent >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = options.rate * min(1.0, (steps + 1) / 50) * (1 - spent)
        examples = sorted((example(row, random) for row in batch), key=lambda each: len(each[1]))
        with torch.autocast("cpu", torch.bfloat16):
            with torch.no_grad():
                questions = base(*encoded(short, [question for question, _ in examples])).float()
            half = len(examples) // 2  # two runs of similar lengths: less padding
            parts = (examples[:half], examples[half:])
            functions = torch.cat([model(*encoded(long, [code for _, code in part])) for part in parts]).float()
        loss = loss_of(questions, functions, before)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learnt, 1.0)
        optimiser.step()
        before = torch.cat([questions, before])[:REMEMBERED]
        steps += 1
        losses.append(float(loss.detach()))
        if steps % 50 == 0:
            print(f"{steps} steps, {time.monotonic() - began:.0f} s, loss {sum(losses[-50:]) / 50:.4f}", flush=True)
        if steps % 500 == 0:
            torch.save(model.state_dict(), options.out)
    torch.save(model.state_dict(), options.out)
    print(f"{steps} steps of {options.batch}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("pairs", "base", "vocabulary", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="what the reader of code starts from, if not from the base")
    parser.add_argument("--minutes", type=float, default=40)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--rate", type=float, default=3e-5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=160)
    parser.add_argument("--threads", type=int, default=1)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
