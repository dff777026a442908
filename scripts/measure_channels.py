"""Measure the largest value of each of MiniLM's channels after each norm, for embed/data/minilm-channels.npy.

    python scripts/measure_channels.py

Random tokens are enough: they give the same sizes as real texts, and no text has to be chosen.
"""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime

from footnotes.embed.bert import rebuild
from footnotes.embed.files import CHANNELS, find_model, own_file, read_weights

PROBES, LENGTH, VOCABULARY, FIRST, LAST = 24, 64, (1_000, 30_000), 101, 102


def main() -> None:
    model = onnx.load_from_string(rebuild(read_weights(find_model("minilm-l6", "")), None))
    norms = [node.output[0] for node in model.graph.node if node.op_type == "LayerNormalization"][:-1]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in norms)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    rng, found = np.random.default_rng(0), np.zeros((len(norms), 384), np.float32)
    for _ in range(PROBES):
        tokens = rng.integers(*VOCABULARY, (1, LENGTH))
        tokens[0, 0], tokens[0, -1] = FIRST, LAST
        states = session.run(norms, {"input_ids": tokens, "attention_mask": np.ones_like(tokens)})
        found = np.maximum(found, [np.abs(each).max(axis=(0, 1)) for each in states])
    np.save(own_file(CHANNELS), found.astype(np.float16))


if __name__ == "__main__":
    main()
