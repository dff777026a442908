"""Runs text models with onnxruntime: a session, batches of similar length, unit vectors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from footnotes.embed import Matrix
from footnotes.errors import ModelDamaged

BATCH_TOKENS = 512
"""Padded tokens per run of the model: more is slower (caches: a tenth with 1,024) and takes more memory."""


def open_session(weights: bytes | str, threads: int, *, origin: str, operators: str = "") -> object:
    """Open a session for weights or a weights file; its threads sleep while they wait.

    Spinning threads starve everything else on a shared machine. `operators` is a library of operators that the model
    needs in addition to the usual ones.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.enable_mem_pattern = False  # batches differ in shape: a pattern for each only costs memory
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if operators:
        options.register_custom_ops_library(operators)
    try:
        return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors share no other base
        raise ModelDamaged(f"{origin} is not a model onnxruntime can load") from error


def cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield groups of rows, longest first, each within the token budget once padded."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    start = 0
    while start < len(order):
        size = max(1, BATCH_TOKENS // max(1, lengths[order[start]]))
        yield order[start : start + size]
        start += size


def padded(ids: Sequence[Sequence[int]], pad: int = 0) -> dict[str, NDArray[np.int64]]:
    """Return the model's inputs, padded to the longest row of the batch."""
    width = max(len(each) for each in ids)
    tokens = np.full((len(ids), width), pad, dtype=np.int64)
    mask = np.zeros_like(tokens)
    for row, each in enumerate(ids):
        tokens[row, : len(each)] = each
        mask[row, : len(each)] = 1
    return {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}


def mean_of_tokens(hidden: Matrix, mask: NDArray[np.int64]) -> Matrix:
    """Return the mean of each row's tokens (Reimers and Gurevych, Sentence-BERT, EMNLP 2019)."""
    weights = mask.astype(np.float32)
    summed = np.matmul(weights[:, None, :], hidden)[:, 0, :]
    mean: Matrix = summed / weights.sum(axis=1, keepdims=True)
    return mean


def _first(hidden: Matrix, mask: NDArray[np.int64]) -> Matrix:
    first: Matrix = hidden[:, 0, :]
    return first


def _last(hidden: Matrix, mask: NDArray[np.int64]) -> Matrix:
    last: Matrix = hidden[np.arange(len(hidden)), mask.sum(axis=1) - 1, :]
    return last


def _largest(hidden: Matrix, mask: NDArray[np.int64]) -> Matrix:
    largest: Matrix = np.where(mask[:, :, None] > 0, hidden, -np.inf).max(axis=1)
    return largest


POOL = {"mean": mean_of_tokens, "cls": _first, "last": _last, "max": _largest}
"""Functions from token states and mask to one vector per text, by name of the pooling."""


def unit_rows(vectors: Matrix) -> Matrix:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: Matrix = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return unit
