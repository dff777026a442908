"""`footnotes.Client` against a server that runs: the same calls as on a library give the same things."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from pydantic import BaseModel

import footnotes
from footnotes import library as facade
from footnotes.aio import AsyncLibrary
from footnotes.answer.asking import AskChoices, AskRequest
from footnotes.client import Client
from footnotes.errors import FilterError, NotFound, ProviderUnavailable, Unauthorized
from footnotes.ingest.reindexing import ReindexRequest
from footnotes.library import Library
from footnotes.retrieve.searcher import SearchRequest
from footnotes.server.models import AskBody, SearchBody
from footnotes.types import AllOf, Condition, Not
from libraries import HANDBOOK, TRAVEL, quick_library
from serving import Running, serving

AT_THE_SERVER = {
    "add_code", "add_wiki", "adding_code", "adding_wiki", "backup", "compact", "export", "exporting", "import_",
    "import_from", "jobs", "library", "outdated", "page_start", "refresh", "resume", "resuming", "rollback", "settle",
    "sync", "verify", "watch",
}  # fmt: skip
"""What works on folders and files of the machine the library is on, or keeps it: for whoever runs the server."""
ADDING = {"chunker", "chunker_options", "on_progress"}
ASKING = set(AskChoices.__annotations__) - set(AskRequest.__annotations__)
UNSENT = {"add": ADDING, "adding": ADDING, "add_text": {"keep_original"},
          "add_texts": {"on_progress"}, "ask": ASKING, "ask_stream": ASKING,
          "search": {"candidates"}, "delete": {"compact", "scrub"},
          "reindex": {"documents", "from_files", "gate", "on_progress"}}  # fmt: skip
"""Options that no route takes, by method."""
OPTIONS = {**vars(facade), **{kind.__name__: kind for kind in (AskRequest, ReindexRequest, SearchRequest)}}
"""Where the names of classes of options are known."""


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_client_has_the_methods_of_a_library() -> None:
    assert public(AsyncLibrary) - public(Client) == AT_THE_SERVER
    assert not public(Client) - public(Library), "a method that no library has"


def options(kind: type, name: str) -> set[str]:
    """What a method can be given by name; options that stand in a class of their own are among them."""
    found: set[str] = set()
    for one in inspect.signature(getattr(kind, name)).parameters.values():
        if (packed := re.match(r"Unpack\[(\w+)\]", str(one.annotation))) is None:
            found.add(one.name)
        else:
            found |= set(OPTIONS[packed[1]].__annotations__)
    return found


@pytest.mark.parametrize("name", sorted(public(Client) & public(Library) - {"generation", "index_failure"}))
def test_methods_are_called_alike(name: str) -> None:
    ours, theirs = options(Client, name), options(Library, name)
    assert theirs - ours == UNSENT.get(name, set())
    assert ours <= theirs
    returned = [inspect.signature(getattr(kind, name)).return_annotation for kind in (Client, Library)]
    assert returned[0] == returned[1]


@pytest.mark.parametrize(
    ("sent", "taken", "about"), [(AskRequest, AskBody, "question"), (SearchRequest, SearchBody, "query")]
)
def test_the_server_takes_every_option_that_the_client_types(sent: type, taken: type[BaseModel], about: str) -> None:
    assert set(sent.__annotations__) == set(taken.model_fields) - {about}


def test_client_gives_what_a_library_gives(server: Running, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    (folder / "deep").mkdir(parents=True)
    (folder / "handbook.md").write_text(HANDBOOK)
    (folder / "deep" / "handbook.md").write_text(TRAVEL)
    with Client(server.address) as client, quick_library(tmp_path / "own") as library:
        added = client.add(folder, metadata={"year": 2026})
        assert [one.status for one in added] == ["ready", "ready"], added
        assert {one.status for one in client.add(folder)} == {"deduplicated"}
        library.add(folder, metadata={"year": 2026})
        question = "How long is the notice period?"
        ours, theirs = client.ask(question), library.ask(question)
        assert (ours.answer, ours.kind) == (theirs.answer, theirs.kind)
        assert [cited.quote for cited in ours.citations] == [cited.quote for cited in theirs.citations]
        cited = ours.citations[0]
        assert client.text(cited.document_id, cited.start, cited.end) == cited.quote
        assert type(cited) is type(theirs.citations[0]) and type(ours.hits[0]) is type(theirs.hits[0])
        where = AllOf((Condition("year", "gte", 2000), Not(Condition("filename", "eq", "x.md"))))
        found, expected = client.search("leave", where=where), library.search("leave", where=where)
        assert [hit.text for hit in found.hits] == [hit.text for hit in expected.hits] and found.hits
        assert found.legs.keys() == expected.legs.keys()
        assert {one.source for one in client.documents()} == {one.source for one in library.documents()}
        chunks = client.chunks(cited.document_id)
        same = next(one for one in library.documents() if one.source == client.document(cited.document_id).source)
        assert [one.text for one in chunks] == [one.text for one in library.chunks(same.id)]
        assert client.find(cited.document_id, "paid leave") == library.find(same.id, "paid leave")
        kinds = [(one.kind, one.start) for one in client.blocks(cited.document_id)]
        assert kinds == [(one.kind, one.start) for one in library.blocks(same.id)]
        assert client.original(cited.document_id).read_text() in (HANDBOOK, TRAVEL)
        assert client.counts().keys() == library.counts().keys()
        assert client.near_duplicates() == {} and client.index_failure is None
        assert client.delete(source=folder / "handbook.md") == [cited.document_id]
        assert len(client.documents()) == 1


def test_texts_collections_and_reindexing(server: Running) -> None:
    with Client(server.address) as client:
        said = client.add_text("The bridge was built in 1974.", filename="bridge.txt", collection="town")
        assert said.status == "ready" and client.document(said.document_id or "").source == "text:bridge.txt"
        many = client.add_texts(
            ["Bees dance.", "Tea is hot."], sources=["a:1", "a:2"], metadata=[{"n": 1}, {"n": 2}], collection="town"
        )
        assert [client.document(one.document_id or "").metadata["n"] for one in many] == [1, 2]
        client.set_collection("town", chunker="sentence")
        client.check_collection("town")
        assert client.count_outdated() == 3
        before = client.generation
        done = client.reindex(collection="town")
        assert client.generation == done["generation"] != before and client.count_outdated() == 0
        assert len(client.delete(collection="town")) == 3 and client.documents() == []


def test_a_stream_has_the_events_of_a_library(shared: Running) -> None:
    with footnotes.Client(shared.address) as client:
        history = [("user", "I ask about the handbook."), ("assistant", "Ask.")]
        events = list(client.ask_stream("How long is the notice period?", history=history))
    assert events[-1].type == "done" and events[-1].answer is not None
    assert "".join(event.text for event in events if event.type == "token") == events[-1].answer.answer
    assert [event.citation for event in events if event.citation] == list(events[-1].answer.citations)


def test_errors_are_those_the_server_raised(shared: Running, tmp_path: Path) -> None:
    with Client(shared.address) as client:
        with pytest.raises(NotFound, match="there is no document 'd0'"):
            client.document("d0")
        with pytest.raises(FilterError):
            client.search("leave", where={"year": {"$no": 1}})
        with pytest.raises(NotFound):
            client.check_collection("none")
        (missing,) = client.add(tmp_path / "missing.txt")
        assert missing.status == "failed" and missing.error and missing.error.code == "source_unreadable"
    with Client("http://127.0.0.1:1") as nobody, pytest.raises(ProviderUnavailable, match="cannot be reached"):
        nobody.status()


@pytest.mark.parametrize("name", ["../sources/x", "..", "a/b", "d0?x=1", "%2e%2e/keys"])
def test_an_id_is_one_part_of_a_path(shared: Running, name: str) -> None:
    with Client(shared.address) as client:
        for call in (client.document, client.delete, client.text):
            with pytest.raises(NotFound):
                call(name)


def test_a_key_is_sent(tmp_path: Path) -> None:
    with serving(tmp_path / "library", needs_keys=True) as running:
        key, _ = running.app.state.keys.create("local", scopes=("read",))
        with Client(running.address) as nobody, pytest.raises(Unauthorized):
            nobody.status()
        with Client(running.address, key=key) as client:
            assert client.status()["scopes"] == ["read"]
