"""Reads how to run a model from the files beside its weights, in the layout of sentence-transformers.

`modules.json` lists the steps after the transformer, `1_Pooling/config.json` says how tokens become a vector,
`config_sentence_transformers.json` holds prompts and the metric, `sentence_bert_config.json` and
`tokenizer_config.json` the maximum length, `config.json` the Matryoshka dimensions. A `footnotes.json` beside them
overrides all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from footnotes.errors import ModelDamaged

Pooling = Literal["mean", "cls", "last", "max"]
OWN_FILE = "footnotes.json"
LONGEST = 8_192
DEFAULT_TOKENS = 512
_MODES: tuple[tuple[str, Pooling], ...] = (
    ("pooling_mode_cls_token", "cls"),
    ("pooling_mode_mean_tokens", "mean"),
    ("pooling_mode_lasttoken", "last"),
    ("pooling_mode_max_tokens", "max"),
)
_NAMES: Mapping[str, Pooling] = {"cls": "cls", "mean": "mean", "lasttoken": "last", "last": "last", "max": "max"}
SEARCHING = "Represent this sentence for searching relevant passages: "
_KNOWN: tuple[tuple[str, Pooling | None, str, str], ...] = (
    ("nomic-embed-text", "mean", "search_query: ", "search_document: "),
    ("mxbai-embed-large", "cls", SEARCHING, ""),
    ("arctic-embed-l-v2", "cls", "query: ", ""),
    ("arctic-embed-m-v2", "cls", "query: ", ""),
    ("arctic-embed", "cls", SEARCHING, ""),
    ("bge-small-en", "cls", SEARCHING, ""),
    ("bge-base-en", "cls", SEARCHING, ""),
    ("bge-large-en", "cls", SEARCHING, ""),
    ("bge-m3", "cls", "", ""),
    ("e5-", "mean", "query: ", "passage: "),
)
"""Models whose files do not describe their pooling and prompts: part of the name, pooling, the two prefixes."""
_QUERY, _PASSAGE = ("query", "search_query", "retrieval.query"), ("passage", "document", "search_document")


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """How to run an embedding model. `matryoshka` lists the dimensions its vectors may be cut to.

    Vectors compared by dot product may differ in length; `largest_norm` is then the greatest length.
    `background` is the usual cosine of unrelated passages; None if unknown.
    `least_words` is the least weight of the lexical leg beside its cosines in prose.
    """

    pooling: Pooling = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: int = DEFAULT_TOKENS
    metric: Literal["cosine", "dot"] = "cosine"
    largest_norm: float = 0.0
    matryoshka: tuple[int, ...] = ()
    pad_id: int = 0
    languages: tuple[str, ...] = ()
    background: float | None = None
    least_words: float = 0.3


def read_description(folder: Path) -> ModelDescription:
    """Read a model's description from its folder, else guess from its name, else use defaults."""
    config = _read(folder / "config.json")
    found = _by_name(f"{folder.name} {config.get('_name_or_path', '')}".lower())
    sentence = _read(folder / "config_sentence_transformers.json")
    values: dict[str, Any] = _parse_pooling(folder) | _parse_prompts(sentence)
    found = replace(
        found,
        **values,
        max_tokens=_max_tokens(folder, config),
        matryoshka=_matryoshka(config, sentence),
        pad_id=int(config.get("pad_token_id") or 0),
        metric="dot" if sentence.get("similarity_fn_name") == "dot" and not _is_normalized(folder) else "cosine",
    )
    return _override(found, folder)


def _by_name(name: str) -> ModelDescription:
    for part, pooling, query, passage in _KNOWN:
        if part in name:
            return ModelDescription(pooling=pooling or "mean", query_prefix=query, passage_prefix=passage)
    return ModelDescription()


def _parse_pooling(folder: Path) -> dict[str, object]:
    for step in _modules(folder):
        if step["type"].endswith("Dense") and not (folder / OWN_FILE).is_file():
            raise ModelDamaged(
                f"{folder} has a dense layer after its pooling, which is not in its ONNX file",
                remedy="Export the model whole, so that it has an output named sentence_embedding.",
            )
    paths = [folder / step["path"] for step in _modules(folder) if step["type"].endswith("Pooling")]
    config = _read((paths or [folder / "1_Pooling"])[0] / "config.json")
    modes = [mode for key, mode in _MODES if config.get(key)]
    if pooling := _NAMES.get(str(config.get("pooling_mode", ""))):
        modes = [pooling]
    if not modes:
        return {}
    if len(modes) > 1:
        raise ModelDamaged(f"{folder} joins several kinds of pooling, which is not supported: {', '.join(modes)}")
    return {"pooling": modes[0]}


def _modules(folder: Path) -> Iterator[Mapping[str, str]]:
    file = folder / "modules.json"
    for step in _read_any(file) if file.is_file() else ():
        if isinstance(step, Mapping):
            yield {"type": str(step.get("type", "")), "path": str(step.get("path", ""))}


def _is_normalized(folder: Path) -> bool:
    return any(step["type"].endswith("Normalize") for step in _modules(folder))


def _parse_prompts(sentence: Mapping[str, Any]) -> dict[str, object]:
    prompts = sentence.get("prompts") or {}
    found: dict[str, object] = {}
    for name, keys in (("query_prefix", _QUERY), ("passage_prefix", _PASSAGE)):
        if (text := next((prompts[key] for key in keys if prompts.get(key)), None)) is not None:
            found[name] = str(text)
    return found


def _max_tokens(folder: Path, config: Mapping[str, object]) -> int:
    numbers = (
        _read(folder / "sentence_bert_config.json").get("max_seq_length"),
        _read(folder / "tokenizer_config.json").get("model_max_length"),
        config.get("max_position_embeddings"),
    )
    for number in numbers:
        if isinstance(number, int | float) and 0 < number < 1_000_000:
            return min(int(number), LONGEST)
    return DEFAULT_TOKENS


def _matryoshka(*configs: Mapping[str, object]) -> tuple[int, ...]:
    for config in configs:
        for name in ("matryoshka_dimensions", "matryoshka_dims"):
            if isinstance(sizes := config.get(name), list):
                return tuple(sorted(int(each) for each in sizes))
        if isinstance(size := config.get("truncate_dim"), int):
            return (size,)
    return ()


def _override(found: ModelDescription, folder: Path) -> ModelDescription:
    fields_in_file = _read(folder / OWN_FILE)
    names = {field.name for field in fields(ModelDescription)}
    changes: dict[str, Any] = {
        name: tuple(one) if isinstance(one, list) else one for name, one in fields_in_file.items() if name in names
    }
    if changes.get("pooling", "mean") not in _NAMES:
        raise ModelDamaged(f"{folder / OWN_FILE} names the pooling {changes['pooling']!r}; known: mean, cls, last, max")
    return replace(found, **changes)


def _read(file: Path) -> dict[str, Any]:
    found = _read_any(file) if file.is_file() else {}
    return found if isinstance(found, dict) else {}


def _read_any(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelDamaged(f"{file} cannot be read as JSON ({error})", remedy="Fetch the model again.") from error
