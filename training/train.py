"""Trains the verifier or the chooser on the CPU.

    python training/train.py verifier --data ../shared/data --base …/model.safetensors --out verifier.pt --minutes 60
    python training/train.py chooser --windows windows.jsonl.gz --held-out SET… --base chooser.onnx --out chooser.pt

With `--windows`, files that `windows.py` writes, the chooser learns from all windows of a question at once: each is
judged alone, and the sentences of all compete.

The learning rate falls to nothing over the time given, or over `--steps`, with which the same seed gives the same
weights on the same machine; the last line says how many steps the time allowed. What is saved is a running mean of
the weights, so that a run may be stopped at any time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeVar

import data
import numpy as np
import questions
import torch
from encoder import AnswerModel, load_base
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from footnotes.answer.encode import Encoded, encode_claim, encode_window

T = TypeVar("T")

SEED = 20
HEAD_TIMES, WARM, AVERAGED = 5, 0.05, 0.998
"""How many times faster the head learns, the share of the time the rate rises, what the mean of weights keeps a step."""
TRAIN_TOKENS = {"verifier": 128, "chooser": 160}
BATCH_TOKENS = 1_536
OUTPUTS = {"verifier": 3, "chooser": 2}
TOGETHER_TOKENS = 2_304
"""The tokens of a batch of questions with all their windows."""
GONE, FEWEST = 0.2, 3
"""How often the windows that answer are left out of a question, so that the best of the others must not answer, and
how many others there must be."""
WHOLE, EACH = 0.5, 1.0
"""The weight of the windows judged alone, and of the sentences of all windows against each other."""


@dataclass(frozen=True)
class Item:
    """An example as the model reads it: the label of the pair, or whether each sentence of the passage answers."""

    encoded: Encoded
    labels: tuple[int, ...]
    kind: str


def tokenizer(path: Path):  # type: ignore[no-untyped-def]
    from footnotes.embed.tokens import WordPieceTokenizer

    wordpiece = WordPieceTokenizer(path, max_tokens=512)
    return lambda text: wordpiece([text])[0][1:-1]


def load_items(task: str, folder: Path, vocabulary: Path) -> tuple[list[Item], list[Item]]:
    """What is trained on and what is developed on, as the model reads them."""
    tokenize, chance, limit = tokenizer(vocabulary), Random(SEED), TRAIN_TOKENS[task]
    training, entailed = folder / "training", folder / "entailment"
    if task == "verifier":
        trained, kept = data.entailment(entailed, chance)
        trained += data.made_pairs(training, entailed, 30_000, chance) + data.statements(training, 10_000, chance)
        trained += data.asked(training, 16_000, chance)
        kept += data.made_pairs(training, entailed, 2_400, chance, kept=True)
        kept += data.statements(training, 400, chance, kept=True) + data.asked(training, 400, chance, kept=True)

        def item(pair: data.Pair) -> Item:
            pair = data.unmarked(pair)
            return Item(encode_claim(tokenize, pair.evidence, pair.claim, limit=limit), (pair.label,), pair.kind)

        return list(map(item, trained)), list(map(item, kept))

    def read(passage: questions.Passage) -> Item:
        encoded = encode_window(tokenize, passage.question, passage.title, passage.sentences, limit=limit)
        held = passage.answers[: len(encoded.marks) - 1]
        return Item(encoded, (int(any(held)), *map(int, held)), passage.kind)

    trained_on, kept_back = questions.passages(training, chance), questions.passages(training, chance, kept=True)
    chance.shuffle(kept_back)
    return list(map(read, trained_on)), list(map(read, kept_back[:2_500]))


def batches(items: Sequence[Item], chance: Random) -> Iterator[list[Item]]:
    """Items of about the same length together, batches in any order, for ever."""
    while True:
        order = sorted(items, key=lambda item: len(item.encoded.ids) + chance.uniform(-6, 6))
        made, batch = [], list[Item]()
        for item in order:
            if batch and (len(batch) + 1) * len(item.encoded.ids) > BATCH_TOKENS:
                made.append(batch)
                batch = []
            batch.append(item)
        made.append(batch)
        chance.shuffle(made)
        yield from made


def tensors(batch: Sequence[Item]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    width, marks = max(len(item.encoded.ids) for item in batch), max(len(item.encoded.marks) for item in batch)
    ids, types, attended, read = (
        torch.zeros(len(batch), size, dtype=torch.long) for size in (width, width, width, marks)
    )
    for row, item in enumerate(batch):
        count = len(item.encoded.ids)
        ids[row, :count] = torch.tensor(item.encoded.ids)
        types[row, item.encoded.second : count] = 1
        attended[row, :count] = 1
        read[row, : len(item.encoded.marks)] = torch.tensor(item.encoded.marks)
    return ids, types, attended, read


def loss_of(task: str, logits: Tensor, batch: Sequence[Item]) -> Tensor:
    if task == "verifier":
        chances = logits[:, 0].log_softmax(-1)
        either = torch.logsumexp(chances[:, 1:], -1, keepdim=True)
        labels = torch.tensor([item.labels[0] for item in batch])
        return functional.nll_loss(torch.cat([chances, either], -1), labels)
    losses = []
    for row, item in enumerate(batch):
        labels = torch.tensor(item.labels, dtype=torch.float)
        whole = functional.binary_cross_entropy_with_logits(logits[row, 0, 0], labels[0])
        each = functional.binary_cross_entropy_with_logits(logits[row, 1 : len(labels), 1], labels[1:], reduction="sum")
        losses.append(0.5 * whole + each / 2)
    return torch.stack(losses).mean()


@torch.no_grad()
def predict(model: AnswerModel, items: Sequence[Item]) -> list[np.ndarray]:
    """The logits of every item, in order; in bfloat16, which is as good for looking on."""
    model.eval()
    found: list[np.ndarray] = [np.zeros(0)] * len(items)
    order = sorted(range(len(items)), key=lambda number: len(items[number].encoded.ids))
    for start in range(0, len(order), 24):
        numbers = order[start : start + 24]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(*tensors([items[number] for number in numbers])).float()
        for row, number in enumerate(numbers):
            found[number] = logits[row, : len(items[number].encoded.marks)].numpy()
    model.train()
    return found


def figures(task: str, items: Sequence[Item], logits: Sequence[np.ndarray]) -> dict[str, float]:
    """What is watched while training: right of each kind, or the best sentence right and the passage told apart."""
    if task == "verifier":
        right: dict[str, list[bool]] = {}
        for item, each in zip(items, logits, strict=True):
            chances = np.exp(each[0]) / np.exp(each[0]).sum()
            right.setdefault(item.kind, []).append((chances[0] >= 0.5) == (item.labels[0] == 0))
        return {kind: round(float(np.mean(values)), 3) for kind, values in sorted(right.items())}
    first = [
        item.labels[1 + int(each[1:, 1].argmax())] for item, each in zip(items, logits, strict=True) if item.labels[0]
    ]
    told = [(each[0, 0] > 0) == bool(item.labels[0]) for item, each in zip(items, logits, strict=True)]
    return {"first": round(float(np.mean(first)), 3), "told": round(float(np.mean(told)), 3)}


# ── questions with all their windows ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Asked:
    """A question's windows as the model reads them."""

    windows: tuple[Item, ...]
    source: str

    @property
    def tokens(self) -> int:
        return len(self.windows) * max(len(item.encoded.ids) for item in self.windows)

    def without_answers(self) -> Asked:
        """The question with the windows that do not answer, if there are enough."""
        others = tuple(item for item in self.windows if not item.labels[0])
        return Asked(others, self.source) if len(others) >= FEWEST else self


def load_questions(
    files: Sequence[Path], vocabulary: Path, held_out: Sequence[str], times: int
) -> tuple[list[Asked], list[Asked]]:
    """The questions to train on, those about documentation `times` each, and those kept: of sets held out, and one in
    25 of public sets."""
    tokenize = tokenizer(vocabulary)
    trained, kept = [], []
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as read:
            for line in map(json.loads, read):
                items = []
                for window in line["windows"]:
                    encoded = encode_window(tokenize, line["question"], window["title"], window["sentences"])
                    labels = window["answers"][: len(encoded.marks) - 1]
                    items.append(Item(encoded, (int(any(labels)), *labels), line["kind"]))
                if not items:
                    continue
                asked = Asked(tuple(items), line["set"])
                if line["set"] in held_out or ("-" not in line["set"] and data.is_kept(line["question"], 4)):
                    kept.append(asked)
                else:
                    trained += [asked] * (times if "-" in line["set"] else 1)
    return trained, kept


def question_batches(questions: Sequence[Asked], chance: Random) -> Iterator[list[Asked]]:
    """Questions of about the same size together, for ever."""
    while True:
        some = [each.without_answers() if chance.random() < GONE else each for each in questions]
        order = sorted(some, key=lambda each: each.tokens * chance.uniform(0.9, 1.1))
        made, batch, size = [], list[Asked](), 0
        for each in order:
            if batch and size + each.tokens > TOGETHER_TOKENS:
                made.append(batch)
                batch, size = [], 0
            batch.append(each)
            size += each.tokens
        made.append(batch)
        chance.shuffle(made)
        yield from made


def question_loss(logits: Tensor, batch: Sequence[Asked]) -> Tensor:
    """Each window and sentence judged alone, and the sentences of a question against each other and against none."""
    losses, row = [], 0
    for asked in batch:
        alone, marks, truth = [], [torch.zeros(1)], [torch.tensor([float(not any(i.labels[0] for i in asked.windows))])]
        for item in asked.windows:
            labels = torch.tensor(item.labels, dtype=torch.float)
            each = logits[row, 1 : len(labels), 1]
            alone.append(functional.binary_cross_entropy_with_logits(logits[row, 0, 0], labels[0]))
            alone.append(functional.binary_cross_entropy_with_logits(each, labels[1:], reduction="sum") / 2)
            marks.append(each)
            truth.append(labels[1:])
            row += 1
        wanted = torch.cat(truth)
        chances = torch.cat(marks).log_softmax(0)
        together = -torch.logsumexp(chances.masked_fill(wanted == 0, -1e9), 0)
        losses.append(WHOLE * torch.stack(alone).sum() / len(asked.windows) + EACH * together)
    return torch.stack(losses).mean()


def question_figures(questions: Sequence[Asked], model: AnswerModel) -> dict[str, float]:
    """By set: how often the best sentence of all windows answers, where one does, and how well that tells the rest."""
    items = [item for each in questions for item in each.windows]
    logits = iter(predict(model, items))
    first: dict[str, list[int]] = {}
    best: dict[str, list[tuple[float, int]]] = {}
    for each in questions:
        scored = [
            (float(mark), label)
            for item in each.windows
            for mark, label in zip(next(logits)[1:, 1], item.labels[1:], strict=True)
        ]
        top, right = max(scored)
        there = int(any(label for _, label in scored))
        best.setdefault(each.source, []).append((top, there))
        if there:
            first.setdefault(each.source, []).append(right)
    made: dict[str, float] = {}
    for source, values in sorted(first.items()):
        yes, no = [top for top, there in best[source] if there], [top for top, there in best[source] if not there]
        made[source] = round(float(np.mean(values)), 3)
        if no:
            made[source + " area"] = round(float(np.mean([one > other for one in yes for other in no])), 3)
    docs = [value for source, values in first.items() if "-" in source for value in values]
    return {**made, "docs": round(float(np.mean(docs)), 3) if docs else 0.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("verifier", "chooser"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--windows", type=Path, nargs="*", default=[], help="files of windows.py, for the chooser")
    parser.add_argument("--held-out", nargs="*", default=[], help="sets of them that are not trained on")
    parser.add_argument("--times", type=int, default=3, help="how often questions about documentation are read")
    parser.add_argument("--base", type=Path, required=True, help=".safetensors, an int8 .onnx, or a .pt of this script")
    parser.add_argument("--vocabulary", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--frozen", type=int, default=2, help="the first layers, which stay as they are")
    parser.add_argument("--rate", type=float, default=1e-4, help="the highest learning rate")
    parser.add_argument(
        "--bfloat16", action="store_true", help="multiply in bfloat16: a third of the time where the processor can"
    )
    options = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    vocabulary = options.vocabulary or options.base.parent / "vocab.txt"
    model = AnswerModel(OUTPUTS[options.task], options.layers)
    load_base(model, options.base)
    if options.windows:
        asked, kept_back = load_questions(options.windows, vocabulary, options.held_out, options.times)
        print(len(asked), "questions to train on,", len(kept_back), "kept", flush=True)
        print(json.dumps(question_figures(kept_back, model)), flush=True)

        def loss_of_questions(batch: Sequence[Asked]) -> Tensor:
            rows = [item for each in batch for item in each.windows]
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.bfloat16):
                logits = model(*tensors(rows))
            return question_loss(logits.float(), batch)

        train(
            model,
            options,
            question_batches(asked, Random(SEED)),
            loss_of_questions,
            lambda mean: question_figures(kept_back, mean),
        )
        return
    items, kept = load_items(options.task, options.data, vocabulary)
    print(len(items), "to train on,", len(kept), "kept;", sum(len(i.encoded.ids) for i in items), "tokens", flush=True)

    def loss(batch: Sequence[Item]) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.bfloat16):
            logits = model(*tensors(batch))
        return loss_of(options.task, logits.float(), batch)

    def shown(mean: AnswerModel) -> dict[str, float]:
        return figures(options.task, kept, predict(mean, kept))

    train(model, options, batches(items, Random(SEED)), loss, shown)


def train(
    model: AnswerModel,
    options: argparse.Namespace,
    made: Iterator[list[T]],
    loss_of_batch: Callable[[Sequence[T]], Tensor],
    shown: Callable[[AnswerModel], dict[str, float]],
) -> None:
    """Train until the time or the steps are over; save the running mean of the weights, now and then and at the end."""
    for part in (model.words, model.places, model.types, model.norm, *model.layers[: options.frozen]):
        part.requires_grad_(requires_grad=False)
    for name, each in model.layers.named_parameters():
        if options.windows and name.endswith("bias") and ".norm." not in name and ".last." not in name:
            each.requires_grad_(requires_grad=False)  # their gradients are sums that cost a sixth of the time
    body = [each for name, each in model.named_parameters() if each.requires_grad and not name.startswith("head")]
    head_rate = options.rate * (1 if options.windows else HEAD_TIMES)
    groups = [{"params": body, "rate": options.rate}, {"params": list(model.head.parameters()), "rate": head_rate}]
    optimizer = torch.optim.AdamW(groups, lr=options.rate, weight_decay=0.01)
    mean = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(AVERAGED))
    began, saved, step, sums = time.time(), time.time(), 0, []
    for batch in made:
        done = step / options.steps if options.steps else (time.time() - began) / (60 * options.minutes)
        if done >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = group["rate"] * min(1.0, (done + 1e-4) / WARM, (1 - done) / (1 - WARM))
        loss = loss_of_batch(batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        mean.update_parameters(model)
        step += 1
        sums.append(float(loss.detach()))
        if step % 50 == 0:
            print(f"{step} {time.time() - began:.0f}s {done:.3f} loss {np.mean(sums[-50:]):.4f}", flush=True)
        if time.time() - saved > 900:
            torch.save(mean.module.state_dict(), options.out)
            print(json.dumps(shown(mean.module)), flush=True)
            saved = time.time()
    torch.save(mean.module.state_dict(), options.out)
    print(step, "steps", json.dumps(shown(mean.module)), flush=True)


if __name__ == "__main__":
    main()
