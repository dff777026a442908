"""The components inside a Haystack pipeline, written down and read again."""

from __future__ import annotations

from pathlib import Path

import pytest
from haystack import Pipeline
from haystack.core.serialization import component_to_dict
from haystack.utils import Secret

from footnotes.errors import OptionError
from footnotes.integrations.haystack import FootnotesAnswerer, FootnotesRetriever
from footnotes.library import Library
from libraries import HANDBOOK, quick_library

QUESTION = "How long is the notice period?"


def test_pipeline(library: Library) -> None:
    pipeline = Pipeline()
    pipeline.add_component("retriever", FootnotesRetriever(library, top_k=2))
    pipeline.add_component("answerer", FootnotesAnswerer(library))
    done = pipeline.run({"retriever": {"query": QUESTION, "filters": {"year": 2024}}, "answerer": {"query": QUESTION}})
    first = done["retriever"]["documents"][0]
    assert library.text(first.meta["document_id"], first.meta["start"], first.meta["end"]) == first.content
    (answer,) = done["answerer"]["answers"]
    cited = answer.meta["citations"][0]
    assert "three months" in answer.data
    assert library.text(cited["document_id"], cited["start"], cited["end"]) == cited["quote"]


def test_a_pipeline_is_written_down_and_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTES_EMBEDDER", "hashing")
    with quick_library(tmp_path / "library") as library:
        library.add_text(HANDBOOK, filename="handbook.md")
    pipeline = Pipeline()
    pipeline.add_component("retriever", FootnotesRetriever(str(tmp_path / "library"), top_k=1, mode="lexical"))
    pipeline.add_component("answerer", FootnotesAnswerer(str(tmp_path / "library"), settings={"strict": True}))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["footnotes.integrations.haystack"])
    done = again.run({"retriever": {"query": "notice"}, "answerer": {"query": QUESTION}})
    assert len(done["retriever"]["documents"]) == 1 and done["answerer"]["answers"][0].meta["citations"]
    for name in ("retriever", "answerer"):
        again.get_component(name).close()


def test_a_key_is_never_written_down(library: Library) -> None:
    named = FootnotesRetriever("http://127.0.0.1:8765", key=Secret.from_env_var("FOOTNOTES_TEST_KEY", strict=False))
    assert component_to_dict(named, "named")["init_parameters"]["key"]["env_vars"] == ["FOOTNOTES_TEST_KEY"]
    with pytest.raises(OptionError):
        component_to_dict(FootnotesRetriever(library), "open")
