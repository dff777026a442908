"""Rerankers, one file each: `late`, `cohere`, `server`, `onnx`, `llm`. Deadlines are enforced around them."""
