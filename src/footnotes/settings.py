"""Settings: the only reader of the environment and of footnotes.toml.

Order, the last wins: defaults, variables shared with other programs, `footnotes.toml` in the library's folder, the
file in FOOTNOTES_CONFIG, `FOOTNOTES_*` variables, keyword arguments. Settings are frozen and passed in; no other
module reads them.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from footnotes.errors import ConfigError

PREFIX = "FOOTNOTES_"
FILE_NAME = "footnotes.toml"
DEFAULT = "default"
STANDARD_NAMES: Mapping[str, str] = {
    "otel_endpoint": "OTEL_EXPORTER_OTLP_ENDPOINT",
    "openai_api_key": "OPENAI_API_KEY",
    "anthropic_api_key": "ANTHROPIC_API_KEY",
    "cohere_api_key": "COHERE_API_KEY",
    "gemini_api_key": "GEMINI_API_KEY",
}
"""Variables shared with other programs; the own setting takes precedence."""
SHORT_MODELS: Mapping[str, Mapping[str, Any]] = {
    "cohere": {"model": "cohere:command-r-08-2024", "temperature": 0.3, "max_tokens": 2_000},
}
"""The default model of a provider that is named without one."""

SHORT_EMBEDDERS: Mapping[str, str] = {"multilingual": "onnx:intfloat/multilingual-e5-small"}
"""Short names of embedders."""

QUALITIES: Mapping[str, Mapping[str, str]] = {
    "standard": {},
    "better": {"embedder": "pair:minilm-l6+bge-small", "reranker": "colbert"},
}
"""The settings that a quality level implies, unless they are set."""
NO_RERANKER = "none"
"""Reranks nothing, whatever the quality level implies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings. The comment of a field is its text in the reference."""

    # ── where
    library: str = "~/.footnotes"  # folder of the library
    store: str = field(default="", repr=False)  # postgresql://… for a store that servers share; empty for the folder
    user: str = "local"  # the tenant
    collection: str = "default"  # the collection for new documents
    migrate: bool = True  # migrate the schema of the store when it is opened
    read_only: bool = False  # only search and ask, on a replica of PostgreSQL
    primary: str = ""  # address of the server that accepts changes, shown to callers of a read-only one
    originals: str = ""  # with PostgreSQL: a folder or s3://bucket/prefix for originals
    dense_index: str = ""  # with PostgreSQL: hnsw, ivfflat, scann or none; empty for the best that the server offers
    dense_index_options: Mapping[str, Any] = field(default_factory=dict)  # ef_search, lists, …: docs/postgresql.md

    # ── a vector database instead of the built-in index
    index: str = field(default="", repr=False)  # qdrant://host:6333, chroma://host:8000, chroma:FOLDER or empty
    index_legs: tuple[str, ...] = ("dense",)  # legs that it serves: "dense" and, with qdrant, "lexical"
    index_api_key: str = field(default="", repr=False)  # its key
    index_metadata: bool = True  # send names and metadata too, not only numbers and vectors
    index_seconds: float = 10.0  # timeout of one call to it
    index_options: Mapping[str, Any] = field(default_factory=dict)  # shards, replicas and more: docs/vectors.md

    # ── importing a collection
    import_api_key: str = field(default="", repr=False)  # key of the vector database for `footnotes import --from`

    # ── ingest
    chunker: str = "passages"  # default chunker of collections
    chunker_options: Mapping[str, Any] = field(default_factory=dict)  # options of the chunker
    code_chunker: str = "code"  # default chunker for source code
    layers: Mapping[str, Any] = field(default_factory=dict)  # path patterns → layers; the first match wins
    contextual: str = ""  # provider:model that writes a sentence about each chunk; empty for none
    embedder: str = "local:minilm-l6"  # provider:model of the embedder, or multilingual (from a hub)
    embedder_threads: int = 0  # threads of the local embedder; 0 means one per core
    embedder_variant: str = "int8"  # local weights: int8, float; for models other than MiniLM fast, fast-questions
    embedder_dimensions: int = 0  # dimensions to request from models that can shorten their vectors; 0 for the default
    embed_query_seconds: float = 10.0  # timeout of a remote embedder for a question; then only words are searched
    embed_batch: int = 32  # texts per call to the embedder
    models_dir: str = "~/.cache/footnotes/models"  # folder of downloaded models, searched before the hub
    model_dir: str = ""  # a folder with model.onnx and vocab.txt, used instead of the packaged model
    max_file_bytes: int = 512 * 1024 * 1024  # larger files are refused
    parse_memory_bytes: int = 512 * 1024**2  # address space of the parser process
    parse_seconds: int = 300  # processor time to parse a document
    parse_max_characters: int = 1_000_000_000  # characters extracted from a document
    lock_seconds: float = 10.0  # how long to wait for another writer
    keep_originals: bool = False  # store a copy of every added file; uploads are always stored
    archive_max_bytes: int = 2 * 1024**3  # total unpacked size of a zip or tar
    archive_max_members: int = 10_000  # members of a zip or tar

    # ── fetch
    fetch_private: bool = False  # also fetch from private, loopback and link-local addresses
    fetch_max_bytes: int = 100 * 1024 * 1024  # larger pages are refused, before and after decompression
    fetch_seconds: float = 60.0  # timeout of a page, including redirects
    fetch_delay: float = 1.0  # seconds between two requests to one host, or more if its robots.txt asks
    fetch_max_pages: int = 10_000  # pages read from a sitemap

    # ── retrieve
    quality: str = "standard"  # standard, or better: two embedders and a reranker, with the extra footnotes[better]
    mode: str = "hybrid"  # hybrid, lexical or dense
    limit: int = 10  # number of hits
    per_document: int = 0  # chunks per document in a search; 0 depends on the document's length
    fusion: str = "adaptive"  # adaptive, alpha or rrf
    alpha: float = 0.7  # weight of the dense leg in alpha fusion
    rrf_k: int = 60  # the constant of reciprocal rank fusion
    weights: tuple[float, ...] = (1.0, 1.0)  # weights of the lexical and the dense leg in reciprocal rank fusion
    missing_rank: int = 0  # the rank for a hit missing in a leg in reciprocal rank fusion; 0 gives it no score
    candidates: int = 50  # candidates of each leg
    max_query_chars: int = 20_000  # longer questions are refused
    question_adapter: str = ""  # a file of `footnotes tune --write` that maps question vectors; empty for none
    reranker: str = ""  # late, colbert, llm, onnx, server:model, cohere:model or none; empty follows quality
    rerank_candidates: int = 30  # hits passed to the reranker
    rerank_seconds: float = 2.0  # timeout of the reranker; then the order stays, and the result reports it
    rerank_base_url: str = ""  # address of the reranker server, without /rerank
    rerank_api_key: str = field(default="", repr=False)  # its key
    rerank_model_dir: str = ""  # folder of the onnx reranker: model.onnx and tokenizer.json

    # ── answer
    model: str = "extractive"  # provider:model of answers, or extractive
    answer_passages: int = 0  # passages for an answer; 0 means 20
    answer_sentences: int = 3  # sentences of an extractive answer
    reader: bool = True  # check sentences and claims with the packaged small model; otherwise by words alone
    answer_vectors: bool = False  # also weigh sentences by their vectors: slower, abstains slightly better
    strict: bool = False  # omit unsupported sentences; a failing model is an error
    repair: bool = False  # ask the model again, with the passages found, if sentences of its answer are unsupported
    formulas: bool = False  # let a model write a formula for a question about a table; code computes the result
    ungrounded: bool = False  # answer without documents if no leg could run, and mark the answer
    prompt_template: str = ""  # a file to use instead of the packaged prompt
    context_tokens: int = 0  # context size of the model in tokens; 0 means the known size
    temperature: float = 0.0  # randomness of the model; below zero uses the model's default
    max_tokens: int = 700  # maximum tokens of an answer
    stop: tuple[str, ...] = ()  # sequences at which the model stops
    seed: int = -1  # the model's seed; below zero sends none
    answer_seconds: float = 120.0  # timeout of an answer, all calls and waits together
    expand: tuple[str, ...] = ()  # additional searches: "synonyms" (also for a plain search), "multi" and "hyde"
    synonyms_file: str = ""  # a file of synonyms, one group per line, in addition to the packaged ones
    agent_steps: int = 6  # tool calls for a deep question
    agent_tokens: int = 50_000  # tokens for a deep question
    agent_seconds: float = 120.0  # time for a deep question before it answers
    query_cache: int = 256  # cached answers for repeated questions; 0 disables the cache

    # ── remote models
    openai_api_key: str = field(default="", repr=False)  # key for openai: models
    openai_base_url: str = "https://api.openai.com/v1"  # any OpenAI-compatible server
    anthropic_api_key: str = field(default="", repr=False)  # key for anthropic: models
    anthropic_base_url: str = "https://api.anthropic.com/v1"  # address of Anthropic's Messages API
    ollama_base_url: str = "http://localhost:11434/v1"  # the OpenAI-compatible address of Ollama
    cohere_api_key: str = field(default="", repr=False)  # key for cohere: models
    cohere_base_url: str = "https://api.cohere.com"  # address of Cohere
    gemini_api_key: str = field(default="", repr=False)  # key for gemini: models
    gemini_base_url: str = "https://generativelanguage.googleapis.com/v1beta/openai"  # its OpenAI-compatible address
    models_file: str = ""  # a table of models, contexts and prices to use instead of the packaged one
    model_timeout: float = 60.0  # timeout of one call to a model
    quote_providers: bool = True  # include the provider's response in errors; a server never does
    proxy: str = field(default="", repr=False)  # an HTTP proxy for remote models

    # ── monitoring
    otel_endpoint: str = ""  # where to send spans as OTLP over HTTP; OTEL_EXPORTER_OTLP_ENDPOINT works too

    # ── the server
    serve_rate: int = 600  # requests per key and minute
    serve_burst: int = 100  # requests per key at once
    serve_answers: int = 10_000  # answers per tenant and calendar month
    serve_key_budget: float = 0.0  # US dollars a key may spend on models per calendar month; 0 for no limit
    serve_body_bytes: int = 32 * 1024 * 1024  # larger JSON bodies are refused
    serve_json_nodes: int = 100_000  # JSON bodies with more values and keys are refused
    serve_upload_bytes: int = 1024**3  # larger uploads are refused, counting all files of one request
    serve_body_seconds: float = 30.0  # time to send a body, plus a second for each 64 KB received
    serve_streams: int = 256  # open streams
    serve_queue: int = 10_000  # pending documents per tenant
    serve_log_level: str = "info"  # debug also logs the k, scores and durations of every search
    serve_workers: int = 0  # search processes beside the server, one per core; 0 searches in the server
    serve_worker: bool = True  # ingest in a separate process, at low priority
    serve_worker_threads: int = 0  # threads of its embedder; 0 leaves one core to searches
    serve_libraries: int = 64  # open tenant libraries; the least recently used are closed
    serve_tenant_bytes: int = 0  # stored bytes per tenant; 0 for no limit
    serve_header_seconds: float = 10.0  # time to send the headers of a request
    serve_send_seconds: float = 60.0  # time a client may read nothing of its response
    serve_connections: int = 4_096  # open connections; 0 for no limit
    serve_address_connections: int = 2_048  # connections per address; 0 for no limit, behind a proxy
    serve_embedders: tuple[str, ...] = ()  # embedders that callers may choose for a reindex, besides the server's own
    serve_conversations: int = 10_000  # stored conversations per tenant; 0 stores none
    serve_models: bool = True  # let admins connect models on the page and over the API
    serve_questions: bool = True  # let the connected model write sample questions, once for the same documents
    serve_secret: str = field(default="", repr=False)  # encrypts keys of models and sources; equal on all servers
    serve_cors: tuple[str, ...] = ()  # origins whose pages may call the server

    # ── workers of a shared store
    worker_host: str = "127.0.0.1"  # address where a worker serves /livez, /readyz and /metrics
    worker_port: int = 0  # port for these; 0 for none
    worker_heal_seconds: float = 300.0  # a worker exits with an error if it cannot reach the database for this long
    worker_retry_seconds: float = 2.0  # wait before a retry of a job; doubles each time, five attempts in total

    # ── a local chat model
    llama_model: str = ""  # a GGUF file for llama: models, used instead of an installed one
    llama_context: int = 4096  # context size in tokens
    llama_threads: int = 1  # number of threads

    def __post_init__(self) -> None:
        """Check every value, whether from files, keywords or `dataclasses.replace`."""
        for name, kind in _kinds().items():
            value = _coerce(name, getattr(self, name), kind)
            _check_range(name, value)
            object.__setattr__(self, name, value)
        for name, value in {**SHORT_MODELS.get(self.model, {}), **QUALITIES.get(self.quality, {})}.items():
            if name == "model" or getattr(self, name) == Settings.__dataclass_fields__[name].default:
                object.__setattr__(self, name, value)
        object.__setattr__(self, "embedder", SHORT_EMBEDDERS.get(self.embedder, self.embedder))
        if len(self.weights) != 2 or min(self.weights) < 0 or not any(self.weights):
            raise ConfigError("the setting weights must be two numbers, not negative and not both 0")
        for pattern, layer in self.layers.items():
            if not isinstance(layer, str) or not layer.strip():
                raise ConfigError(f"the layer of {pattern!r} must be a name, not {layer!r}")


@cache
def _kinds() -> dict[str, object]:
    return get_type_hints(Settings)


_AT_LEAST_ONE = frozenset(
    [
        "embed_batch", "max_file_bytes", "parse_memory_bytes", "parse_seconds", "parse_max_characters",
        "archive_max_bytes", "archive_max_members", "fetch_max_bytes", "fetch_max_pages", "limit",
        "rrf_k", "candidates", "max_query_chars", "rerank_candidates",
        "answer_sentences", "max_tokens", "agent_steps", "agent_tokens", "llama_context", "llama_threads",
        "serve_libraries", "serve_json_nodes",
    ]
)  # fmt: skip
_RANGES: Mapping[str, tuple[float, float]] = {
    "alpha": (0, 1),
    "temperature": (-1, 2),
    "seed": (-1, 2**63 - 1),
}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "quality": tuple(QUALITIES),
    "mode": ("hybrid", "lexical", "dense"),
    "fusion": ("adaptive", "alpha", "rrf"),
    "dense_index": ("", "hnsw", "ivfflat", "scann", "none"),
    "embedder_variant": ("int8", "float", "fast", "fast-questions"),
    "serve_log_level": ("debug", "info", "warning", "error"),
}
_NO_SETTING = frozenset(["config", "test_cache"])
"""Variables with the prefix that are not settings: the file to read, and the cache of the tests."""
_BOOLEANS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def load(folder: Path | None = None, *, environ: Mapping[str, str] | None = None, **overrides: Any) -> Settings:
    """Load the settings of a library folder, from all sources."""
    environ = os.environ if environ is None else environ
    values: dict[str, object] = _from_standard_names(environ)
    for path in _config_files(_library_folder(folder, environ), environ):
        values.update(_from_file(path))
    values.update(_from_environment(environ))
    values.update({name: value for name, value in overrides.items() if value is not None})
    return settings_from(values)


@dataclass(frozen=True, slots=True)
class Origin:
    """The value of a setting, and where it is set."""

    value: Any
    where: str
    is_secret: bool

    @property
    def is_default(self) -> bool:
        return self.where == DEFAULT


def config_path(folder: Path | None = None, *, environ: Mapping[str, str] | None = None) -> Path:
    """Return the path of the library's settings file."""
    return _library_folder(folder, os.environ if environ is None else environ) / FILE_NAME


def origins(folder: Path | None = None, *, environ: Mapping[str, str] | None = None) -> dict[str, Origin]:
    """Return every setting with its value and where it is set."""
    environ = os.environ if environ is None else environ
    where = dict.fromkeys(_kinds(), DEFAULT)
    where |= {name: STANDARD_NAMES[name] for name in _from_standard_names(environ)}
    for path in _config_files(_library_folder(folder, environ), environ):
        where |= dict.fromkeys(_from_file(path), str(path))
    where |= {name: PREFIX + name.upper() for name in _from_environment(environ)}
    settings = load(folder, environ=environ)
    secret = {each.name for each in fields(Settings) if not each.repr}
    return {name: Origin(getattr(settings, name), where[name], name in secret) for name in _kinds()}


def check_value(name: str, value: str) -> object:
    """Parse a value from a command line into its setting's type; raise if it is invalid."""
    if name not in _kinds():
        raise unknown_setting(repr(name), name)
    checked = getattr(settings_from({name: value}), name)
    return list(checked) if isinstance(checked, tuple) else checked


def change_file(path: Path, changes: Mapping[str, object]) -> None:
    """Set values in a footnotes.toml, and remove those that are None. Keep the rest, including comments."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8") if path.is_file() else "")
        for name, value in changes.items():
            document.pop(name, None)
            if value is not None:
                document[name] = value
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tomlkit.dumps(document), encoding="utf-8")
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error
    except OSError as error:
        raise ConfigError(
            f"cannot write {path} ({error.strerror})", remedy="Check the permissions of the file."
        ) from error


def environment_key(name: str) -> str:
    """Return a key from an environment variable."""
    return os.environ.get(name, "")


def is_colour_refused() -> bool:
    """Return whether NO_COLOR is set, to any value: then programs print no colours unless asked to."""
    return bool(os.environ.get("NO_COLOR"))


def settings_from(values: Mapping[str, Any]) -> Settings:
    """Build settings from plain values, each checked against its field."""
    for name in values:
        if name not in _kinds():
            raise unknown_setting(repr(name), name)
    return Settings(**values)


def unknown_setting(written: str, name: str) -> ConfigError:
    near = get_close_matches(name, _kinds(), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    remedy = "See docs/reference/settings.md for the names."
    return ConfigError(f"there is no setting named {written}{hint}", remedy=remedy)


def _check_range(name: str, value: Any) -> None:
    """Check values against their allowed range."""
    if (choices := _CHOICES.get(name)) and value not in choices:
        raise ConfigError(f"the setting {name} cannot be {value!r}; it must be one of {', '.join(choices)}")
    if type(value) not in (int, float):
        return
    if not math.isfinite(value):
        raise ConfigError(f"the setting {name} cannot be {value}")
    least, most = _RANGES.get(name, (1 if name in _AT_LEAST_ONE else 0, math.inf))
    if value < least:
        raise ConfigError(f"the setting {name} cannot be {value}; it must be at least {least}")
    if value > most:
        raise ConfigError(f"the setting {name} cannot be {value}; it must be at most {most}")


def _config_files(folder: Path, environ: Mapping[str, str]) -> list[Path]:
    files = []
    try:
        if (folder / FILE_NAME).is_file():
            files.append(folder / FILE_NAME)
    except OSError as error:
        cause = f"cannot read {folder} ({error.strerror})"
        raise ConfigError(cause, remedy="Check the permissions of the folder.") from error
    if named := environ.get(PREFIX + "CONFIG"):
        if not Path(named).is_file():
            raise ConfigError(f"FOOTNOTES_CONFIG is {named}, which is not a file")
        files.append(Path(named))
    return files


def _from_file(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in environ.items():
        name = key[len(PREFIX) :].lower()
        if not key.startswith(PREFIX) or name in _NO_SETTING:
            continue
        if name not in _kinds():
            raise unknown_setting(key, name)
        found[name] = value
    return found


def _from_standard_names(environ: Mapping[str, str]) -> dict[str, object]:
    return {name: environ[key] for name, key in STANDARD_NAMES.items() if environ.get(key)}


def _library_folder(folder: Path | None, environ: Mapping[str, str]) -> Path:
    return folder or Path(environ.get(PREFIX + "LIBRARY", Settings().library)).expanduser()


def _coerce(name: str, value: Any, kind: Any) -> Any:
    """Convert a value to its field's type; parse text from the environment as TOML."""
    try:
        if kind is str:
            return _as_text(value)
        if kind is float and not isinstance(value, bool):
            return float(value)
        if kind is int and not isinstance(value, (bool, float)):
            return int(value)
        if kind is bool and isinstance(value, str) and value.strip().lower() in _BOOLEANS:
            return _BOOLEANS[value.strip().lower()]
        if kind == tuple[float, ...]:
            parts = value.strip(" []").split(",") if isinstance(value, str) else value
            return tuple(float(part) for part in parts)
        if kind == tuple[str, ...] and isinstance(value, str) and not value.strip().startswith("["):
            return tuple(filter(None, map(str.strip, value.split(","))))
        if isinstance(value, str):
            value = tomllib.loads(f"value = {value}")["value"]
        if kind is bool and isinstance(value, bool):
            return value
        if kind == tuple[str, ...] and isinstance(value, (list, tuple)):
            return tuple(_as_text(item) for item in value)
        if kind not in (bool, tuple[str, ...]) and isinstance(value, Mapping):
            return dict(value)
    except (ValueError, TypeError, tomllib.TOMLDecodeError):
        pass
    raise ConfigError(f"the setting {name} cannot be {value!r}")


def _as_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
