"""Ways to rerank, each one file: `late`, `cohere`, `server`, `onnx`, `llm`. Deadlines are kept around them."""
