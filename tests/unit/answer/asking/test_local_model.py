"""The whole path with a real chat model on this machine: small, and bad enough to need every check."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from footnotes.answer.extractive import ABSTENTION
from footnotes.answer.models import ChatRequest, Message, complete
from footnotes.answer.models.llama import LlamaChat, packaged_file
from footnotes.errors import ConfigError, MissingExtra, ProviderUnavailable
from footnotes.library import Library
from footnotes.remote import Deadline
from footnotes.settings import Settings
from footnotes.testing.embedder import HashingEmbedder

pytestmark = pytest.mark.slow

TEXT = (
    "The notice period is three months. The canteen opens at noon and lunch costs four euros. "
    "The cook is Maria Rossi, who came from Bologna in 2011."
)


def _available() -> str:
    pytest.importorskip("xllamacpp", reason="the extra llama is not installed")
    try:
        return str(packaged_file())
    except MissingExtra as error:
        pytest.skip(error.message)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    _available()
    settings = Settings(model="llama:smollm2-135m", llama_context=1024, max_tokens=40)
    folder = tmp_path_factory.mktemp("local")
    with Library(folder / "library", settings=settings, embedder=HashingEmbedder()) as opened:
        opened.add_text(TEXT, filename="office.txt")
        yield opened


@pytest.mark.parametrize("question", ["How long is the notice period?", "Who won the world cup?"])
def test_whatever_the_model_says_every_footnote_holds(library: Library, question: str) -> None:
    events = list(library.ask_stream(question))
    answer = events[-1].answer
    assert answer is not None and events[-1].type == "done"
    assert answer.model == "llama:smollm2-135m" and not answer.degraded
    assert answer.usage.prompt_tokens > 100 and answer.usage.completion_tokens > 0 and answer.usage.model_calls == 1
    for citation in answer.citations:
        assert citation.quote == TEXT[citation.start : citation.end]
    covered = [citation.answer_span for citation in answer.citations] + list(answer.unsupported)
    if answer.abstained:
        assert answer.answer == ABSTENTION
    else:
        assert covered and max(end for _, end in covered) <= len(answer.answer)
        assert "".join(event.text for event in events) == answer.answer


def test_the_agent_runs_with_it_too(library: Library) -> None:
    answer = library.ask("Who is the cook?", deep=True, agent_steps=1)
    assert answer.steps and answer.usage.model_calls >= 2
    assert all(citation.quote == TEXT[citation.start : citation.end] for citation in answer.citations)


def test_a_file_of_ones_own_and_what_is_wrong_with_it(tmp_path: Path) -> None:
    _available()
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF but not really")
    request = ChatRequest(messages=(Message("user", "hi"),), max_tokens=4)
    with pytest.raises(ProviderUnavailable, match="cannot be loaded"):
        complete(LlamaChat(path=str(broken)), request, deadline=Deadline(30))
    with pytest.raises(ConfigError, match="not a file"):
        complete(LlamaChat(path=str(tmp_path / "none.gguf")), request, deadline=Deadline(30))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="no llama model"):
        LlamaChat.from_settings("llama:gpt-9", Settings())
